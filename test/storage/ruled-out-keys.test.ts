import {rmSync} from 'node:fs';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {keyOf, keyText} from '#src/api/key.js';
import type {ListOptions} from '#src/client/client.js';
import {startServer} from '#test/fixtures/server.js';
import {fresh, open, root} from './embedded-stores.js';

test.after.always(() => rmSync(root, {recursive: true, force: true}));

/** The order of their keys is another one than that of the namespaces. */
const namespaces = ['a', 'a-b', 'a0', 'b'];
const perNamespace = 100;

/**
 * An API server on an embedded store with many config maps in some namespaces, and the keys that filters are asked for.
 */
const start = async () => {
  const store = await open(fresh());
  const range = store.range.bind(store);
  const asked: string[] = [];
  store.range = query => {
    const {filter} = query;
    return range({...query, filter: filter && {...filter, known: (key, revision) => (asked.push(key), filter.known(key, revision))}});
  };
  const client = startServer({store}).clientOf();
  const maps = client.resource(kinds.configMaps);
  for (const namespace of namespaces)
    for (let index = 0; index < perNamespace; index++) await maps.create({metadata: {namespace, name: `m-${index}`}});
  const select = async (options: ListOptions) => {
    const found: string[] = [];
    for (let next: string | undefined = ''; next !== undefined;) {
      const {items, metadata} = await maps.list({...options, ...(next ? {continue: next} : {})});
      found.push(...items.map(item => keyText(keyOf(item))));
      next = metadata?.continue || undefined;
    }
    return found;
  };
  return {store, maps, asked, select};
};

test('a list of a name in all namespaces finds it in each, and passes over the keys between', async t => {
  const {store, maps, asked, select} = await start();
  const nameds = {early: ['a', 'a0'], 'm-50-x': ['a', 'a-b', 'b'], zzz: ['a-b', 'a0', 'b'], nowhere: []};
  for (const [name, homes] of Object.entries(nameds)) for (const namespace of homes) await maps.create({metadata: {namespace, name}});

  for (const [name, homes] of Object.entries(nameds)) {
    const found = homes.map(namespace => `${namespace}/${name}`).toSorted();
    t.deepEqual((await select({fieldSelector: `metadata.name=${name}`})).toSorted(), found);
    t.true(asked.splice(0).length < 40 * namespaces.length, name);
    t.deepEqual((await select({fieldSelector: `metadata.name=${name}`, limit: 1})).toSorted(), found);
    const elsewhere = await select({fieldSelector: `metadata.name=${name},metadata.namespace!=a`});
    t.deepEqual(
      elsewhere.toSorted(),
      found.filter(key => !key.startsWith('a/')),
    );
    asked.length = 0;
  }

  t.is((await select({fieldSelector: 'metadata.name!=m-1'})).length, namespaces.length * (perNamespace - 1) + 8);
  await store.close();
});
