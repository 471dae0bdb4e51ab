import {setTimeout as wait} from 'node:timers/promises';
import {ApiClient, createNamespace} from '#bench/load/api-client.js';
import {setting} from '#bench/load/each.js';
import {startables, type Startable} from '#bench/load/contenders.js';
import {profiled} from '#bench/load/profile.js';
import type {Running} from '#bench/load/programs.js';
import {inTurns} from '#bench/run/rounds.js';
import {row, type Row} from '#bench/run/row.js';
import type {Run, Subject} from '#bench/run/subject.js';
import {comparedRows, fullSizes} from './compared-rows.js';
import {loadKeys, measurementsOf} from './measurements.js';
import {nodeRows} from './nodes.js';
import {comparisonRow, type Scene} from './scene.js';

const [settleMs, idleMs] = [4000, 10_000];
const profileSeconds = 2;
/** The share of the time below which a part is left out. */
const leastPercent = 1;
/** The rows that need the whole load before. */
const afterLoad = ['memory-loaded', 'memory-later', 'ready-loaded'] as const;

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
  const isWhole = afterLoad.some(key => run.wants(key));
  const measurements = measurementsOf(key => isWhole || run.wants(key));
  if (measurements.length === 0) return;
  using client = new ApiClient(server);
  const scene: Scene = {server, client, namespace: 'bench', count: setting('BENCH_COUNT', fullSizes.objects)};
  const isReduced = scene.count < fullSizes.objects;
  await createNamespace(client, scene.namespace);
  for (const {key, measure} of measurements) {
    run.step(key);
    const isProfiled = run.wants(key) && isProfiling();
    const [figure, profile] = await Promise.all([measure(scene), isProfiled ? profiled(client, profileSeconds) : undefined]);
    if (profile) yield profileRow(key, profile);
    else if (run.wants(key)) yield comparisonRow(key, {...figure, isReduced});
  }
}

/** The memory after the load, and in the last round some time later. BENCH_REST_SECONDS is the time (600). */
async function* memoryRows(server: Running, run: Run, isLast: boolean): AsyncGenerator<Row> {
  if (run.wants('memory-loaded')) yield comparisonRow('memory-loaded', {value: server.residentMb()});
  if (!isLast || !run.wants('memory-later')) return;
  const seconds = setting('BENCH_REST_SECONDS', fullSizes.restSeconds);
  run.step(`memory ${seconds} s later`);
  await wait(seconds * 1000);
  yield comparisonRow('memory-later', {
    value: server.residentMb(),
    note: `${seconds} s after the load`,
    isReduced: seconds < fullSizes.restSeconds,
  });
}

/** A server from its start to its end, and once more until it is ready. */
async function* rowsOf({start}: Startable, run: Run, isLast: boolean): AsyncGenerator<Row> {
  const server = await start();
  yield* idleRows(server, run);
  yield* loadRows(server, run);
  yield* memoryRows(server, run, isLast);
  await server.stop();
  if (!run.wants('ready-loaded')) return;
  run.step('started again');
  const again = await start(server.directory);
  yield comparisonRow('ready-loaded', {value: again.readyMs});
  await again.stop();
}

/**
 * The rows by which plat is compared with the original: on plat, and in turns on the original if its programs are on
 * the PATH. Profiles are of one round of plat.
 */
export const comparison: Subject = {
  name: 'comparison',
  rows: Object.keys(comparedRows).filter(key => key !== 'ready' && key !== 'ready-again'),
  async *measure(run) {
    const isServerWanted = [...loadKeys, 'idle-cpu', 'memory-idle', ...afterLoad].some(run.wants);
    if (isServerWanted) {
      const contenders = startables()
        .filter(({server}) => server === undefined || !isProfiling())
        .map(each => ({...each, rows: (own: Run, isLast: boolean) => rowsOf(each, own, isLast)}));
      yield* inTurns(contenders, run, ...(isProfiling() ? [1] : []));
    }
    yield* nodeRows(run);
  },
};
