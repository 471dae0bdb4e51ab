import {setting} from '#bench/load/each.js';
import {startPlane} from '#bench/load/programs.js';
import {watchDelays} from '#bench/load/watch-delays.js';
import type {Row} from '#bench/run/row.js';
import type {Run} from '#bench/run/subject.js';
import {Points, sizesUpTo, type Curves} from './steps.js';

const [perSecond, seconds] = [20, 5];

export const watcherCurves = {
  'watchers-p50': {name: `delay of ${perSecond} events/s, median`, unit: 'ms'},
  'watchers-p99': {name: `delay of ${perSecond} events/s, p99`, unit: 'ms'},
  'watchers-memory': {name: 'memory after they were served', unit: 'MB'},
} satisfies Curves<string>;

/**
 * How the delay of events grows with watchers of one collection, on shared HTTP/2 connections. BENCH_GROWTH_WATCHERS is
 * the largest number (2,000).
 */
export async function* watcherGrowth(run: Run): AsyncGenerator<Row> {
  const points = new Points('watchers', watcherCurves);
  const plane = await startPlane();
  // The first events of a server take longer.
  await watchDelays(plane, {namespace: 'warm-up', watchers: 10, perSecond: 100, seconds: 3, connections: 1});
  for (const watchers of sizesUpTo(setting('BENCH_GROWTH_WATCHERS', 2000), [1, 10, 100, 1000, 2000])) {
    run.step(`${watchers} watchers`);
    const scene = {namespace: `watched-${watchers}`, watchers, perSecond, seconds, connections: Math.ceil(watchers / 90)};
    const {p50Ms, p99Ms} = await watchDelays(plane, scene);
    points.add(watchers, {'watchers-p50': p50Ms, 'watchers-p99': p99Ms, 'watchers-memory': plane.residentMb()});
  }
  await plane.stop();
  yield* points.rows();
}
