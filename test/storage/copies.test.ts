import test from 'ava';
import {seededRandom} from '#src/base/random.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {LayeredMap} from '#src/storage/memory/layered-map.js';
import {memoryStore} from '#src/storage/memory/index.js';
import type {Change, Store} from '#src/storage/store.js';

const all = {start: '/', end: '0'};
const textsOf = async (store: Store, revision?: number): Promise<string[]> =>
  (await store.range({...all, ...(revision === undefined ? {} : {revision})})).records.map(({key, value}) => `${key}=${value}`);

/** Random writes to a store, as they are expected to be read. */
const written = (store: Store, seed: number, expected: Map<string, {text: string; revision: number}>) => {
  const random = seededRandom(seed);
  return async (count: number) => {
    for (let i = 0; i < count; i++) {
      const key = `/${Math.floor(random.float() * 2000)}`;
      const held = expected.get(key);
      const text = String(random.float());
      if (held && random.float() < 0.3) {
        await store.delete(key, held.revision);
        expected.delete(key);
      } else {
        const value = Buffer.from(text);
        expected.set(key, {text, revision: await (held ? store.update(key, value, held.revision) : store.create(key, value))});
      }
    }
  };
};
const texts = (expected: Map<string, {text: string}>): string[] =>
  [...expected].map(([key, {text}]) => `${key}=${text}`).sort((a, b) => (a.split('=')[0]! < b.split('=')[0]! ? -1 : 1));

test('stores that were opened with the same state change independently, whichever of them is copied again', async t => {
  const clock = new VirtualClock();
  let family = [{store: memoryStore({clock}), expected: new Map<string, {text: string; revision: number}>()}];
  for (let round = 0; round < 5; round++) {
    for (const [index, {store, expected}] of family.entries()) await written(store, round * 10 + index, expected)(120);
    for (const {store, expected} of family) {
      t.deepEqual(await textsOf(store), texts(expected));
      t.is(await store.count(all.start, all.end), expected.size);
    }
    const {store, expected} = family[round % family.length]!;
    family = [...family, {store: store.snapshot!().open(clock), expected: new Map(expected)}];
  }
  for (const {store} of family) await store.close();
});

test('a copy has the revision and the history of its state, and later changes of the original are not in it', async t => {
  const clock = new VirtualClock();
  const store = memoryStore({clock});
  const first = await store.create('/a', Buffer.from('1'));
  const second = await store.update('/a', Buffer.from('2'), first);
  const snapshot = store.snapshot!();
  await store.update('/a', Buffer.from('original'), second);
  const copy = snapshot.open(clock);

  t.is(snapshot.revision, second);
  t.is(await copy.revision(), second);
  t.is(await copy.update('/a', Buffer.from('copy'), second), second + 1);
  t.deepEqual(await textsOf(copy, first), ['/a=1']);
  t.deepEqual(await textsOf(copy), ['/a=copy']);
  t.deepEqual(await textsOf(store), ['/a=original']);
  const seen: Change[] = [];
  copy.watch({...all, after: 1}, {changes: batch => void seen.push(...batch), ended() {}});
  await clock.drain();
  t.deepEqual(
    seen.map(({record}) => String(record?.value)),
    ['1', '2', 'copy'],
  );
  await copy.compact(second);
  t.deepEqual(await textsOf(store, first), ['/a=1'], 'a compaction of one is none of the other');
  await store.close();
  await copy.close();
});

test('records under a lease go in the original and in its copies, each by its own clock', async t => {
  const clock = new VirtualClock();
  const store = memoryStore({clock});
  await store.create('/a', Buffer.from('1'), {lease: await store.lease(60)});
  await clock.advance(20_000);
  const other = clock.copy();
  const copy = store.snapshot!().open(other);

  await clock.advance(40_000);
  t.deepEqual(await textsOf(store), []);
  t.deepEqual(await textsOf(copy), ['/a=1']);
  await other.advance(39_999);
  t.deepEqual(await textsOf(copy), ['/a=1']);
  await other.advance(1);
  t.deepEqual(await textsOf(copy), []);
  await store.close();
  await copy.close();
});

test('a map that was copied many times answers as plain maps do', t => {
  const random = seededRandom(7);
  const pairs = [{map: new LayeredMap<number, number>(), plain: new Map<number, number>()}];
  for (let step = 0; step < 4000; step++) {
    const {map, plain} = pairs[Math.floor(random.float() * pairs.length)]!;
    const key = Math.floor(random.float() * 60);
    if (random.float() < 0.4) {
      map.delete(key);
      plain.delete(key);
    } else {
      map.set(key, step);
      plain.set(key, step);
      t.true(map.isOwn(key));
    }
    if (step % 400 === 0) pairs.push({map: map.copy(), plain: new Map(plain)});
  }
  for (const {map, plain} of pairs) for (let key = 0; key < 60; key++) t.is(map.get(key), plain.get(key));
});
