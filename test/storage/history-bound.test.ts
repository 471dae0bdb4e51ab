import {rmSync} from 'node:fs';
import test from 'ava';
import {compactRegularly} from '#src/apiserver/registry/compaction.js';
import {noLog} from '#src/base/log.js';
import {yieldToEventLoop} from '#src/base/turn.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {openEmbeddedStore} from '#src/storage/embedded/index.js';
import {Compacted} from '#src/storage/errors.js';
import type {Store} from '#src/storage/store.js';
import {Follower} from './follower.js';
import {fresh, open, root} from './embedded-stores.js';

test.after.always(() => rmSync(root, {recursive: true, force: true}));

const value = Buffer.alloc(1000, 'x');
/** What a change of a short key takes: its head, its key, the value and two checksums. */
const changeBytes = 21 + 2 + value.length + 8;

const bounded = (directory: string, historyBytes: number): Promise<Store> =>
  openEmbeddedStore({directory, naming: 'plat', clock: new VirtualClock(), historyBytes});

/** Creates a key and updates it so often, one commit at a time. */
const update = async (store: Store, key: string, times: number): Promise<number> => {
  let revision = (await store.get(key))?.revision ?? (await store.create(key, value));
  for (let time = 0; time < times; time++) revision = await store.update(key, value, revision);
  return revision;
};

/** Waits until the store was compacted up to a revision. */
const compactedTo = async (store: Store, revision: number): Promise<void> => {
  while ((await store.compacted()) < revision) await yieldToEventLoop();
};

test('beyond its bound the oldest history is compacted, and no more than a sixty-fourth too much', async t => {
  const maxBytes = 64 * changeBytes;
  const store = await bounded(fresh(), maxBytes);
  await update(store, '/a', 64);
  for (let turn = 0; turn < 50; turn++) await yieldToEventLoop();
  t.is(await store.compacted(), 0);

  // 65 superseded records, where 64 fit, and one less is kept.
  const newest = await update(store, '/a', 1);
  await compactedTo(store, newest - 63);

  t.is(await store.compacted(), newest - 63);
  t.is((await store.range({start: '/a', end: '/b', revision: newest - 63})).records[0]?.revision, newest - 63);
  t.throws(() => store.range({start: '/a', end: '/b', revision: newest - 64}), {instanceOf: Compacted});
  using behind = new Follower(store, {prefix: '/a', after: newest - 64});
  await behind.until(({endings}) => endings.length > 0);
  t.true(behind.endings[0] instanceof Compacted);
  await store.close();
});

test('records that exist do not count towards the bound of history', async t => {
  const store = await bounded(fresh(), 10 * changeBytes);
  for (let index = 0; index < 100; index++) await store.create(`/k/${index}`, value);
  for (let turn = 0; turn < 50; turn++) await yieldToEventLoop();

  t.is(await store.compacted(), 0);
  const revision = (await store.get('/k/0'))!.revision;
  await store.delete('/k/0', revision);
  await update(store, '/k/1', 11);
  await compactedTo(store, 102);
  t.true((await store.compacted()) >= 102);
  t.is(await store.count('/k/', '/k0'), 99);
  await store.close();
});

test('deletions count towards the bound, with what they delete', async t => {
  const deletionBytes = changeBytes + 1 + (21 + 3 + 8);
  const store = await bounded(fresh(), 10 * deletionBytes);
  const revisions = await Promise.all(Array.from({length: 10}, (_, index) => store.create(`/k${index}`, value)));
  await Promise.all(revisions.map((revision, index) => store.delete(`/k${index}`, revision)));
  for (let turn = 0; turn < 50; turn++) await yieldToEventLoop();
  t.is(await store.compacted(), 0);

  await store.delete('/k', await store.create('/k', value));
  await compactedTo(store, 12);
  t.true((await store.compacted()) >= 12);
  await store.close();
});

test('history of before the start counts towards the bound', async t => {
  const directory = fresh();
  const before = await bounded(directory, 0);
  const newest = await update(before, '/a', 200);
  t.is(await before.compacted(), 0);
  await before.close();

  const store = await bounded(directory, 64 * changeBytes);
  await compactedTo(store, newest - 63);

  t.is(await store.compacted(), newest - 63);
  await store.close();
});

test('a long history of before the start is counted only when the start is over', async t => {
  const directory = fresh();
  const before = await bounded(directory, 0);
  const made = await Promise.all(Array.from({length: 600}, (_, index) => before.create(`/k${index}`, value)));
  const changed = await Promise.all(made.map((revision, index) => before.update(`/k${index}`, value, revision)));
  await before.close();

  const clock = new VirtualClock();
  const store = await openEmbeddedStore({directory, naming: 'plat', clock, historyBytes: 10 * changeBytes});
  await update(store, '/a', 1);
  for (let turn = 0; turn < 50; turn++) await yieldToEventLoop();
  t.is(await store.compacted(), 0);

  await clock.advance(10_000);
  await compactedTo(store, Math.min(...changed));
  t.true((await store.compacted()) >= Math.min(...changed));
  await store.close();
});

test('a compaction at its interval leaves the whole bound to later history', async t => {
  const store = await bounded(fresh(), 64 * changeBytes);
  const revision = await update(store, '/a', 60);
  await store.compact(revision);
  await update(store, '/a', 64);
  for (let turn = 0; turn < 50; turn++) await yieldToEventLoop();

  t.is(await store.compacted(), revision);
  await store.close();
});

const intervalMs = 300_000;

/** Runs a store under regular compaction for some time, beginning at `at`. */
const run = async (
  directory: string,
  at: number,
  forMs: number,
  act: (store: Store) => Promise<void> = async () => {},
): Promise<number> => {
  const clock = new VirtualClock(at);
  const store = await open(directory, clock);
  const ending = new AbortController();
  await act(store);
  compactRegularly({store, clock, log: noLog, intervalMs}, ending.signal);
  await clock.advance(forMs);
  const compacted = await store.compacted();
  ending.abort();
  await store.close();
  return compacted;
};

test('compaction runs at start where the last one is older than its interval', async t => {
  const directory = fresh();
  const begin = Date.UTC(2026, 0, 1);
  let newest = 0;
  const write = async (store: Store): Promise<void> => {
    newest = await update(store, '/a', 5);
  };

  t.is(await run(directory, begin, 1000, write), 0);
  const noted = newest;
  t.is(await run(directory, begin + intervalMs - 10_000, 1000, write), 0);
  t.is(await run(directory, begin + intervalMs + 10_000, 1000, write), noted);
});

test('runs shorter than the interval of compaction count together', async t => {
  const directory = fresh();
  const begin = Date.UTC(2026, 0, 1);
  let newest = 0;
  await run(directory, begin, 1000, async store => {
    newest = await update(store, '/a', 5);
  });

  t.is(await run(directory, begin + 200_000, 90_000), 0);
  t.is(await run(directory, begin + 295_000, 10_000), newest);
});

test('a note of the future compacts nothing', async t => {
  const directory = fresh();
  const begin = Date.UTC(2026, 0, 1);
  await run(directory, begin, 1000, async store => void (await update(store, '/a', 5)));

  t.is(await run(directory, begin - 86_400_000, intervalMs - 1000), 0);
});
