import test from 'ava';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {memoryStore} from '#src/storage/memory/index.js';
import type {Store} from '#src/storage/store.js';
import {startWire} from '#test/apiserver/wire.js';
import {fresh, open} from '#test/storage/embedded-stores.js';

/** Texts that could be read as parts of another key, as its end, or as a name of the file system. */
const hostile = [
  '..',
  '.',
  '../x',
  '..%2fx',
  '%2e%2e',
  '%2f',
  '%',
  'a/b',
  '/',
  'x/',
  '/x',
  'a\\b',
  'a\0b',
  '\0',
  'a\u0001',
  '\u0002a',
  'a b',
  'a\nb',
  'ä',
  'a\u0308',
  '\ud800',
  '\udc00x',
  '\u{10ffff}',
  '\uffff',
  'ﬁ',
  'İ',
  ' ',
  '~',
  'a:b',
  'system:a',
  '*',
  '?',
  '#',
  '__proto__',
  'constructor',
  'default/configmaps',
  'x'.repeat(300),
  'ä'.repeat(800),
];

const backends: readonly (readonly [string, (clock: VirtualClock) => Store | Promise<Store>])[] = [
  ['memory', clock => memoryStore({clock})],
  ['embedded', clock => open(fresh(), clock)],
];

/** Kinds whose names have a form, and kinds that may have every name which is one segment of a path. */
const kinds: readonly (readonly [path: string, rest: object])[] = [
  ['/api/v1/namespaces/default/configmaps', {}],
  ['/api/v1/namespaces', {}],
  ['/apis/rbac.authorization.plat.io/v1/namespaces/default/roles', {rules: []}],
  ['/apis/rbac.authorization.plat.io/v1/clusterroles', {rules: []}],
];

const keysOf = async (store: Store): Promise<string[]> =>
  (await store.range({start: '/registry/', end: '/registry0'})).records.map(({key}) => key);
/** The key with the name left out. */
const parentOf = (key: string): string => key.slice(0, key.lastIndexOf('/'));

for (const [backend, create] of backends) {
  test(`${backend}: no name of an object leads to another key than its own`, async t => {
    const clock = new VirtualClock();
    const store = await create(clock);
    const {post, get, remove, send} = await startWire({clock, store});
    for (const [path, rest] of kinds) {
      const first = await keysOf(store);
      await post(path, {metadata: {name: 'plain'}, ...rest});
      const plain = (await keysOf(store)).find(key => !first.includes(key))!;
      let created = 0;
      for (const name of hostile) {
        const before = await keysOf(store);
        const made = await post(path, {metadata: {name}, ...rest});
        t.true(made.status === 201 || made.status === 422, `${path} ${JSON.stringify(name)}: ${made.status} ${made.text}`);
        const added = (await keysOf(store)).filter(key => !before.includes(key));
        const url = `${path}/${encodeURIComponent(Buffer.from(name).toString())}`;
        if (made.status === 422) {
          t.deepEqual(added, [], JSON.stringify(name));
          const {status} = await get(url);
          t.true(status === 404 || status === 400 || status === 405 || status === 200, `${url}: ${status}`);
          continue;
        }
        created++;
        t.deepEqual([added.length, parentOf(added[0]!)], [1, parentOf(plain)], JSON.stringify(added));
        t.is((await get(url)).json().metadata?.name, made.json().metadata?.name);
        t.is((await remove(`${url}?gracePeriodSeconds=0`)).status, 200);
        await send('PUT', `${url}/finalize`, {body: {metadata: {name}, spec: {finalizers: []}}});
        t.deepEqual(await keysOf(store), before, JSON.stringify(name));
        t.is((await get(`${path}/plain`)).status, 200);
      }
      t.is(created > 10, path.includes('rbac'), `${path}: ${created}`);
    }
    await store.close();
  });

  test(`${backend}: a list of a namespace has no objects of others whose names begin alike`, async t => {
    const clock = new VirtualClock();
    const store = await create(clock);
    const {post, get, remove} = await startWire({clock, store});
    const names = ['a', 'a-b', 'a0', 'ab', 'a-'].filter(name => !name.endsWith('-'));
    for (const namespace of names) {
      await post('/api/v1/namespaces', {metadata: {name: namespace}});
      for (const name of ['a', 'a.b', 'ab'])
        t.is((await post(`/api/v1/namespaces/${namespace}/configmaps`, {metadata: {name}})).status, 201);
    }

    for (const namespace of names) {
      const {items} = (await get(`/api/v1/namespaces/${namespace}/configmaps`)).json<{items: {metadata: {namespace: string}}[]}>();
      t.deepEqual(
        items.map(({metadata}) => metadata.namespace),
        [namespace, namespace, namespace],
      );
    }
    t.is((await remove('/api/v1/namespaces/a/configmaps')).status, 200);
    t.is((await get('/api/v1/configmaps')).json<{items: object[]}>().items.length, 9);
    await store.close();
  });
}

test('no path leads to an object by another spelling of its name', async t => {
  const {post, send} = await startWire();
  const configMaps = '/api/v1/namespaces/default/configmaps';
  await post(configMaps, {metadata: {name: 'a'}});
  await post('/api/v1/namespaces/default/secrets', {metadata: {name: 'a'}, stringData: {x: 'hidden'}});
  for (const url of [
    `${configMaps}/..%2fsecrets/a`,
    `${configMaps}/../secrets/a`,
    `${configMaps}/..%2fsecrets%2fa`,
    `${configMaps}/%2e%2e/secrets/a`,
    `${configMaps}/%252e%252e%252fsecrets%252fa`,
    `${configMaps}/.%2e/secrets/a`,
    `${configMaps}/a%00`,
    `${configMaps}/a%00/../../secrets/a`,
    `${configMaps}/A`,
    `${configMaps}/ａ`,
    `${configMaps}/%c0%af`,
    `${configMaps}//a`,
    `/api/v1/namespaces/default/configmaps/./a`,
    `/api/v1/namespaces/default%2fconfigmaps/../secrets/a`,
    `/api/v1//namespaces/default/secrets/a`,
    `//api/v1/namespaces/default/secrets/a`,
    `/API/v1/namespaces/default/secrets/a`,
    `/api/v1/namespaces/default/configmaps;x/a`,
    `/api/v1/namespaces/default\\secrets\\a`,
  ]) {
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const {status, text} = await send(method, url, method === 'PUT' ? {body: {metadata: {name: 'a'}}} : {});
      t.true(status === 400 || status === 404 || status === 405, `${method} ${url}: ${status} ${text}`);
    }
  }
  t.is((await send('GET', `${configMaps}/a`)).status, 200);
  t.is((await send('GET', '/api/v1/namespaces/default/secrets/a')).status, 200);
});
