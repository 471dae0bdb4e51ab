import {rmSync} from 'node:fs';
import test from 'ava';
import {seededRandom} from '#src/base/random.js';
import {yieldToEventLoop} from '#src/base/turn.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {HotRanges, pageOf} from '#src/storage/embedded/hot-ranges.js';
import {openEmbeddedStore} from '#src/storage/embedded/index.js';
import {maxFilteredKeys} from '#src/storage/local/page.js';
import type {StoredRecord} from '#src/storage/store.js';
import {brief, Follower} from './follower.js';
import {modelSuite} from './suite-model.js';
import {readSuite} from './suite-reads.js';
import {storeSuite} from './suite.js';
import {bytes} from './store-environment.js';
import {fresh, open, root} from './embedded-stores.js';

test.after.always(() => rmSync(root, {recursive: true, force: true}));

storeSuite(test, {name: 'embedded', open: clock => openEmbeddedStore({directory: fresh(), naming: 'plat', clock})});

// Every range that is read twice is kept.
storeSuite(
  test,
  {
    name: 'embedded, ranges kept',
    open: clock => openEmbeddedStore({directory: fresh(), naming: 'plat', clock, hot: {minRecords: 1, minLimit: 1}}),
  },
  [readSuite, modelSuite],
);

test('a range that is too large to be kept is not gathered again and again', t => {
  const hot = new HotRanges(new VirtualClock(), {minRecords: 1, minLimit: 1, maxBytes: 1000, idleMs: 1000});
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

test('a range that was found empty has what is written in it, also when it was read while that was written', async t => {
  const store = await open(fresh());
  const read = async (prefix: string, end: string) => (await store.range({start: prefix, end, limit: 1})).records.map(({key}) => key);
  t.deepEqual(await read('/k/a/', '/k/a0'), []);
  t.deepEqual(await read('/k/', '/k0'), []);

  const writing = store.create('/k/a/one', bytes('x'));
  await yieldToEventLoop(); // The commit has begun.
  const during = await read('/k/a/', '/k/a0');
  const revision = await writing;

  t.true(during.length <= 1);
  t.deepEqual(await read('/k/a/', '/k/a0'), ['/k/a/one']);
  t.deepEqual(await read('/k/', '/k0'), ['/k/a/one']);
  await store.delete('/k/a/one', revision);
  t.deepEqual(await read('/k/', '/k0'), []);
  t.deepEqual((await store.range({start: '/k/', end: '/k0', revision})).records.length, 1, 'as it was');
  await store.create('/k/b', bytes('y'));
  t.deepEqual(await read('/k/', '/k0'), ['/k/b']);
  t.deepEqual(await read('/k/a/', '/k/a0'), []);
  const newest = await store.create('/k/c', bytes('z'));
  const near = () => store.range({start: '/k/a/', end: '/k/a0', near: true});
  t.deepEqual(await near(), {records: [], revision: newest, more: false});
  await store.create('/k/a/two', bytes('x'));
  t.is((await near()).records.length, 1);
  await store.close();
});

test('a retained range returns the changes since, and earlier reads stay as they were', async t => {
  const random = seededRandom(7);
  const clock = new VirtualClock();
  const directory = fresh();
  const store = await openEmbeddedStore({directory, naming: 'plat', clock, hot: {minRecords: 2, minLimit: 1}});
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
      const first = await store.range({...all, limit: 3});
      const last = first.records.at(-1)!.key;
      const rest = await store.range({...all, start: `${last}\0`, limit: 30, revision: first.revision});
      t.deepEqual([...first.records, ...rest.records], records, `pages in step ${step}`);
      t.is(await store.count(`${last}\0`, all.end), rest.records.length);
      t.deepEqual(
        records.map(({key: name, revision}) => `${name} ${revision}`),
        before,
      );
    }
  }
  await store.close();
  t.is(clock.pending, 0);
});

test('pages of a range that is kept are taken from it, unless they are small', async t => {
  const store = await openEmbeddedStore({directory: fresh(), naming: 'plat', clock: new VirtualClock(), hot: {minRecords: 2, minLimit: 2}});
  const all = {start: '/k/', end: '/k0'};
  for (const name of ['a', 'b', 'c', 'd']) await store.create(`/k/${name}`, bytes(name));
  await store.range(all);
  const {records, revision} = await store.range(all);
  await store.create('/other', bytes('x'));
  const isKept = async (start: string, limit: number, at?: number) => {
    const page = await store.range({...all, start, limit, ...(at === undefined ? {} : {revision: at})});
    return page.records.every(record => records.includes(record));
  };

  t.true(await isKept(all.start, 2));
  t.true(await isKept('/k/b\0', 3));
  t.false(await isKept(all.start, 1));
  t.true((await store.range({...all, limit: 3})).more);
  t.false((await store.range({...all, limit: 4})).more);
  t.false((await store.range({...all, start: '/k/b\0', limit: 2})).more);
  t.true(await isKept(all.start, 3, revision + 1));
  await store.close();
});

test('a filter is applied to the records of a range that is kept, and what it selects is remembered', async t => {
  const store = await openEmbeddedStore({directory: fresh(), naming: 'plat', clock: new VirtualClock(), hot: {minRecords: 2, minLimit: 1}});
  const all = {start: '/k/', end: '/k0'};
  const count = maxFilteredKeys + 3;
  await Promise.all(Array.from({length: count}, (_, index) => store.create(`/k/${index}`, bytes(String(index)))));
  await store.range(all);
  const {records, revision} = await store.range(all);
  await store.create('/other', bytes('x'));
  let examined = 0;
  const passes = ({value}: StoredRecord): boolean => {
    examined++;
    return ['7', '2001'].includes(value.toString());
  };
  const filter = {id: 'two', known: () => undefined, passes, parses: false};
  const selected = async () => {
    const first = await store.range({...all, filter});
    if (!first.more) return first.records;
    const rest = await store.range({...all, filter, start: `${first.reached}\0`, revision: first.revision});
    t.false(rest.more);
    return [...first.records, ...rest.records];
  };

  const found = await selected();
  t.deepEqual(
    found.map(({key}) => key),
    ['/k/2001', '/k/7'],
  );
  t.true(found.every(record => records.includes(record)));
  t.is(examined, count);
  t.deepEqual(await selected(), found);
  t.is(examined, count + 2, 'of a selection that is remembered only its own records are examined');
  t.is((await store.range({...all, filter, revision})).records.length, 2);
  await store.close();
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
  const hot = new HotRanges(clock, {minRecords: 2, minLimit: 1, maxBytes: 500, idleMs: 1000});
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
  const hot = new HotRanges(new VirtualClock(), {minRecords: 2, minLimit: 1, maxBytes: 500, idleMs: 1000});
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
  const hot = new HotRanges(clock, {minRecords: 1, minLimit: 1, maxBytes: 500, idleMs: 1000});
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

test('a key that is created anew has its history of before, in a collection where nothing was deleted until then', async t => {
  const directory = fresh();
  let store = await open(directory);
  const at = async (revision: number) => (await store.range({start: '/c/', end: '/c0', revision})).records.map(({value}) => String(value));
  const create = (text: string) => store.create('/c/a', Buffer.from(text));
  await store.create('/b/a', Buffer.from('0'));
  const first = await create('1');
  const gone = await store.delete('/c/a', first);
  const second = await create('2');
  t.deepEqual([await at(first), await at(gone), await at(second)], [['1'], [], ['2']]);

  const goneAgain = await store.delete('/c/a', second);
  await store.close();
  store = await open(directory);
  const third = await create('3');
  t.deepEqual([await at(first), await at(second), await at(goneAgain), await at(third)], [['1'], ['2'], [], ['3']]);
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
  for (let i = 0; i < 2; i++) await rewrite();

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

test('many keys are counted in pieces, as they were when the count began', async t => {
  const store = await open(fresh());
  const count = 20_050;
  const names = Array.from({length: count}, (_, i) => `/${String(i).padStart(6, '0')}`);
  const revisions = await Promise.all(names.map(name => store.create(name, bytes('x'))));
  const revision = await store.revision();
  const counting = store.count('/', '0');
  t.true(counting instanceof Promise);
  await Promise.all([0, 1, count - 1].map(i => store.delete(names[i]!, revisions[i]!)));
  await store.create('/0', bytes('x'));

  t.is(await counting, count);
  t.is(await store.count('/', '0'), count - 2);
  t.is(await store.count('/', '0', revision), count);
  t.is(await store.count('/000010', '0', revision), count - 10);
  await store.close();
});
