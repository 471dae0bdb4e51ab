import {mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {seededRandom, systemRandom} from '#src/base/random.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {HotRanges, pageOf} from '#src/storage/embedded/hot-ranges.js';
import {openEmbeddedStore} from '#src/storage/embedded/index.js';
import {StoreUnusable} from '#src/storage/errors.js';
import {openStore} from '#src/storage/backend/open.js';
import type {Store, StoredRecord} from '#src/storage/store.js';
import {brief, Follower} from './follower.js';
import {StoreProcess} from './processes.js';
import {modelSuite} from './suite-model.js';
import {readSuite} from './suite-reads.js';
import {storeSuite} from './suite.js';
import {bytes} from './store-environment.js';

const root = mkdtempSync(join(tmpdir(), 'plat-store-'));
let made = 0;
const fresh = (): string => join(root, String(made++), 'store');
const open = (directory: string, clock = new VirtualClock()): Promise<Store> => openEmbeddedStore({directory, naming: 'plat', clock});
test.after.always(() => rmSync(root, {recursive: true, force: true}));

storeSuite(test, {name: 'embedded', open: clock => openEmbeddedStore({directory: fresh(), naming: 'plat', clock})});

// Every range that is read twice is kept.
storeSuite(
  test,
  {name: 'embedded, ranges kept', open: clock => openEmbeddedStore({directory: fresh(), naming: 'plat', clock, hot: {minRecords: 1}})},
  [readSuite, modelSuite],
);

test('a range that is too large to be kept is not gathered again and again', t => {
  const hot = new HotRanges(new VirtualClock(), {minRecords: 1, maxBytes: 1000, idleMs: 1000});
  const read = (): number => {
    let most = 0;
    for (let i = 0; i < 5; i++) {
      hot.recordRead(i === 0 ? '/a' : `/a${i - 1}\0`, '/b', 1, {
        records: [{key: `/a${i}`, value: Buffer.alloc(300), revision: 1, created: 1}],
        more: i < 4,
      });
      most = Math.max(most, hot.gatheredBytes);
    }
    return most;
  };

  t.deepEqual([read(), read(), read(), read()], [0, 900, 0, 0]);
  hot.close();
});

test('a retained range returns the changes since, and earlier reads stay as they were', async t => {
  const random = seededRandom(7);
  const clock = new VirtualClock();
  const directory = fresh();
  const store = await openEmbeddedStore({directory, naming: 'plat', clock, hot: {minRecords: 2}});
  const state = new Map<string, {value: string; revision: number}>();
  const all = {start: '/k/', end: '/k0'};
  const read = async () => (await store.range(all)).records.map(({key, value, revision}) => `${key} ${value.toString()} ${revision}`);
  const wanted = () => [...state].sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, {value, revision}]) => `${key} ${value} ${revision}`);
  for (let step = 0; step < 300; step++) {
    const key = `/k/${Math.floor(random.float() * 20)}`;
    const known = state.get(key);
    const value = String(step);
    if (!known) state.set(key, {value, revision: await store.create(key, bytes(value))});
    else if (random.float() < 0.6) state.set(key, {value, revision: await store.update(key, bytes(value), known.revision)});
    else {
      await store.delete(key, known.revision);
      state.delete(key);
    }
    if (step % 5 === 0) await store.create(`/other/${step}`, bytes('x'));
    if (step % 97 === 0) await store.compact(await store.revision());
    if (step % 31 === 0) await clock.advance(61_000);
    if (step % 3 === 0) {
      const {records} = await store.range(all);
      const before = records.map(({key: name, revision}) => `${name} ${revision}`);
      t.deepEqual(await read(), wanted(), `step ${step}`);
      t.deepEqual(
        records.map(({key: name, revision}) => `${name} ${revision}`),
        before,
      );
    }
  }
  await store.close();
  t.is(clock.pending, 0);
});

test('a range read during a commit has the revision of its content', async t => {
  const store = await open(fresh());
  const written: Promise<number>[] = [];
  let seen = 0;
  let under = 0;
  for (let at = 0; at < 400; at++) {
    if (at < 200) written.push(store.create(`/k/${at}`, bytes('x')));
    await new Promise(resolve => setImmediate(resolve));
    const {records, revision} = await store.range({start: '/k/', end: '/k0'});
    const newest = Math.max(1, ...records.map(record => record.revision));
    t.is(revision, newest);
    t.true(newest >= seen);
    if (records.length < written.length) under++;
    seen = newest;
  }
  await Promise.all(written);

  t.true(under > 0);
  t.is(await store.revision(), (await store.range({start: '/k/', end: '/k0'})).revision);
  await store.close();
});

test('a range is kept at its second reading, for as long as it is read, and within the bounds of memory', t => {
  const clock = new VirtualClock();
  const record = (key: string): StoredRecord => ({key, value: Buffer.alloc(100), revision: 1, created: 1});
  const hot = new HotRanges(clock, {minRecords: 2, maxBytes: 500, idleMs: 1000});
  const two = [record('/a'), record('/b')];
  const reading = (start: string, records = two) => {
    const found = hot.find(start, 'z') !== undefined;
    if (!found) hot.recordRead(start, 'z', 1, {records, more: false});
    return found;
  };

  t.deepEqual([reading('a'), reading('a'), reading('a')], [false, false, true]);
  t.deepEqual(
    [reading('small', [record('/a')]), reading('small', [record('/a')]), reading('small', [record('/a')])],
    [false, false, false],
  );
  t.deepEqual([reading('b'), reading('b'), reading('b')], [false, false, true]);
  t.deepEqual([reading('c'), reading('c'), reading('c')], [false, false, true]); // 600 bytes: the one read longest ago goes.
  t.deepEqual([reading('a'), reading('b')], [false, true]);
  hot.close();
  t.is(clock.pending, 0);
});

test('a range that is read in pages is kept as if it were read at once', t => {
  const hot = new HotRanges(new VirtualClock(), {minRecords: 2, maxBytes: 500, idleMs: 1000});
  const record = (key: string): StoredRecord => ({key, value: Buffer.alloc(100), revision: 1, created: 1});
  const reading = (at: number) => {
    hot.recordRead('/', '0', at, {records: [record('/a'), record('/b')], more: true});
    hot.recordRead('/b\0', '0', at, {records: [record('/c')], more: true});
    const between = hot.find('/', '0');
    hot.recordRead('/c\0', '0', at, {records: [record('/d')], more: false});
    return between;
  };

  reading(1);
  t.is(hot.find('/', '0'), undefined);
  t.is(reading(2), undefined);
  t.like(hot.find('/', '0'), {at: 2, bytes: 400});
  t.like(pageOf(hot.find('/b\0', '0')!, '/b\0', {limit: Infinity, bytes: 100}), {records: [{key: '/c'}], more: true});
  hot.close();
});

test('a range that is not read is evicted', async t => {
  const clock = new VirtualClock();
  const hot = new HotRanges(clock, {minRecords: 1, maxBytes: 500, idleMs: 1000});
  const records = [{key: '/a', value: Buffer.alloc(1), revision: 1, created: 1}];
  for (let i = 0; i < 2; i++) hot.recordRead('/a', '/b', 1, {records, more: false});
  await clock.advance(900);
  t.truthy(hot.find('/a', '/b'));
  await clock.advance(999);
  t.truthy(hot.find('/a', '/b'));
  await clock.advance(1000);

  t.is(hot.find('/a', '/b'), undefined);
  t.is(clock.pending, 0);
});

test('a store opened again holds its records, its history and its revision', async t => {
  const directory = fresh();
  const first = await open(directory);
  const created = await first.create('/a', bytes('1'));
  await first.update('/a', bytes('2'), created);
  await first.delete('/b', await first.create('/b', bytes('1')));
  await first.close();

  const store = await open(directory);

  t.is(await store.revision(), 5);
  t.is((await store.get('/a'))?.value.toString(), '2');
  t.is((await store.range({start: '/', end: '0', revision: 4})).records.length, 2);
  using follower = new Follower(store, {after: 1});
  await follower.until(({received}) => received.length === 4);
  t.deepEqual(follower.received.map(brief), ['+/a 2', '~/a 3', '+/b 4', '-/b 5']);
  t.is(await store.create('/b', bytes('2')), 6);
  await store.close();
});

test('compaction is remembered, and the revision with it when all history is gone', async t => {
  const directory = fresh();
  const first = await open(directory);
  const revision = await first.delete('/a', await first.create('/a', bytes('1')));
  await first.compact(revision);
  await first.close();

  const store = await open(directory);

  t.is(await store.compacted(), revision);
  t.is(await store.revision(), revision);
  t.is(await store.create('/a', bytes('1')), revision + 1);
  await store.close();
});

test('compaction gives the room back to later writes', async t => {
  const store = await open(fresh());
  let revision = await store.create('/a', Buffer.alloc(100_000));
  const rewrite = async (): Promise<number> => {
    for (let i = 0; i < 100; i++) revision = await store.update('/a', Buffer.alloc(100_000), revision);
    await store.compact(revision);
    return store.size();
  };

  await rewrite();
  const early = await rewrite();
  for (let i = 0; i < 5; i++) await rewrite();

  t.true((await store.size()) < early * 1.5);
  await store.close();
});

test('a lease runs out at its time though the store was closed and opened meanwhile', async t => {
  const directory = fresh();
  const clock = new VirtualClock();
  const first = await open(directory, clock);
  await first.create('/soon', bytes('1'), {lease: await first.lease(10)});
  await first.create('/late', bytes('1'), {lease: await first.lease(100)});
  await first.close();
  await clock.advance(20_000);

  const store = await open(directory, clock);
  await clock.advance(1);
  t.deepEqual(
    (await store.range({start: '/', end: '0'})).records.map(({key}) => key),
    ['/late'],
  );
  const fourth = await store.lease(5);
  await store.create('/next', bytes('1'), {lease: fourth});
  await clock.advance(80_000);

  t.is(await store.count('/', '0'), 0);
  await store.close();
});

test('the directory and its files are for the owner alone', async t => {
  const directory = fresh();
  const store = await open(directory);

  t.is(statSync(directory).mode & 0o777, 0o700);
  for (const file of readdirSync(directory)) t.is(statSync(join(directory, file)).mode & 0o777, 0o600, file);
  await store.close();
});

test('a store written with another naming is refused in words and left alone', async t => {
  const directory = fresh();
  await (await open(directory)).close();

  const error = await t.throwsAsync(openEmbeddedStore({directory, naming: 'kubernetes'}), {instanceOf: StoreUnusable});

  t.is(
    error?.message,
    `the store in ${directory} was written with --naming=plat, not kubernetes: give --naming=plat with this --data-dir, or another --data-dir`,
  );
  await (await open(directory)).close();
});

test('a directory that cannot be one is refused in one line that names it', async t => {
  const file = join(root, 'file');
  writeFileSync(file, '');

  for (const directory of [file, join(file, 'store'), '/proc/plat-store']) {
    const error = await t.throwsAsync(open(directory), {instanceOf: StoreUnusable});
    t.regex(error!.message, new RegExp(`^--data-dir: cannot keep a store in ${directory}: .+$`));
  }
});

test('a directory that holds something else under the name of the store is refused in one line', async t => {
  const directory = fresh();
  mkdirSync(directory, {recursive: true});
  writeFileSync(join(directory, 'data.mdb'), 'x'.repeat(10_000));

  const error = await t.throwsAsync(open(directory), {instanceOf: StoreUnusable});

  t.is(error?.message, `--data-dir: cannot keep a store in ${directory}: its data.mdb is not a store`);
});

test('a store is open once, within a process and among processes', async t => {
  const directory = fresh();
  const store = await open(directory);
  const other = new StoreProcess('open', directory);
  await other.end();

  t.deepEqual(other.lines, [`the store in ${directory} is in use by process ${process.pid}: stop that one, or give another --data-dir`]);
  await t.throwsAsync(open(directory), {message: `the store in ${directory} is already open in this process`});
  await store.create('/a', bytes('1'));
  await store.close();
  const next = new StoreProcess('open', directory);
  await next.end();
  t.deepEqual(next.lines, ['open']);
});

test('a store is free as soon as the process that had it open was killed', async t => {
  const directory = fresh();
  const holder = new StoreProcess('hold', directory);
  t.teardown(() => holder.kill());
  await holder.output(1);
  await t.throwsAsync(open(directory), {instanceOf: StoreUnusable, message: /in use by process \d+: stop that one/});

  await holder.kill();

  await (await open(directory)).close();
});

test('of processes that start at once on one directory one gets it', async t => {
  const directory = fresh();
  await (await open(directory)).close();

  const starters = Array.from({length: 4}, () => new StoreProcess('hold', directory));
  t.teardown(() => Promise.all(starters.map(starter => starter.kill())));
  for (const starter of starters) await starter.output(1);

  t.is(starters.filter(({lines}) => lines[0] === 'open').length, 1, JSON.stringify(starters.map(({lines}) => lines)));
  for (const starter of starters) await starter.kill();
});

test('backends are chosen by the value of the flag, and those not built are refused in words', async t => {
  const options = {directory: fresh(), naming: 'plat', clock: new VirtualClock()};
  for (const backend of ['embedded', 'memory']) {
    const store = await openStore({backend, ...options});
    t.is(await store.create('/a', bytes('1')), 2);
    await store.close();
  }

  await t.throwsAsync(openStore({backend: 'etcd3', ...options}), {
    instanceOf: StoreUnusable,
    message: /^--storage-backend=etcd3 requires --kvstore-servers/,
  });
  await t.throwsAsync(openStore({backend: 'paper', ...options}), {instanceOf: StoreUnusable, message: /^--storage-backend=paper /});
});

type State = Map<string, StoredRecord>;

const summary = (state: State): string[] =>
  [...state.values()]
    .map(({key, value, revision, created}) => `${key} ${revision} ${created} ${value.length} ${value.toString('utf8', 0, 36)}`)
    .sort();

/** The state that history leads to from where it begins. */
const replayed = async (store: Store): Promise<State> => {
  const after = Math.max(1, await store.compacted());
  const newest = await store.revision();
  const {records} = await store.range({start: '/', end: '0', revision: after});
  const state: State = new Map(records.map(record => [record.key, record]));
  using follower = new Follower(store, {after});
  await follower.until(({progressed}) => progressed.length > 0);
  follower.received.forEach(({key, revision, record, previous}, index) => {
    if (revision !== after + 1 + index) throw new Error(`history goes from ${after + index} to ${revision}`);
    if (previous?.revision !== state.get(key)?.revision) throw new Error(`revision ${revision} does not follow on what was before`);
    if (record) state.set(key, record);
    else state.delete(key);
  });
  if (after + follower.received.length !== newest) throw new Error(`history ends before ${newest}`);
  return state;
};

test('killed at any moment under load, a store has every acknowledged write and an unbroken history', async t => {
  const directory = fresh();
  const acknowledged = new Map<string, {revision: number; value: string}>();
  let highest = 1;
  let total = 0;
  for (let round = 0; round < 15; round++) {
    const child = new StoreProcess('write', directory);
    await child.output(200 + Math.floor(systemRandom.float() * 1500));
    await child.kill();
    t.is(child.lines.shift(), 'open');
    total += child.lines.length;
    for (const line of child.lines) {
      const [key = '', revision, value = ''] = line.split(' ');
      acknowledged.set(key, {revision: Number(revision), value});
      highest = Math.max(highest, Number(revision));
    }

    const store = await open(directory);
    const newest = await store.revision();
    t.true(newest >= highest, `revision ${newest} after ${highest} was acknowledged`);
    const now = new Map((await store.range({start: '/', end: '0'})).records.map(record => [record.key, record]));
    t.deepEqual(summary(await replayed(store)), summary(now));
    for (const [key, {revision, value}] of acknowledged) {
      const record = now.get(key);
      // One more write of the key may have become durable without having been acknowledged.
      if (record && record.revision > revision) continue;
      if (value === '-') t.is(record, undefined);
      else if (record) t.is(record.value.toString('utf8', 0, 36), value);
      else t.false(await unchangedSince(store, key, revision), `${key} of revision ${revision} is lost`);
    }
    highest = newest;
    await store.close();
    // Writes that were not acknowledged count from now on.
    for (const [key] of acknowledged) if (!now.has(key)) acknowledged.set(key, {revision: newest, value: '-'});
  }
  t.log(`${total} acknowledged writes in 15 rounds`);
});

/** Whether history knows of no change of the key after `revision`. */
const unchangedSince = async (store: Store, key: string, revision: number): Promise<boolean> => {
  using follower = new Follower(store, {prefix: key, after: Math.max(revision, await store.compacted())});
  await follower.until(({progressed}) => progressed.length > 0);
  return follower.received.every(change => change.key !== key);
};
