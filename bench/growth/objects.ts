import {setTimeout as wait} from 'node:timers/promises';
import {ApiClient, rateOf} from '#bench/load/api-client.js';
import {collectionSeconds} from '#bench/load/collecting.js';
import {median, seconds, setting} from '#bench/load/each.js';
import {scratch, startPlane, type Running} from '#bench/load/programs.js';
import {seedConfigMaps} from '#bench/load/seed.js';
import {issuedPerSecond} from '#bench/load/signing.js';
import {watchDelays} from '#bench/load/watch-delays.js';
import type {Row} from '#bench/run/row.js';
import type {Run} from '#bench/run/subject.js';
import {Points, sizesUpTo, type Curves} from './steps.js';

const collection = '/api/v1/namespaces/many/configmaps';
const [requests, dependents] = [300, 1000];

export const objectCurves = {
  'objects-start': {name: 'plat up ready', unit: 'ms'},
  'objects-memory': {name: 'memory after the start', unit: 'MB'},
  'objects-get': {name: 'GET, 64 at once', unit: '/s'},
  'objects-list': {name: 'LIST of all', unit: 'ms'},
  'objects-selector': {name: 'LIST by a label nobody has', unit: 'ms'},
  'objects-watch': {name: 'watch, 100 watchers × 50/s, p99', unit: 'ms'},
  'objects-csr': {name: 'CSR created to issued', unit: '/s'},
  'objects-collect': {name: '1,000 dependents collected', unit: 's'},
  'objects-memory-used': {name: 'memory after these', unit: 'MB'},
} satisfies Curves<string>;

type Figures = Record<keyof typeof objectCurves, number>;

const measure = async (count: number, run: Run): Promise<Figures> => {
  const directory = await scratch();
  run.step(`${count} objects are stored`);
  await seedConfigMaps({directory, count});
  run.step(`${count} objects`);
  const plane = await startPlane(directory);
  try {
    return await figuresOf(plane, count);
  } finally {
    await plane.stop();
  }
};

const figuresOf = async (plane: Running, count: number): Promise<Figures> => {
  await wait(3000);
  const memory = plane.residentMb();
  using client = new ApiClient(plane);
  const lists: number[] = [];
  for (let time = 0; time < 3; time++) lists.push(1000 * (await seconds(() => client.call('GET', `${collection}?resourceVersion=0`))));
  const selections = await rateOf(10, 1, () => client.call('GET', `${collection}?labelSelector=app%3Dnone`));
  const gets = await rateOf(5000, 64, index => client.call('GET', `${collection}/item-${(index * 7919) % count}`));
  const {p99Ms} = await watchDelays(plane, {namespace: 'watched', watchers: 100, perSecond: 50, seconds: 4, connections: 4});
  return {
    'objects-start': plane.readyMs,
    'objects-memory': memory,
    'objects-get': gets.perSecond,
    'objects-list': median(lists),
    'objects-selector': selections.p50Ms,
    'objects-watch': p99Ms,
    'objects-csr': await issuedPerSecond(plane, requests, 'grown'),
    'objects-collect': await collectionSeconds(plane, {namespace: 'collected', dependents}),
    'objects-memory-used': plane.residentMb(),
  };
};

/** How figures grow with stored objects of 1 kB. BENCH_GROWTH_OBJECTS is the largest number (100,000). */
export async function* objectGrowth(run: Run): AsyncGenerator<Row> {
  const points = new Points('objects', objectCurves);
  try {
    for (const count of sizesUpTo(setting('BENCH_GROWTH_OBJECTS', 100_000), [1000, 10_000, 100_000]))
      points.add(count, await measure(count, run));
  } finally {
    yield* points.rows();
  }
}
