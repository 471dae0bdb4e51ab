import {setTimeout as wait} from 'node:timers/promises';
import {ApiClient, createNamespace} from '#bench/load/api-client.js';
import {setting} from '#bench/load/each.js';
import {startOriginal} from '#bench/load/original.js';
import {profiled} from '#bench/load/profile.js';
import {startPlane, type Running} from '#bench/load/programs.js';
import {row, type Row} from '#bench/run/row.js';
import type {Run, Subject} from '#bench/run/subject.js';
import {loadKeys, measurementsOf} from './measurements.js';
import {nodeRows} from './nodes.js';
import {references, referenceSizes} from './references.js';
import {comparisonRow, type Scene} from './scene.js';

const [settleMs, idleMs] = [4000, 10_000];
const profileSeconds = 2;
/** The share of the time below which a part is left out. */
const leastPercent = 1;
const memoryLater = ['memory-loaded', 'memory-later'] as const;

/** Returns the CPU share of an idle server, of a core. */
const idleShare = async ({cpuMs}: Running): Promise<number> => {
  const before = cpuMs();
  await wait(idleMs);
  return ((cpuMs() - before) / idleMs) * 100;
};

/** Whether rows are profiled instead, since a profile slows what it shows. */
const isProfiling = (): boolean => Boolean(process.env['BENCH_PROFILE']);

/** The parts in which a server spent its time while a row was measured. */
const profileRow = (key: string, {busy, shares}: Awaited<ReturnType<typeof profiled>>): Row => ({
  ...row(`busy in the first ${profileSeconds} s of ${key}`, busy, '%', {
    key: `profile-${key}`,
    note: shares.map(([name, percent]) => `${name} ${percent} %`).join(', '),
  }),
  profile: shares.filter(([, percent]) => percent >= leastPercent),
});

async function* idleRows(server: Running, run: Run): AsyncGenerator<Row> {
  run.step('idle');
  if (run.wants('memory-idle') || run.wants('idle-cpu')) await wait(settleMs);
  if (run.wants('memory-idle')) yield comparisonRow('memory-idle', {value: server.residentMb()});
  if (run.wants('idle-cpu')) yield comparisonRow('idle-cpu', {value: await idleShare(server), note: `${idleMs / 1000} s`});
}

/** Loads a server. BENCH_COUNT is the number of objects (10,000); with BENCH_PROFILE=1 rows are profiled instead. */
async function* loadRows(server: Running, run: Run): AsyncGenerator<Row> {
  const isWhole = memoryLater.some(key => run.wants(key));
  const measurements = measurementsOf(key => isWhole || run.wants(key));
  if (measurements.length === 0) return;
  using client = new ApiClient(server);
  const scene: Scene = {server, client, namespace: 'bench', count: setting('BENCH_COUNT', referenceSizes.objects)};
  const isReduced = scene.count < referenceSizes.objects;
  await createNamespace(client, scene.namespace);
  for (const {key, measure} of measurements) {
    run.step(key);
    const isProfiled = run.wants(key) && isProfiling();
    const [figure, profile] = await Promise.all([measure(scene), isProfiled ? profiled(client, profileSeconds) : undefined]);
    if (profile) yield profileRow(key, profile);
    else if (run.wants(key)) yield comparisonRow(key, {...figure, isReduced});
  }
}

/** The memory after the load, and some time later. BENCH_REST_SECONDS is the time (600). */
async function* memoryRows(server: Running, run: Run): AsyncGenerator<Row> {
  if (run.wants('memory-loaded')) yield comparisonRow('memory-loaded', {value: server.residentMb()});
  if (!run.wants('memory-later')) return;
  const seconds = setting('BENCH_REST_SECONDS', referenceSizes.restSeconds);
  run.step(`memory ${seconds} s later`);
  await wait(seconds * 1000);
  yield comparisonRow('memory-later', {
    value: server.residentMb(),
    note: `${seconds} s after the load`,
    isReduced: seconds < referenceSizes.restSeconds,
  });
}

async function* rowsOf(server: Running, run: Run): AsyncGenerator<Row> {
  yield* idleRows(server, run);
  yield* loadRows(server, run);
  yield* memoryRows(server, run);
  await server.stop();
}

/**
 * The rows by which plat is compared with the original: on plat, and beside it on the original if its programs are on
 * the PATH.
 */
export const comparison: Subject = {
  name: 'comparison',
  rows: Object.keys(references).filter(key => !key.startsWith('ready')),
  async *measure(run) {
    const isServerWanted = [...loadKeys, 'idle-cpu', 'memory-idle', ...memoryLater].some(run.wants);
    if (isServerWanted) {
      yield* rowsOf(await startPlane(), run);
      const original = await startOriginal();
      if (original && !isProfiling()) for await (const each of rowsOf(original, run)) yield {...each, server: 'original'};
    }
    yield* nodeRows(run);
  },
};
