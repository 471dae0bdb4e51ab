import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {CacheBound, caches, OwnedCaches, shrinkCaches} from '#src/base/cache-bound.js';
import {Lru} from '#src/base/lru.js';
import {Rbac} from '#src/apiserver/authorization/rbac.js';
import {defaultSelectionBytes} from '#src/apiserver/registry/selection-cache.js';
import {hotDefaults} from '#src/storage/embedded/hot-ranges.js';
import {mapDefaults} from '#src/storage/embedded/mapped-tree.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {naming} from '#src/api/naming.js';
import {root, sources} from '#test/sources.js';

/** The size of an entry with a key of one character besides its value. */
const beside = 121;
const sized = {bytesOf: (value: number) => value - beside};
const countsOf = (name: string) => caches().find(cache => cache.name === name);

test('a cache evicts the least recently used entries once its bytes are used up', t => {
  const bound = new CacheBound('test used', 10_000);
  const dropped: number[] = [];
  const map = new Lru<string, number>(bound, {...sized, onEvict: value => void dropped.push(value)});
  for (let index = 0; index < 10; index++) map.set(String(index), 1000);
  t.is(map.get('0'), 1000);
  t.is(map.peek('1'), 1000);

  map.set('x', 1001);

  t.deepEqual([map.get('0'), map.get('1'), map.get('2'), map.get('3'), map.get('x')], [1000, undefined, undefined, 1000, 1001]);
  t.deepEqual([map.size, dropped, countsOf('test used')?.bytes], [9, [1000, 1000], 9001]);
});

test('a cache keeps less while the process is idle, if it says so', t => {
  const bounds = [new CacheBound('test shrinking', 10_000, {idleBytes: 2500}), new CacheBound('test staying', 10_000)];
  const maps = bounds.map(bound => new Lru<string, number>(bound, sized));
  for (const map of maps) for (let index = 0; index < 6; index++) map.set(String(index), 1000);
  shrinkCaches();

  t.deepEqual([bounds.map(({bytes}) => bytes), maps[0]!.peek('3'), maps[0]!.peek('4')], [[2000, 6000], undefined, 1000]);
  maps[0]!.set('6', 1000);
  t.is(maps[0]!.size, 3);
});

test('an entry that is set again, deleted or cleared away counts no more', t => {
  const bound = new CacheBound('test counted', 100_000);
  const map = new Lru<string, number>(bound, sized);
  map.set('a', 1000);
  map.set('a', 500);
  t.is(bound.bytes, 500);
  map.set('b', 300);
  map.delete('a');
  t.is(bound.bytes, 300);

  map.clear();

  t.deepEqual([bound.bytes, map.size], [0, 0]);
});

test('an entry that would drive out many others is not kept', t => {
  const bound = new CacheBound('test large', 8000);
  const map = new Lru<string, number>(bound, sized);
  map.set('a', 1000);
  map.set('b', 1001);
  map.set('a', 5000);

  t.deepEqual([map.size, bound.bytes], [0, 0]);
});

test('a cache may have a bound of entries besides', t => {
  const map = new Lru<string, number>(new CacheBound('test entries', 1 << 20), {...sized, maxEntries: 2});
  for (const key of ['a', 'b', 'c']) map.set(key, 200);

  t.deepEqual([map.get('a'), map.get('b'), map.get('c')], [undefined, 200, 200]);
});

test('of maps that share a bound, the least recently used entry of all is lost', t => {
  const bound = new CacheBound('test shared', 10_000);
  const [first, second] = [new Lru<string, number>(bound, sized), new Lru<string, number>(bound, sized)];
  for (let index = 0; index < 5; index++) first.set(String(index), 1000);
  for (let index = 0; index < 8; index++) second.set(String(index), 1000);

  t.deepEqual([first.size, second.size, bound.bytes], [2, 8, 10_000]);
  t.is(first.get('3'), 1000);
  second.set('x', 1000);
  second.set('y', 1000);
  t.deepEqual([first.peek('3'), first.size, second.size, bound.bytes], [1000, 1, 9, 10_000]);
});

test('a map that seldom grows keeps what is used between the many entries of others', t => {
  const bound = new CacheBound('test seldom', 100_000);
  const seldom = new Lru<string, number>(bound, sized);
  const others = Array.from({length: 20}, () => new Lru<string, number>(bound, sized));
  seldom.set('a', 1000);
  let misses = 0;
  for (let index = 0; index < 10_000; index++) {
    others[index % (index < 5000 ? 3 : 20)]!.set(String(index), 1000);
    if (seldom.get('a') === undefined) misses++;
  }

  t.is(misses, 0);
  t.true(bound.bytes <= 100_000);
});

test('an eviction looks at a few maps, however many there are', t => {
  const bound = new CacheBound('test many maps', 10_000);
  let looks = 0;
  const maps = Array.from({length: 10_000}, () => {
    const map = {
      get oldestUse() {
        looks++;
        return share.bytes > 0 ? 0 : undefined;
      },
      dropOldest: () => {
        bound.account(share, -share.bytes);
        return true;
      },
    };
    const share = bound.join(map);
    bound.account(share, 1);
    return {map, share};
  });
  t.is(looks, 0);
  for (const {share} of maps.slice(0, 100)) bound.account(share, 1);

  t.is(bound.bytes, 10_000);
  t.true(looks <= 1600, `${looks} looks in 100 evictions`);
});

test('a cache cannot be made without a bound, nor under a name that is taken', t => {
  t.throws(() => new CacheBound('test endless', Infinity), {message: 'the cache test endless has no bound'});
  t.throws(() => new CacheBound('test nothing', Number.NaN), {message: 'the cache test nothing has no bound'});
  t.is(new CacheBound('test twice', 1).bytes, 0);
  t.throws(() => new CacheBound('test twice', 1), {message: 'there is a cache test twice already'});
  t.throws(() => new OwnedCaches('test twice', () => ({bytes: 0, maxBytes: 0})), {message: 'there is a cache test twice already'});
});

test('rules of users are remembered within 32 MiB however many groups the users are in', t => {
  const rbac = new Rbac(naming('plat'));
  const groups = Array.from({length: 5000}, (_, index) => `group-${'x'.repeat(40)}-${index}`);
  for (let index = 0; index < 200; index++) rbac.authorize({user: {name: `user-${index}`, groups}, verb: 'get', path: '/'});

  const {bytes, maxBytes} = countsOf('rbac_rules')!;
  t.is(maxBytes, 32 << 20);
  t.true(bytes > maxBytes / 2 && bytes <= maxBytes, String(bytes));
});

/** Where caches are made, with their names. */
const declared = sources('src', 'controllers', 'informers').flatMap(({path, text}) =>
  [...text.matchAll(/new (CacheBound|OwnedCaches<\w+>)\('([^']+)'/g)].map(([, of, name]) => ({
    path,
    name: name!,
    isShared: of === 'CacheBound',
  })),
);

test.before(async () => {
  for (const path of new Set(declared.map(each => each.path))) await import(`#${path.replace(/\.ts$/, '.js')}`);
});

test('every cache shows its bytes and their bound', async t => {
  const names = declared.map(({name}) => name);
  t.true(names.length >= 20);
  const shown = caches().filter(({name}) => !name.startsWith('test '));
  t.deepEqual(
    shown.map(({name}) => name),
    [...names].sort(),
  );

  const {body} = await new MetricsRegistry({process: true}).exposition();
  for (const name of names)
    for (const metric of ['process_cache_bytes', 'process_cache_limit_bytes'])
      t.regex(body, new RegExp(`^${metric}\\{cache="${name}"\\} \\d+$`, 'm'));
});

const inWords = (bytes: number): string => (bytes % (1 << 20) === 0 ? `${bytes >> 20} MiB` : `${bytes >> 10} KiB`);

test('the page on security lists every cache, with the bound where it is one for all', t => {
  const rows = new Map(
    [...readFileSync(join(root, 'docs/security.md'), 'utf8').matchAll(/^\| `(\w+)` \| (\d+ \w+) \|/gm)].map(([, name = '', bound = '']) => [
      name,
      bound,
    ]),
  );
  const bounds = new Map(caches().map(({name, maxBytes}) => [name, inWords(maxBytes)]));

  t.deepEqual([...rows.keys()], declared.map(({name}) => name).sort());
  t.deepEqual(
    [rows.get('selections'), rows.get('store_hot_ranges'), rows.get('store_mapped_pages')],
    [defaultSelectionBytes, 2 * hotDefaults.maxBytes, mapDefaults.maxBytes].map(inWords),
  );
  for (const {name, isShared} of declared) if (isShared) t.is(rows.get(name), bounds.get(name), name);
});

/** Maps of their own that drop entries by their number have no bound in bytes. */
const bySize = /\b(#?\w+)\.size\s*>=?\s*\w+.*?\b\1\s*(?:\.(?:clear|delete)\(|= new (?:Map|Set))/;
/** Which of them hold nothing that callers can make large: the reason is at the place. */
const excepted = new Set(['src/apiserver/registry/selection-cache.ts']);

test('no map keeps itself small by the number of its entries', t => {
  const found = sources('src', 'controllers', 'informers').filter(({path, code}) => !excepted.has(path) && bySize.test(code));

  t.deepEqual(
    found.map(({path}) => path),
    [],
  );
});
