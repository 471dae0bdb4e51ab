import {setTimeout as wait} from 'node:timers/promises';
import {ApiClient, rateOf} from '#bench/load/api-client.js';
import {seconds, setting} from '#bench/load/each.js';
import {caller, scratch, startPlane} from '#bench/load/programs.js';
import type {Row} from '#bench/run/row.js';
import type {Run} from '#bench/run/subject.js';
import {collection, customObject, define} from '#bench/subjects/definitions.js';
import {Points, sizesUpTo, type Curves} from './steps.js';

const objects = 500;

export const definitionCurves = {
  'definitions-served': {name: 'new definitions served', unit: '/s'},
  'definitions-create': {name: 'creates of a custom object, 64 at once', unit: '/s'},
  'definitions-openapi': {name: 'GET of /openapi/v2', unit: 'ms'},
  'definitions-start': {name: 'plat up ready, started again', unit: 'ms'},
  'definitions-memory': {name: 'memory after the start', unit: 'MB'},
} satisfies Curves<string>;

/**
 * How a plane grows with custom resource definitions of some 60 fields. BENCH_GROWTH_DEFINITIONS is the largest number
 * (1,000).
 */
export async function* definitionGrowth(run: Run): AsyncGenerator<Row> {
  const points = new Points('definitions', definitionCurves);
  const directory = await scratch();
  let defined = 0;
  for (const count of sizesUpTo(setting('BENCH_GROWTH_DEFINITIONS', 1000), [1, 10, 100, 1000])) {
    run.step(`${count} definitions`);
    const plane = await startPlane(directory);
    using client = new ApiClient(plane);
    const took = await seconds(() => define(caller(plane), defined, count));
    const {perSecond} = await rateOf(objects, 64, index =>
      client.call('POST', collection(0), {body: customObject(0, `one-of-${count}-${index}`)}),
    );
    const openapi = await seconds(() => client.call('GET', '/openapi/v2', {headers: {accept: 'application/json'}}));
    await plane.stop();
    const again = await startPlane(directory);
    await wait(3000);
    points.add(count, {
      'definitions-served': (count - defined) / took,
      'definitions-create': perSecond,
      'definitions-openapi': openapi * 1000,
      'definitions-start': again.readyMs,
      'definitions-memory': again.residentMb(),
    });
    await again.stop();
    defined = count;
  }
  yield* points.rows();
}
