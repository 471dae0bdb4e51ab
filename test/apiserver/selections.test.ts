import test from 'ava';
import {fieldSelector} from '#src/api/selectors/field-selector.js';
import type {KubeList, KubeObject} from '#src/api/types.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {noMeter, type Meter} from '#src/base/meter.js';
import {encodeRecord, metadataEnd} from '#src/apiserver/registry/record.js';
import {filterOf} from '#src/apiserver/registry/read/filter.js';
import {CollectionAttributes, RecordAttributes, SelectionCache} from '#src/apiserver/registry/selection-cache.js';
import {memoryStore} from '#src/storage/memory/index.js';
import type {StoredRecord} from '#src/storage/store.js';
import {aConfigMap, configMaps, settled, startWire} from './wire.js';

type List = KubeList<KubeObject>;
const names = ({items}: List): string[] => items.map(({metadata}) => metadata?.name ?? '');
const secrets = '/api/v1/namespaces/default/secrets';
const pods = '/api/v1/namespaces/default/pods';
const asTable = {headers: {accept: 'application/json;as=Table;v=v1;g=meta.plat.io'}};

/** A server with config maps `m0` to `m9`, and the records that selections have looked into. */
const start = async () => {
  const clock = new VirtualClock();
  const store = memoryStore({clock});
  const looked: string[] = [];
  const range = store.range.bind(store);
  store.range = query => {
    const {filter} = query;
    if (!filter) return range(query);
    return range({
      ...query,
      filter: {
        known: (key, revision) => filter.known(key, revision),
        passes: record => (looked.push(record.key.slice(record.key.lastIndexOf('/') + 1)), filter.passes(record)),
      },
    });
  };
  const env = await startWire({clock, store});
  for (let i = 0; i < 10; i++)
    await env.post(configMaps, aConfigMap(`m${i}`, {metadata: {name: `m${i}`, labels: {odd: String(i % 2 === 1)}}}));
  const select = async (query: string, collection = configMaps) => names((await env.get(`${collection}?${query}`)).json<List>());
  return {...env, looked, select};
};

test('a selection looks into objects that it does not know, and into none of them again until they change', async t => {
  const {select, looked, put, remove} = await start();
  t.deepEqual(await select('labelSelector=odd%3Dtrue'), ['m1', 'm3', 'm5', 'm7', 'm9']);
  t.is(looked.splice(0).length, 10);
  await put(`${configMaps}/m4`, aConfigMap('m4', {metadata: {name: 'm4', labels: {odd: 'true'}}}));
  await remove(`${configMaps}/m5`);

  t.deepEqual(await select('labelSelector=odd%3Dtrue'), ['m1', 'm3', 'm4', 'm7', 'm9']);
  t.deepEqual(await select('labelSelector=odd%3Dnone'), []);
  t.deepEqual(await select('labelSelector=!odd', '/api/v1/configmaps'), []);
  t.deepEqual(looked, ['m4']);
});

test('a selection by name or namespace looks into no object', async t => {
  const {select, looked} = await start();

  t.deepEqual(await select('fieldSelector=metadata.name%3Dm3', '/api/v1/configmaps'), ['m3']);
  t.is((await select('fieldSelector=metadata.name!%3Dm3')).length, 9);
  t.deepEqual(await select('fieldSelector=metadata.namespace%3Dother', '/api/v1/configmaps'), []);
  t.deepEqual(looked, []);
});

test('a selection by fields looks into each object once, whatever else selects it', async t => {
  const {select, looked, post, remove} = await start();
  for (const type of ['a.b/c', 'd.e/f']) await post(secrets, {metadata: {name: type[0], labels: {of: type[0]}}, type});

  t.deepEqual(await select('labelSelector=of%3Da', secrets), ['a']);
  t.deepEqual(await select('fieldSelector=type%3Dd.e/f', secrets), ['d']);
  t.deepEqual(await select('fieldSelector=type!%3Dd.e/f&labelSelector=of', secrets), ['a']);
  await remove(`${secrets}/a`);
  await post(secrets, {metadata: {name: 'a'}, type: 'd.e/f'});
  t.deepEqual(await select('fieldSelector=type%3Dd.e/f', secrets), ['a', 'd']);
  t.deepEqual(looked, ['a', 'd', 'a', 'd', 'a']);
});

test('pages of a selection show one state, whatever is written meanwhile', async t => {
  const {get, put, remove, post} = await start();
  const page = async (query: string) => (await get(`${configMaps}?labelSelector=odd%3Dtrue&limit=2${query}`)).json<List>();
  await page('');
  const first = await page('');
  await put(`${configMaps}/m4`, aConfigMap('m4', {metadata: {name: 'm4', labels: {odd: 'true'}}}));
  await put(`${configMaps}/m5`, aConfigMap('m5'));
  await remove(`${configMaps}/m7`);
  await post(configMaps, aConfigMap('m6a', {metadata: {name: 'm6a', labels: {odd: 'true'}}}));
  const second = await page(`&continue=${first.metadata?.continue}`);
  const third = await page(`&continue=${second.metadata?.continue}`);

  t.deepEqual([first, second, third].map(names), [['m1', 'm3'], ['m5', 'm7'], ['m9']]);
  t.is(third.metadata?.resourceVersion, first.metadata?.resourceVersion);
});

test('labels are those of the object, not of nested objects', async t => {
  const {select, post} = await start();
  const inner = '{"labels":{"odd":"inner"},"metadata":{"labels":{"odd":"inner"}}}';
  await post(pods, {
    metadata: {name: 'bare', annotations: {note: inner, labels: 'odd'}},
    spec: {
      containers: [{name: 'c', image: 'i'}],
      affinity: {
        podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: 'k', labelSelector: {matchLabels: {odd: 'inner'}}}]},
      },
    },
  });
  await post(pods, {
    metadata: {name: 'full', annotations: {note: `${inner}\\"`, labels: '{'}, labels: {odd: 'ü"\\'.replace(/[^a-z]/gu, 'x')}},
    spec: {containers: [{name: 'c', image: 'i'}]},
  });

  t.deepEqual(await select('labelSelector=odd', pods), ['full']);
  t.deepEqual(await select('labelSelector=!odd', pods), ['bare']);
});

test('a change is looked into once, however many watch with selectors', async t => {
  const {server, watch, put, clock} = await start();
  const streams = await Promise.all(
    ['odd%3Dtrue', 'odd%3Dfalse', 'odd', '!odd'].map(selector =>
      watch(`${configMaps}?watch=1&resourceVersion=12&labelSelector=${selector}`),
    ),
  );
  const {attributes} = server.registry.find('', 'v1', 'configmaps')!.resource;
  const requested: string[] = [];
  const of = attributes.of.bind(attributes);
  attributes.of = (record: StoredRecord) => (requested.push(record.key.slice(record.key.lastIndexOf('/') + 1)), of(record));
  await put(`${configMaps}/m4`, aConfigMap('m4', {metadata: {name: 'm4', labels: {odd: 'true'}}}));
  await settled(clock);

  t.deepEqual(
    streams.map(({summaries}) => summaries.at(-1)),
    ['ADDED m4', 'DELETED m4', 'MODIFIED m4', undefined],
  );
  t.deepEqual(requested, ['m4', 'm4']);
});

/** Facts of objects that count how often one is parsed. */
const attributesOf = (cache = new SelectionCache(noMeter)) => {
  const parsed: string[] = [];
  const parse = ({key, value}: StoredRecord) => (parsed.push(key), JSON.parse(value.toString('utf8', 8)) as KubeObject);
  const attributes = new CollectionAttributes(cache, {
    getters: [object => String((object as {type?: string}).type)],
    parseFields: parse,
    row: record => ({parts: [JSON.stringify([parse(record).metadata?.name])], times: [], metadataEnd: metadataEnd(record.value)}),
  });
  const record = (key: string, revision: number, labels: Record<string, string> = {a: key}): StoredRecord => ({
    key,
    revision,
    created: 1,
    value: encodeRecord({apiVersion: 'v1', kind: 'Secret', metadata: {name: key, labels}, type: `t${revision}`} as KubeObject),
  });
  return {cache, attributes, parsed, record};
};

test('labels are known without parsing, fields and cells by parsing once', t => {
  const {attributes, parsed, record} = attributesOf();
  const one = record('x', 5);
  const row = {parts: ['["x"]'], times: [], metadataEnd: metadataEnd(one.value)};

  t.deepEqual(attributes.of(one).labels, {a: 'x'});
  t.deepEqual(parsed, []);
  t.deepEqual(
    [attributes.withFields(one).fields, attributes.withFields(one).fields, attributes.rowOf(one), attributes.rowOf(one)],
    [['t5'], ['t5'], row, row],
  );
  t.is(parsed.length, 2);
  t.is(attributes.known('x', 4), undefined);
  t.deepEqual(attributes.withFields(record('x', 4)).fields, ['t4']);
  t.deepEqual(attributes.known('x', 5)?.fields, ['t5']);
  t.is(attributes.of(record('y', 6, {a: 'x'})).labels, attributes.of(one).labels);
});

test('the cache of labels and fields has a bound in bytes, and selections are right beyond it', t => {
  const gauges = new Map<string, () => Iterable<readonly [unknown, number]>>();
  const meter: Meter = {...noMeter, observed: ({name}, read) => (gauges.set(name, read), noMeter.observed({name, help: ''}, read))};
  const cache = new SelectionCache(meter, 10_000);
  const {attributes, record} = attributesOf(cache);
  const other = attributesOf(cache);
  other.attributes.of(other.record('other', 1));
  for (let i = 0; i < 1000; i++) attributes.withFields(record(`k${i}`, i));

  t.true(cache.bytes > 5000 && cache.bytes <= 10_000);
  t.deepEqual([...gauges.get('apiserver_selection_cache_bytes')!()], [[{}, cache.bytes]]);
  t.is(other.attributes.known('other', 1), undefined);
  t.deepEqual([attributes.known('k0', 0), attributes.known('k999', 999)?.fields], [undefined, ['t999']]);
  t.deepEqual(attributes.withFields(record('k0', 0)).fields, ['t0']);
});

test('sets of labels count for the bound, though no object has them any more', t => {
  const cache = new SelectionCache(noMeter, 10_000);
  const {attributes, record} = attributesOf(cache);
  let most = 0;
  for (let i = 0; i < 1000; i++) {
    attributes.of(record('k', i, {a: `${'x'.repeat(60)}${i}`}));
    most = Math.max(most, cache.bytes);
  }

  t.true(most > 9000 && most <= 10_000, `${most}`);
});

test('the selector of a watch evaluates each set of labels once while it is in use', async t => {
  const {server} = await start();
  let requested = 0;
  const labels = {requirements: [], empty: false, matches: () => ++requested > 0, toString: () => ''};
  const filter = filterOf(server.registry.find('', 'v1', 'configmaps')!, {labels, fields: fieldSelector([])});
  const first = new RecordAttributes(1, {});
  for (let i = 0; i < 2; i++) filter.decide('k', first);
  t.is(requested, 1);
  for (let i = 0; i < 5000; i++) filter.decide('k', new RecordAttributes(1, {}));
  filter.decide('k', first);

  t.is(requested, 5001);
});

test('attributes of a hundred thousand objects take less than 20 MB', t => {
  const {cache, attributes, record} = attributesOf();
  for (let i = 0; i < 1000; i++) attributes.of(record(`/registry/configmaps/default/item-${i}`, i, {app: `app-${i % 100}`}));

  t.true(cache.bytes * 100 < 30 << 20, `${cache.bytes}`);
});

test('the cells of a table come from its objects, with their current age', async t => {
  const {get, post, put, clock} = await start();
  await post(pods, {metadata: {name: 'p', annotations: {'b.c/d': 'ü"}{\\'}}, spec: {containers: [{name: 'c', image: 'i'}]}});
  const pod = (await get(`${pods}/p`)).json<KubeObject & {status: object}>();
  const finishedAt = new Date(clock.now()).toISOString().replace(/\.\d+/, '');
  await put(`${pods}/p/status`, {
    ...pod,
    status: {
      phase: 'Failed',
      reason: 'a "b"\u0000',
      containerStatuses: [
        {name: 'c', restartCount: 2, ready: false, image: 'i', imageID: '', lastState: {terminated: {exitCode: 1, finishedAt}}},
      ],
    },
  });
  await put(`${configMaps}/m3`, aConfigMap('m3', {data: {a: 'x'}}));
  interface Table {
    readonly rows: readonly {readonly cells: readonly unknown[]; readonly object: KubeObject | null}[];
  }
  const shown = async (path: string) => {
    const table = (await get(path, asTable)).json<Table>();
    t.deepEqual(table, (await get(`${path}${path.includes('?') ? '&' : '?'}pretty=true`, asTable)).json<Table>());
    return table.rows.map(({cells}) => cells);
  };
  for (let pass = 0; pass < 2; pass++)
    for (const path of [configMaps, pods, `${pods}?includeObject=None`, `${pods}?includeObject=Object`, '/api/v1/namespaces'])
      await shown(path);
  t.deepEqual((await shown(configMaps))[3], ['m3', 1, '0s']);
  await clock.advance(300_000);

  t.deepEqual((await shown(configMaps))[3], ['m3', 1, '5m']);
  t.deepEqual((await shown(pods))[0]?.slice(2, 5), ['a "b"\u0000', '2 (5m ago)', '5m']);
});

test('the metadata of a list is that of its objects', async t => {
  const {get} = await start();
  const headers = {accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.plat.io'};

  t.deepEqual((await get(configMaps, {headers})).json(), (await get(`${configMaps}?pretty=true`, {headers})).json());
});
