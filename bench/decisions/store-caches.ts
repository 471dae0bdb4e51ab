// Record 13: what each cache of the embedded store saves the server, by its processor time for the same requests with
// and without the cache, in turns.

import {configMap, configMapsIn} from '#bench/comparison/scene.js';
import {pagesOf} from '#bench/comparison/requests.js';
import {rateOf} from '#bench/load/api-client.js';
import {median, setting} from '#bench/load/each.js';
import {row, type Row} from '#bench/run/row.js';
import type {Run} from '#bench/run/subject.js';
import type {StoreCache} from './parts.js';
import {startScene, type Scene} from './scene.js';

const objects = 5000;
const many = configMapsIn('many');
const width = 64;
const warmUps = 3;

/** Requests that a cache is for. */
interface Work {
  readonly cache: StoreCache;
  readonly what: string;
  readonly requests: number;
  /** How many of them follow one `before`, which is not measured; all unless given. */
  readonly each?: number;
  before?(client: Scene['client'], turn: number): Promise<unknown>;
  run(client: Scene['client'], index: number): Promise<unknown>;
}

/** Goes on through all objects from one turn to the next. */
let position = 0;
const next = () => position++ % objects;

const get = (client: Scene['client'], index: number) => client.call('GET', `${many}/item-${index}`);

let patched = 0;
const patch = (client: Scene['client'], index: number) =>
  client.call('PATCH', `${many}/item-${index}`, {
    body: {data: {n: String(patched++)}},
    headers: {'content-type': 'application/merge-patch+json'},
  });

const change = (count: number) => async (client: Scene['client'], turn: number) => {
  for (let index = 0; index < count; index++) await patch(client, (turn * count + index) % objects);
};

const list = (client: Scene['client']) => client.call('GET', `${many}?resourceVersion=0`);
const select = (client: Scene['client']) => client.call('GET', `${many}?labelSelector=app%3Dnone`);

let created = 0;
const create = (client: Scene['client']) => client.call('POST', configMapsIn('made'), {body: configMap('made', `made-${created++}`)});

const update = (client: Scene['client'], index: number) =>
  client.call('PUT', `${many}/item-${index}`, {body: configMap('many', `item-${index}`, {annotations: {n: String(patched++)}})});

const getAndUpdate = async (client: Scene['client'], index: number) => {
  await get(client, index);
  await update(client, index);
};

const works: readonly Work[] = [
  {cache: 'recent', what: 'GET of each in turn (row get)', requests: 1000, run: client => get(client, next())},
  {cache: 'recent', what: 'GET of the same 100', requests: 1000, run: (client, index) => get(client, index % 100)},
  {cache: 'recent', what: 'update of each in turn (row update)', requests: 300, run: client => update(client, next())},
  {cache: 'recent', what: 'GET and update of each in turn', requests: 300, run: client => getAndUpdate(client, next())},
  {cache: 'recent', what: 'merge patch of the same 100', requests: 300, run: (client, index) => patch(client, index % 100)},
  {cache: 'empty-ranges', what: 'creation (row create)', requests: 300, run: create},
  {cache: 'hot-ranges', what: 'LIST of all (row list)', requests: 3, each: 1, run: list},
  {cache: 'hot-ranges', what: 'LIST of all, ten changes since', requests: 3, each: 1, before: change(10), run: list},
  {cache: 'hot-ranges', what: 'all in pages of 500 (row list-pages)', requests: 1, each: 1, run: client => pagesOf({client}, many)},
  {cache: 'found-keys', what: 'LIST by a label of none (row list-selector)', requests: 5, each: 1, run: select},
  {cache: 'found-keys', what: 'LIST by a label of none, a change since', requests: 5, each: 1, before: change(1), run: select},
];

/** Returns the server's processor time in µs for a request. */
const cost = async ({client, ask}: Scene, {requests, each = requests, before, run}: Work): Promise<number> => {
  let spent = 0;
  for (let done = 0; done < requests; done += each) {
    await before?.(client, done);
    const from = await ask('usage');
    await rateOf(each, Math.min(width, each), index => run(client, done + index));
    spent += (await ask('usage')).cpuMs - from.cpuMs;
  }
  return (spent * 1000) / requests;
};

/**
 * BENCH_ROUNDS is how often each work is done with and without its cache (20), BENCH_ONLY a regular expression of what
 * is measured.
 */
export async function* storeCacheRows(run: Run): AsyncGenerator<Row> {
  const rounds = setting('BENCH_ROUNDS', 20);
  await using scene = await startScene({count: objects});
  const only = new RegExp(process.env['BENCH_ONLY'] ?? '');
  for (const work of works.filter(({cache, what}) => only.test(`${cache}: ${what}`))) {
    run.step(`${work.cache}: ${work.what}`);
    const [kept, off]: [number[], number[]] = [[], []];
    for (let time = 0; time < warmUps; time++) await cost(scene, work);
    for (let round = 0; round < rounds; round++) {
      // The second of two finds warmer caches of the processor, so that they take turns in that too.
      for (const isKept of round % 2 === 0 ? [true, false] : [false, true]) {
        await scene.ask(isKept ? 'without nothing' : `without ${work.cache}`);
        (isKept ? kept : off).push(await cost(scene, work));
      }
    }
    const dearer = kept.filter((figure, round) => figure < off[round]!).length;
    yield row(`${work.cache}: ${work.what}`, median(kept), 'µs', {
      note: `${median(off).toFixed(0)} µs without the cache, which is more in ${dearer} of ${rounds} rounds`,
    });
  }
}
