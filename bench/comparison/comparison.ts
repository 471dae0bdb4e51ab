import {setTimeout as wait} from 'node:timers/promises';
import {ApiClient, createNamespace} from '#bench/load/api-client.js';
import {setting} from '#bench/load/each.js';
import {startOriginal} from '#bench/load/original.js';
import {startPlane, type Running} from '#bench/load/programs.js';
import type {Row} from '#bench/run/row.js';
import type {Run, Subject} from '#bench/run/subject.js';
import {controllerWork} from './controllers.js';
import {nodeRows} from './nodes.js';
import {references} from './references.js';
import {creation, lists, requests} from './requests.js';
import {comparisonRow, type Measurement, type Scene} from './scene.js';

const [settleMs, idleMs] = [4000, 10_000];
const load: readonly Measurement[] = [...requests, ...lists, ...controllerWork];
const memoryLater = ['memory-loaded', 'memory-later'] as const;

/** Returns the CPU share of an idle server, of a core. */
const idleShare = async ({cpuMs}: Running): Promise<number> => {
  const before = cpuMs();
  await wait(idleMs);
  return ((cpuMs() - before) / idleMs) * 100;
};

async function* idleRows(server: Running, run: Run): AsyncGenerator<Row> {
  run.step('idle');
  if (run.wants('memory-idle') || run.wants('idle-cpu')) await wait(settleMs);
  if (run.wants('memory-idle')) yield comparisonRow('memory-idle', {value: server.residentMb()});
  if (run.wants('idle-cpu')) yield comparisonRow('idle-cpu', {value: await idleShare(server), note: `${idleMs / 1000} s`});
}

/** Loads a server, and measures its memory after all of the load. BENCH_COUNT is the number of objects (10,000). */
async function* loadRows(server: Running, run: Run): AsyncGenerator<Row> {
  const isWhole = memoryLater.some(key => run.wants(key));
  const wanted = load.filter(({key}) => isWhole || run.wants(key));
  if (wanted.length === 0 && !run.wants(creation.key)) return;
  using client = new ApiClient(server);
  const scene: Scene = {server, client, namespace: 'bench', count: setting('BENCH_COUNT', 10_000)};
  await createNamespace(client, scene.namespace);
  for (const {key, measure} of [creation, ...wanted]) {
    run.step(key);
    const figure = await measure(scene);
    if (run.wants(key)) yield comparisonRow(key, figure);
  }
}

/** The memory after the load, and some time later. BENCH_REST_SECONDS is the time (600). */
async function* memoryRows(server: Running, run: Run): AsyncGenerator<Row> {
  if (run.wants('memory-loaded')) yield comparisonRow('memory-loaded', {value: server.residentMb()});
  if (!run.wants('memory-later')) return;
  const seconds = setting('BENCH_REST_SECONDS', 600);
  run.step(`memory ${seconds} s later`);
  await wait(seconds * 1000);
  yield comparisonRow('memory-later', {value: server.residentMb(), note: `${seconds} s after the load`});
}

async function* rowsOf(server: Running, run: Run): AsyncGenerator<Row> {
  yield* idleRows(server, run);
  yield* loadRows(server, run);
  yield* memoryRows(server, run);
  await server.stop();
}

/** The rows by which plat is compared with the original: on plat, and beside it on the original if its programs are on the PATH. */
export const comparison: Subject = {
  name: 'comparison',
  rows: Object.keys(references).filter(key => !key.startsWith('ready')),
  async *measure(run) {
    const isServerWanted =
      [...load, creation].some(({key}) => run.wants(key)) || ['idle-cpu', 'memory-idle', ...memoryLater].some(run.wants);
    if (isServerWanted) {
      yield* rowsOf(await startPlane(), run);
      const original = await startOriginal();
      if (original) for await (const row of rowsOf(original, run)) yield {...row, server: 'original'};
    }
    yield* nodeRows(run);
  },
};
