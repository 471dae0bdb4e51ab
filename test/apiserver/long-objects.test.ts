import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {ConfigMap} from '#src/api/types.js';
import {pieceBytes} from '#src/base/json/json-steps.js';
import {configMaps, aConfigMap, startWire} from './wire.js';

const many = Object.fromEntries(Array.from({length: 20_000}, (_, index) => [`key-${index}`, `value-${index}`]));
const long = (name: string) => aConfigMap(name, {data: many});
const namespace = 'default';

/** The longest text that is parsed at once while something is done. */
const longestParsed = async (act: () => Promise<void>): Promise<number> => {
  const {parse} = JSON;
  let longest = 0;
  JSON.parse = ((text: string, ...rest: []) => {
    longest = Math.max(longest, text.length);
    return parse(text, ...rest) as unknown;
  }) as typeof parse;
  try {
    await act();
  } finally {
    JSON.parse = parse;
  }
  return longest;
};

const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await new Promise(resolve => setImmediate(resolve));
};

for (const [what, of] of [
  ['objects', 'resource'],
  ['metadata', 'metadata'],
] as const) {
  test.serial(`in-process watchers receive long ${what} in order, and nothing long is parsed at once`, async t => {
    const {post, put, remove, clientOf} = await startWire();
    const maps = clientOf()[of](kinds.configMaps);
    const received: string[] = [];
    const seen: ConfigMap[] = [];
    await post(configMaps, long('before'));
    const subscription = maps.watch({namespace}).subscribe(({type, object}) => {
      seen.push(object as ConfigMap);
      received.push(`${type} ${object.metadata!.name}`);
    });
    await until(() => received.length === 1);
    const changes = [
      () => post(configMaps, long('a')),
      () => post(configMaps, aConfigMap('b')),
      () => put(`${configMaps}/a`, aConfigMap('a', {data: {...many, more: 'x'}})),
      () => remove(`${configMaps}/a`),
      () => post(configMaps, aConfigMap('c')),
    ];
    for (const change of changes) await change();
    await until(() => received.length === 6);
    subscription.unsubscribe();

    t.deepEqual(received, ['ADDED before', 'ADDED a', 'ADDED b', 'MODIFIED a', 'DELETED a', 'ADDED c']);
    t.is(Object.keys(seen[3]!.data ?? {}).length, of === 'resource' ? 20_001 : 0);
    t.true(seen.every(object => Object.isFrozen(object) && Object.isFrozen(object.metadata)));

    let again = 0;
    const longest = await longestParsed(async () => {
      const repeated = maps.watch({namespace, resourceVersion: seen[0]!.metadata!.resourceVersion!}).subscribe(() => void again++);
      await until(() => again === 5);
      repeated.unsubscribe();
    });
    t.true(longest < 2 * pieceBytes, `${longest}`);
  });
}

test.serial('a long object in another media type is sent in pieces too', async t => {
  const {post, watch} = await startWire();
  await post(configMaps, long('a'));
  const table = {headers: {accept: 'application/json;as=Table;v=v1;g=meta.plat.io'}};

  const longest = await longestParsed(async () => {
    using stream = await watch(`${configMaps}?watch=true`, table);
    await until(() => stream.frames.length === 1);
  });

  t.true(longest < 2 * pieceBytes, `${longest}`);
});

test.serial('long objects that are read in the process are parsed in pieces', async t => {
  const {post, clientOf} = await startWire();
  for (const name of ['a', 'b']) await post(configMaps, long(name));
  const maps = clientOf().resource(kinds.configMaps);
  let count = 0;

  const longest = await longestParsed(async () => {
    count += (await maps.list({namespace})).items.reduce((sum, {data}) => sum + Object.keys(data!).length, 0);
    count += Object.keys((await maps.get('a', {namespace})).data!).length;
  });

  t.is(count, 60_000);
  t.true(longest < 2 * pieceBytes, `${longest}`);
});

test.serial('a long object is chosen by a field without being parsed as a whole', async t => {
  const {post, get} = await startWire();
  const secrets = '/api/v1/namespaces/default/secrets';
  const data = Object.fromEntries(Object.keys(many).map(key => [key, 'eA==']));
  for (const [name, type] of [
    ['a', 'mine'],
    ['b', 'other'],
  ])
    await post(secrets, {apiVersion: 'v1', kind: 'Secret', metadata: {name, annotations: {text: ',{"[}'}}, type, data});
  const names: string[] = [];

  const longest = await longestParsed(async () => {
    const {text} = await get(`${secrets}?fieldSelector=type%3Dother`);
    names.push(...[...text.matchAll(/"name":"(\w)"/g)].map(match => match[1]!));
  });

  t.deepEqual(names, ['b']);
  t.true(longest < 2 * pieceBytes, `${longest}`);
});

for (const [what, metadata] of [
  ['deleted', {}],
  ['kept by a finalizer', {finalizers: ['example.com/kept']}],
] as const) {
  test.serial(`long objects of a collection that are ${what} are neither parsed nor copied at once`, async t => {
    const {post, remove, get} = await startWire();
    for (const name of ['a', 'b']) await post(configMaps, {...long(name), metadata: {name, ...metadata}});
    const {structuredClone} = globalThis;
    let copied = 0;
    globalThis.structuredClone = ((value: ConfigMap) => {
      copied = Math.max(copied, Object.keys(value.data ?? {}).length);
      return structuredClone(value);
    }) as typeof structuredClone;

    try {
      const longest = await longestParsed(async () => {
        t.is((await remove(configMaps)).status, 200);
      });
      t.true(longest < 2 * pieceBytes, `${longest}`);
    } finally {
      globalThis.structuredClone = structuredClone;
    }

    t.is(copied, 0);
    const {items} = (await get(configMaps)).json<{items: ConfigMap[]}>();
    t.deepEqual(
      items.map(item => [item.metadata?.deletionTimestamp !== undefined, Object.keys(item.data ?? {}).length]),
      what === 'deleted'
        ? []
        : [
            [true, 20_000],
            [true, 20_000],
          ],
    );
  });
}
