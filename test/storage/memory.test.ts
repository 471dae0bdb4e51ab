import test from 'ava';
import {maxFilteredKeys, PageReader} from '#src/storage/local/page.js';
import {MemoryEngine} from '#src/storage/memory/engine.js';
import {memoryStore} from '#src/storage/memory/index.js';
import {storeSuite} from './suite.js';

storeSuite(test, {name: 'memory', open: async clock => memoryStore({clock})});

test('a page ends where a filter has looked at many keys, whatever it let through', t => {
  const page = new PageReader({limit: Infinity, bytes: Infinity, filter: {known: () => false, passes: () => true}});
  for (let i = 0; i < maxFilteredKeys; i++) page.skips(`/${i}`, 1);

  t.true(page.isFull);
  t.false(page.add({key: '/x', value: Buffer.from('x'), revision: 1, created: 1}));
  t.deepEqual([page.records, page.more, page.reached], [[], true, `/${maxFilteredKeys - 1}`]);
});

test('pages of an earlier revision are read without looking through the keys behind them', t => {
  const keys = Array.from({length: 10_000}, (_, at) => `/k/${String(at).padStart(5, '0')}`);
  const engine = new MemoryEngine();
  const change = (key: string, revision: number) => {
    const record = {key, value: Buffer.from(key), revision, created: revision};
    void engine.commit({changes: [{key, revision, record, previous: engine.get(key)}], granted: [], forgotten: []});
  };
  for (const [at, key] of keys.entries()) change(key, at + 2);
  change('/z', keys.length + 2);
  const readAll = (revision: number): number => {
    const extent = {limit: 10, bytes: Infinity};
    let count = 0;
    for (let start = '/k/', isMore = true; isMore;) {
      const {records, more} = engine.rangeAt(start, '/l', extent, revision);
      count += records.length;
      start = `${records.at(-1)!.key}\0`;
      isMore = more;
    }
    return count;
  };
  const {get} = Map.prototype;
  let lookups = 0;
  // oxlint-disable-next-line no-extend-native
  Map.prototype.get = function (key: unknown): unknown {
    lookups++;
    return get.call(this, key);
  };
  try {
    t.is(readAll(keys.length + 1), keys.length);
  } finally {
    Map.prototype.get = get; // oxlint-disable-line no-extend-native
  }
  // Looking through the rest for each page takes five million.
  t.true(lookups < 10 * keys.length, `${lookups} lookups`);
});

test('a page has fewer records of which a filter parses the values than of which it reads the labels', t => {
  const examined = (parses: boolean | undefined): number => {
    const page = new PageReader({limit: Infinity, bytes: 800, filter: {known: () => undefined, passes: () => false, parses}});
    for (let i = 0; ; i++) if (!page.add({key: `/${i}`, value: Buffer.alloc(100), revision: 1, created: 1})) return i;
  };

  t.deepEqual([examined(undefined), examined(true), examined(false)], [2, 2, 8]);
});
