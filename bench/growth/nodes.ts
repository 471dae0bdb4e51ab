import {setTimeout as wait} from 'node:timers/promises';
import {deploy, untilNodesReady} from '#bench/comparison/nodes.js';
import {ApiClient} from '#bench/load/api-client.js';
import {setting} from '#bench/load/each.js';
import {startPlane} from '#bench/load/programs.js';
import type {Row} from '#bench/run/row.js';
import type {Run} from '#bench/run/subject.js';
import {Points, sizesUpTo, type Curves} from './steps.js';

const podsOfNode = 30;
const restMs = 5000;

export const nodeCurves = {
  'nodes-ready-after': {name: 'all nodes ready after the start', unit: 's'},
  'nodes-pods': {name: `pods ready, ${podsOfNode} a node`, unit: '/s'},
  'nodes-memory': {name: 'memory with the pods', unit: 'MB'},
  'nodes-cpu': {name: 'CPU with the pods running, of a core', unit: '%'},
} satisfies Curves<string>;

/**
 * How a plane grows with simulated nodes with 30 pods each. BENCH_GROWTH_NODES is the largest number (100),
 * BENCH_SECONDS the longest time for the pods of one size (120); the curve ends at the size that takes longer.
 */
export async function* nodeGrowth(run: Run): AsyncGenerator<Row> {
  const points = new Points('nodes', nodeCurves);
  const limitMs = setting('BENCH_SECONDS', 120) * 1000;
  try {
    for (const nodes of sizesUpTo(setting('BENCH_GROWTH_NODES', 100), [1, 10, 100, 500, 1000, 5000])) {
      run.step(`${nodes} nodes`);
      const {isComplete, figures} = await measure(nodes, limitMs);
      points.add(nodes, figures);
      if (!isComplete) break;
    }
  } finally {
    yield* points.rows();
  }
}

const measure = async (nodes: number, limitMs: number) => {
  const plane = await startPlane(undefined, [`--nodes=${nodes}`]);
  try {
    using client = new ApiClient(plane);
    const ready = await untilNodesReady(client, plane, nodes);
    const replicas = nodes * podsOfNode;
    const pods = await deploy(client, {name: 'bench', replicas, limitMs});
    await wait(restMs);
    const before = plane.cpuMs();
    await wait(restMs);
    return {
      isComplete: pods.ready === replicas,
      figures: {
        'nodes-ready-after': ready,
        'nodes-pods': pods.ready / pods.time,
        'nodes-memory': plane.residentMb(),
        'nodes-cpu': ((plane.cpuMs() - before) / restMs) * 100,
      },
    };
  } finally {
    await plane.stop();
  }
};
