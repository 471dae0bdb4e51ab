import {LeaseNotFound, StoreClosed} from '#src/storage/errors.js';
import {brief, Follower} from './follower.js';
import {bytes, type StoreTest} from './store-environment.js';

export const lifeSuite = (test: StoreTest): void => {
  test.alone('records under a lease are deleted when it runs out, as ordinary changes', async (t, {store, clock}) => {
    using follower = new Follower(store, {after: 1});
    const lease = await store.lease(60);
    await store.create('/a', bytes('1'), {lease});
    await store.create('/b', bytes('1'), {lease});
    await store.create('/c', bytes('1'));

    await clock.advance(59_999);
    t.is(await store.count('/', '0'), 3);
    await clock.advance(1);
    await follower.until(({received}) => received.length === 5);

    t.deepEqual(follower.received.slice(3).map(brief).sort(), ['-/a 5', '-/b 6']);
    t.deepEqual(
      (await store.range({start: '/', end: '0'})).records.map(({key}) => key),
      ['/c'],
    );
  });

  test.alone('a record written anew without the lease or under another outlives it', async (t, {store, clock}) => {
    const short = await store.lease(10);
    const long = await store.lease(100);
    for (const key of ['/free', '/longer', '/again']) await store.create(key, bytes('1'), {lease: short});
    await store.update('/free', bytes('2'), 2);
    await store.update('/longer', bytes('2'), 3, {lease: long});
    await store.delete('/again', 4);
    await store.create('/again', bytes('2'));

    await clock.advance(10_000);
    t.deepEqual(
      (await store.range({start: '/', end: '0'})).records.map(({key}) => key),
      ['/again', '/free', '/longer'],
    );
    await clock.advance(90_000);

    t.deepEqual(
      (await store.range({start: '/', end: '0'})).records.map(({key}) => key),
      ['/again', '/free'],
    );
  });

  test.alone('a lease that holds thousands of records empties', async (t, {store, clock}) => {
    const lease = await store.lease(1);
    await Promise.all(Array.from({length: 1200}, (_, i) => store.create(`/${i}`, bytes('x'), {lease})));

    await clock.advance(1000);
    await clock.drain();

    t.is(await store.count('/', '0'), 0);
  });

  test.alone('writing under a lease that ran out or never was is refused', async (t, {store, clock}) => {
    const lease = await store.lease(1);
    await clock.advance(1000);

    await t.throwsAsync(store.create('/a', bytes('1'), {lease}), {instanceOf: LeaseNotFound});
    await t.throwsAsync(store.create('/a', bytes('1'), {lease: 4711}), {instanceOf: LeaseNotFound});
    t.is(await store.create('/a', bytes('1')), 2);
  });

  test('closing waits for pending writes, ends watches and refuses all else', async (t, {store}) => {
    const follower = new Follower(store, {after: 1});
    const pending = store.create('/a', bytes('1'));

    const closing = store.close();

    await t.throwsAsync(store.create('/b', bytes('1')), {instanceOf: StoreClosed});
    t.is(await pending, 2);
    await closing;
    await store.close();
    t.deepEqual(follower.received.map(brief), ['+/a 2']);
    t.deepEqual(follower.endings, [undefined]);
    const calls = [
      () => store.get('/a'),
      () => store.range({start: '/', end: '0'}),
      () => store.count('/', '0'),
      () => store.revision(),
      () => store.compacted(),
      () => store.size(),
      () => store.lease(1),
      () => store.update('/a', bytes('2'), 2),
      () => store.delete('/a', 2),
      () => store.compact(1),
      () => store.watch({start: '/', end: '0', after: 1}, follower),
    ];
    for (const call of calls) await t.throwsAsync(async () => call(), {instanceOf: StoreClosed});
  });

  test('a closed store leaves no timer behind', async (t, {store, clock}) => {
    using _ = new Follower(store, {after: 1});
    const lease = await store.lease(60);
    await store.create('/a', bytes('1'), {lease});

    await store.close();

    t.is(clock.pending, 0);
  });

  test.alone('the size grows with the stored data', async (t, {store}) => {
    const before = await store.size();

    for (let i = 0; i < 4; i++) await store.create(`/${i}`, Buffer.alloc(1 << 20));

    t.true((await store.size()) >= before + (4 << 20));
  });
};
