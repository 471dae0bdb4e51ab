import {mkdirSync, readdirSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {systemRandom} from '#src/base/random.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {openEmbeddedStore} from '#src/storage/embedded/index.js';
import {StoreUnusable} from '#src/storage/errors.js';
import {openStore} from '#src/storage/backend/open.js';
import type {Store, StoredRecord} from '#src/storage/store.js';
import {Follower} from './follower.js';
import {StoreProcess} from './processes.js';
import {bytes} from './store-environment.js';
import {fresh, open, root} from './embedded-stores.js';

test.after.always(() => rmSync(root, {recursive: true, force: true}));

test('the directory and its files are for the owner alone', async t => {
  const directory = fresh();
  const store = await open(directory);

  t.is(statSync(directory).mode & 0o777, 0o700);
  for (const file of readdirSync(directory)) t.is(statSync(join(directory, file)).mode & 0o777, 0o600, file);
  await store.close();
});

test('a store written with another naming is refused with a message and left alone', async t => {
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

  t.regex(error!.message, /^--data-dir: \S+data\.mdb is damaged: meta page 0 has no mark of one: .+$/);
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

test('backends are chosen by the value of the flag, and those not built are refused with a message', async t => {
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
  for (let round = 0; round < 6; round++) {
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
  t.log(`${total} acknowledged writes in 6 rounds`);
});

/** Whether history knows of no change of the key after `revision`. */
const unchangedSince = async (store: Store, key: string, revision: number): Promise<boolean> => {
  using follower = new Follower(store, {prefix: key, after: Math.max(revision, await store.compacted())});
  await follower.until(({progressed}) => progressed.length > 0);
  return follower.received.every(change => change.key !== key);
};
