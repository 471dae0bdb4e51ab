import {setTimeout as wait} from 'node:timers/promises';
import {ApiClient} from '#bench/load/api-client.js';
import {seconds, setting} from '#bench/load/each.js';
import {startPlane, type Running} from '#bench/load/programs.js';
import type {Row} from '#bench/run/row.js';
import type {Run} from '#bench/run/subject.js';
import {pagesOf} from './requests.js';
import {referenceSizes, type ReferenceKey} from './references.js';
import {comparisonRow} from './scene.js';

const nodes = 500;
const deployments = '/apis/apps/v1/namespaces/default/deployments';
const pods = '/api/v1/namespaces/default/pods';

interface Progressing {
  readonly metadata: {readonly generation: number};
  readonly status?: {
    readonly observedGeneration?: number;
    readonly readyReplicas?: number;
    readonly updatedReplicas?: number;
    readonly replicas?: number;
  };
}

const createDeployment = (client: ApiClient, name: string, replicas: number) => {
  const labels = {app: name};
  return client.call('POST', deployments, {
    body: {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: {name},
      spec: {
        replicas,
        selector: {matchLabels: labels},
        template: {metadata: {labels}, spec: {containers: [{name: 'main', image: 'bench'}]}},
      },
    },
  });
};

/**
 * Waits until all pods of a Deployment are of its newest template and ready. Returns how many are, if the time is over
 * before.
 */
const untilReady = async (client: ApiClient, name: string, replicas: number, limitMs: number): Promise<number> => {
  const startedAt = performance.now();
  for (;;) {
    const {metadata, status = {}} = await client.json<Progressing>('GET', `${deployments}/${name}`);
    const {observedGeneration, readyReplicas = 0, updatedReplicas, replicas: all} = status;
    const isObserved = observedGeneration === metadata.generation;
    if (isObserved && readyReplicas === replicas && updatedReplicas === replicas && all === replicas) return replicas;
    if (performance.now() - startedAt > limitMs) return Math.min(readyReplicas, isObserved ? (updatedReplicas ?? 0) : 0);
    await wait(200);
  }
};

/**
 * Creates a Deployment and waits until its pods are ready. Returns the time in seconds, and how many were ready in the
 * end.
 */
export const deploy = async (
  client: ApiClient,
  {name, replicas, limitMs}: {name: string; replicas: number; limitMs: number},
): Promise<{readonly time: number; readonly ready: number}> => {
  let ready = 0;
  const time = await seconds(async () => {
    await createDeployment(client, name, replicas);
    ready = await untilReady(client, name, replicas, limitMs);
  });
  return {time, ready};
};

/**
 * Waits until that many nodes are ready. Returns the time in seconds since a start that took so long until it was
 * ready.
 */
export const untilNodesReady = async (client: ApiClient, plane: Running, count: number): Promise<number> => {
  interface Node {
    readonly status?: {readonly conditions?: readonly {readonly type: string; readonly status: string}[]};
  }
  const isReady = ({status}: Node) => status?.conditions?.some(({type, status}) => type === 'Ready' && status === 'True');
  const waited = await seconds(async () => {
    while ((await client.json<{items: Node[]}>('GET', '/api/v1/nodes')).items.filter(isReady).length < count) await wait(100);
  });
  return plane.readyMs / 1000 + waited;
};

const table = {accept: 'application/json;as=Table;v=v1;g=meta.k8s.io'};

/**
 * 500 simulated nodes with a Deployment. BENCH_PODS is its number of pods (2,000; 10,000 for the figures of the
 * comparison), BENCH_SECONDS the longest time of a step (120).
 */
export async function* nodeRows(run: Run): AsyncGenerator<Row> {
  const replicas = setting('BENCH_PODS', 2000);
  const limitMs = setting('BENCH_SECONDS', 120) * 1000;
  const keys = ['nodes-ready', 'pods-ready', 'pods-memory', 'pods-list', 'pods-restart', 'pods-restart-memory'] as const;
  if (!keys.some(key => run.wants(key))) return;
  const note = (ready = replicas) =>
    ready === replicas
      ? `${replicas.toLocaleString('en-US')} pods`
      : `NOT REACHED: ${ready} of ${replicas} pods ready after ${limitMs / 1000} s`;
  const only = (key: ReferenceKey, value: number, ready?: number) =>
    run.wants(key) ? [comparisonRow(key, {value, ...(key === 'nodes-ready' ? {} : {note: note(ready), isReduced})})] : [];
  const isReduced = replicas < referenceSizes.pods;

  run.step(`${nodes} nodes`);
  const plane = await startPlane(undefined, [`--nodes=${nodes}`]);
  using client = new ApiClient(plane);
  yield* only('nodes-ready', await untilNodesReady(client, plane, nodes));
  if (!keys.slice(1).some(key => run.wants(key))) return plane.stop();

  run.step(`${replicas} pods`);
  const {time, ready} = await deploy(client, {name: 'bench', replicas, limitMs});
  yield* only('pods-ready', time, ready);
  yield* only('pods-memory', plane.residentMb(), ready);
  yield* only('pods-list', await seconds(() => pagesOf({client}, pods, table)), ready);

  if (run.wants('pods-restart') || run.wants('pods-restart-memory')) {
    run.step(`restart of ${replicas} pods`);
    const template = {metadata: {annotations: {restartedAt: new Date().toISOString()}}};
    let restarted = 0;
    const took = await seconds(async () => {
      await client.call('PATCH', `${deployments}/bench`, {
        body: {spec: {template}},
        headers: {'content-type': 'application/merge-patch+json'},
      });
      restarted = await untilReady(client, 'bench', replicas, limitMs);
    });
    yield* only('pods-restart', took, restarted);
    yield* only('pods-restart-memory', plane.residentMb(), restarted);
  }
  await plane.stop();
}
