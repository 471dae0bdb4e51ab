import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {StatusError} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {copyJson} from '#src/base/json/json-copy.js';
import {ObjectCache} from '#src/apiserver/registry/object-cache.js';
import {SharedObjects} from '#src/apiserver/registry/shared-objects.js';
import {listAndWatchKind} from '#src/apiserver/registry/read/list-watch.js';
import {inProcessClient} from '#src/client/in-process.js';
import {encodeRecord, recordObject} from '#src/apiserver/registry/record.js';
import {noteEmpty} from '#src/schema/emptied.js';
import type {Store} from '#src/storage/store.js';
import {aConfigMap, admin, configMaps, startWire, words} from './wire.js';

const key = '/registry/configmaps/default/a';

const anObject = (data: Record<string, unknown> = {}): KubeObject =>
  ({kind: 'ConfigMap', apiVersion: 'v1', metadata: {name: 'a', namespace: 'default', labels: {app: 'a'}}, data}) as KubeObject;

/** Begins to write an object. Returns its record. */
const written = (cache: ObjectCache, object: KubeObject): Buffer => {
  const value = encodeRecord(object);
  cache.beginWriting(key, value, object);
  return value;
};

test('while an object is written, readers of its record share it under its new revision', t => {
  const cache = new ObjectCache();
  const object = anObject({k: 'v', list: [{a: 1}]});
  const value = written(cache, object);
  const read = cache.of(key, value, 7) as KubeObject & {data: unknown};

  t.deepEqual(read, recordObject(value, 7));
  t.is(JSON.stringify(read), JSON.stringify(recordObject(value, 7)));
  t.is(read.data, (object as typeof read).data);
  t.true(Object.isFrozen(read.data) && Object.isFrozen(read.metadata));
  cache.endWriting(key, value);
  t.is(cache.of(key, value, 7), read);
  t.is(cache.peek(key, 7), read);
});

test('while an object is written, a reader of its metadata gets that alone', t => {
  const cache = new ObjectCache();
  const object = anObject({k: 'v'});
  noteEmpty(object.metadata!, 'annotations', {});
  const value = written(cache, object);
  const metadata = cache.metadataInWriting({key, value, revision: 7});

  t.deepEqual(metadata, recordObject(value, 7).metadata);
  t.deepEqual(Object.getOwnPropertySymbols(metadata), []);
  t.true(Object.isFrozen(metadata) && Object.isFrozen(metadata!.labels));
  t.is(cache.peek(key, 7), undefined);
  t.is(cache.metadataInWriting({key, value: encodeRecord(object), revision: 7}), undefined);
  cache.endWriting(key, value);
  t.is(cache.metadataInWriting({key, value, revision: 7}), undefined);
});

test('what JSON leaves out of an object that is written is not shared', t => {
  const cache = new ObjectCache();
  const object = anObject({none: undefined, list: [undefined, {a: undefined, b: 1}], kept: {deep: true}});
  const labels = object.metadata!.labels!;
  noteEmpty(object.metadata!, 'annotations', {});
  const value = written(cache, object);
  const read = cache.of(key, value, 7) as KubeObject & {data: {kept: unknown}};

  t.deepEqual(read, recordObject(value, 7));
  t.deepEqual([Object.keys(read.data), Object.getOwnPropertySymbols(read.metadata)], [['list', 'kept'], []]);
  t.is(read.data.kept, (object as typeof read).data.kept);
  t.is(read.metadata!.labels, labels);
});

test('a record is parsed when another one is being written under its key, when the write has ended, and when it is long', t => {
  const cache = new ObjectCache();
  const isShared = (value: Buffer, object: KubeObject) =>
    (cache.of(key, value, 7) as KubeObject & {data: unknown}).data === (object as KubeObject & {data: unknown}).data;
  const first = anObject({k: '1'});
  const early = written(cache, first);
  const second = anObject({k: '2'});
  const late = written(cache, second);
  t.false(isShared(early, first));
  cache.clear();
  cache.endWriting(key, early);
  t.true(isShared(late, second));

  cache.clear();
  const third = anObject({k: '3'});
  const ended = written(cache, third);
  cache.endWriting(key, ended);
  t.false(isShared(ended, third));

  cache.clear();
  const long = anObject({k: 'x'.repeat(200_000)});
  t.false(isShared(written(cache, long), long));
});

test('the followers of a kind parse no record of an object that was written in this process', async t => {
  const {
    server: {registry},
    post,
    put,
  } = await startWire();
  const following = new AbortController();
  const received: unknown[] = [];
  await listAndWatchKind(registry, kinds.configMaps, ({metadata}) => void received.push(metadata!.name), following.signal);
  const {parse} = JSON;
  const parsed: string[] = [];
  JSON.parse = ((text: string, ...rest: []) => {
    if (text.includes('"uid":') && text.includes('marked')) parsed.push(text);
    return parse(text, ...rest) as unknown;
  }) as typeof parse;
  try {
    await post(configMaps, aConfigMap('marked'));
    await put(`${configMaps}/marked`, aConfigMap('marked', {data: {k: 'marked'}}));
  } finally {
    JSON.parse = parse;
  }
  t.deepEqual(received.slice(-2), ['marked', 'marked']);
  t.deepEqual(parsed, []);
  following.abort();
});

test('a list of metadata within the process parses nothing else, and keeps no object', async t => {
  const {server, post} = await startWire();
  await post(configMaps, aConfigMap('noted', {data: {k: 'unparsed'}}));
  const maps = server.registry.of(kinds.configMaps);
  const {objects} = maps;
  objects.clear();
  const {parse} = JSON;
  const parsed: string[] = [];
  JSON.parse = ((text: string, ...rest: []) => {
    if (text.includes('"uid":') && text.includes('noted')) parsed.push(text);
    return parse(text, ...rest) as unknown;
  }) as typeof parse;
  let items: readonly KubeObject[];
  try {
    const client = inProcessClient(server.handler, {naming: words, user: admin, userAgent: 'test'}).metadata(kinds.configMaps);
    ({items} = await client.list({namespace: 'default', fieldSelector: 'metadata.name=noted'}));
  } finally {
    JSON.parse = parse;
  }
  t.deepEqual(
    items.map(({metadata}) => metadata!.name),
    ['noted'],
  );
  t.true(Object.isFrozen(items[0]!.metadata) && items[0]!.metadata!.managedFields!.length > 0);
  t.is(parsed.length, 1);
  t.false(parsed[0]!.includes('unparsed'));
  t.is(objects.peek(maps.key('default', 'noted'), Number(items[0]!.metadata!.resourceVersion)), undefined);
});

test('a copy of a JSON value shares nothing with it, whatever its keys', t => {
  const value = Object.freeze({list: Object.freeze([Object.freeze({a: null})]), ['__proto__']: {b: 1n}});
  const copied: string[][] = [];
  const copy = copyJson(value, (from, to) => copied.push([Object.keys(from).join(), Object.keys(to).join()]));
  t.deepEqual(copy, value);
  t.deepEqual(Object.keys(copy), ['list', '__proto__']);
  t.not(copy.list[0], value.list[0]);
  t.false(Object.isFrozen(copy.list[0]));
  t.deepEqual(copied, [
    ['a', 'a'],
    ['b', 'b'],
    ['list,__proto__', 'list,__proto__'],
  ]);
});

test('a patch from a client in the process has the effects, and the refusals, of its JSON over the wire', async t => {
  const {server, post, patch} = await startWire();
  const maps = inProcessClient(server.handler, {naming: words, user: admin, userAgent: 'test'}).resource(kinds.configMaps);
  const spec = {data: {gone: 'x', stays: 'y'}};
  for (const name of ['wire', 'process']) await post(configMaps, aConfigMap(name, spec));
  for (const [type, body] of [
    ['merge', {metadata: {labels: {a: 'b'}}, data: {gone: null, new: 'z'}}],
    ['strategic', {metadata: {annotations: {c: 'd'}}, data: {stays: null}}],
    ['strategic', {data: {new: 7}}],
    ['merge', [1]],
    ['merge', null],
    ['strategic', null],
    ['merge', JSON.parse(`${'{"a":'.repeat(1100)}1${'}'.repeat(1100)}`) as unknown],
  ] as const) {
    const expected = await patch(`${configMaps}/wire`, body, {
      headers: {'content-type': `application/${type === 'merge' ? '' : 'strategic-'}merge-patch+json`},
    });
    const seen = await maps.patch('process', type, body, {namespace: 'default'}).catch((error: unknown) => error as StatusError);
    const {message = '', code, data, metadata} = expected.json<Record<string, unknown> & {message?: string}>();
    if (seen instanceof StatusError) t.deepEqual([seen.status.code, seen.message.replaceAll('process', 'wire')], [code, message]);
    else t.deepEqual([seen.data, seen.metadata?.labels], [data, (metadata as typeof seen.metadata)?.labels]);
  }
});

test('servers over one snapshot parse its records once, and what was written later each for itself', t => {
  const origin = {revision: 7};
  const caches = [1, 2].map(() => new ObjectCache(SharedObjects.of({origin} as Store)));
  const [value, later] = [encodeRecord(anObject({k: 'v'})), encodeRecord(anObject({k: 'w'}))];
  const of = (record: Buffer, revision: number) => caches.map(cache => cache.of(key, record, revision));
  const [one, other] = of(value, 7);
  const [early] = of(value, 6);

  t.is(one, other);
  t.true(Object.isFrozen(one) && Object.isFrozen(one!.metadata));
  t.deepEqual(one, recordObject(value, 7));
  t.is(early!.metadata!.resourceVersion, '6');
  const [first, second] = of(later, 8);
  t.deepEqual(first, second);
  t.not(first, second);
  t.not(new ObjectCache(SharedObjects.of({origin: {revision: 7}} as Store)).of(key, value, 7), one);
  t.is(SharedObjects.of({} as Store), undefined);
});
