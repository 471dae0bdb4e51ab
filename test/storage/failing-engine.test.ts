import test from 'ava';
import {VirtualClock} from '#src/base/virtual-clock.js';
import type {Commit, KeyCount} from '#src/storage/local/engine.js';
import {LocalStore} from '#src/storage/local/store.js';
import {MemoryEngine} from '#src/storage/memory/engine.js';
import {brief, Follower} from './follower.js';
import {bytes} from './store-environment.js';

/** An engine that is full while `full` is set. */
class FillingEngine extends MemoryEngine {
  full = false;

  override async commit(commit: Commit): Promise<void> {
    await new Promise(resolve => setImmediate(resolve));
    if (this.full) throw new Error('no space left');
    await super.commit(commit);
  }
}

test('a failing commit changes nothing and fails the writes queued behind it', async t => {
  const engine = new FillingEngine();
  const store = new LocalStore(engine, new VirtualClock());
  const revision = await store.create('/a', bytes('1'));
  using follower = new Follower(store, {after: 1});
  engine.full = true;

  const first = [store.delete('/a', revision), store.create('/b', bytes('1'))];
  await new Promise(resolve => setImmediate(resolve));
  const queued = store.create('/a', bytes('2'));
  const outcomes = await Promise.allSettled([...first, queued]);
  engine.full = false;

  t.deepEqual(
    outcomes.map(({status}) => status),
    ['rejected', 'rejected', 'rejected'],
  );
  t.is(store.revision(), revision);
  t.is(store.get('/a')?.value.toString(), '1');
  t.is(await store.update('/a', bytes('3'), revision), revision + 1);
  t.is(await store.create('/b', bytes('1')), revision + 2);
  await follower.until(({received}) => received.length === 3);
  t.deepEqual(follower.received.map(brief), ['+/a 2', '~/a 3', '+/b 4']);
  await store.close();
});

test('deletions of a lease that ran out are tried again once they can be written', async t => {
  const engine = new FillingEngine();
  const clock = new VirtualClock();
  const store = new LocalStore(engine, clock);
  await store.create('/a', bytes('1'), {lease: store.lease(5)});
  engine.full = true;
  await clock.advance(6000);
  t.is(store.count('/', '0'), 1);
  engine.full = false;

  await clock.advance(10_000);

  t.is(store.count('/', '0'), 0);
  await store.close();
});

/** An engine that counts in pieces, and notes how many keys it looked at for each. */
class PagingEngine extends MemoryEngine {
  readonly looked: number[] = [];

  override count(start: string, end: string, most = Infinity): KeyCount {
    const {records} = this.range(start, end, {limit: most + 1, bytes: Infinity});
    const next = records[most]?.key;
    this.looked.push(Math.min(records.length, most));
    return {count: Math.min(records.length, most), ...(next === undefined ? {} : {next})};
  }
}

test('many keys are counted a few thousand at a time, each once', async t => {
  const engine = new PagingEngine();
  const store = new LocalStore(engine, new VirtualClock());
  await Promise.all(Array.from({length: 12_000}, (_, index) => store.create(`/${String(index).padStart(5, '0')}`, bytes('x'))));

  t.is(await store.count('/', '0'), 12_000);

  t.deepEqual(engine.looked, [5000, 5000, 2000]);
  await store.close();
});
