import {Compacted} from '#src/storage/errors.js';
import type {Store} from '#src/storage/store.js';
import {brief, Follower} from './follower.js';
import {bytes, type StoreTest} from './store-environment.js';

const fill = async (store: Store, from: number, count: number): Promise<void> => {
  await Promise.all(Array.from({length: count}, (_, i) => store.create(`/k${from + i}`, bytes(String(i)))));
};

export const watchSuite = (test: StoreTest): void => {
  test('a watch delivers every change with the previous record', async (t, {store}) => {
    using follower = new Follower(store, {after: 1});

    const created = await store.create('/a', bytes('1'));
    const updated = await store.update('/a', bytes('2'), created);
    await store.delete('/a', updated);

    await follower.until(({received}) => received.length === 3);
    t.deepEqual(follower.received.map(brief), ['+/a 2', '~/a 3', '-/a 4']);
    t.deepEqual(
      follower.received.map(({record}) => record?.value.toString()),
      ['1', '2', undefined],
    );
    t.deepEqual(
      follower.received.map(({previous}) => previous?.value.toString()),
      [undefined, '1', '2'],
    );
    t.deepEqual(
      follower.received.map(({record}) => record?.created),
      [2, 2, undefined],
    );
  });

  test('a watch from an earlier revision delivers history first, then new changes, each once and in order', async (t, {store}) => {
    await fill(store, 0, 700);
    const first = await store.create('/k700', bytes('first'));
    await fill(store, 701, 1799);
    await store.update('/k700', bytes('again'), first);
    using follower = new Follower(store, {after: 100});

    await fill(store, 2500, 300);
    await follower.until(({received}) => received.at(-1)?.revision === 2802);

    t.deepEqual(
      follower.received.map(({revision}) => revision),
      Array.from({length: 2702}, (_, i) => 101 + i),
    );
    t.deepEqual(
      follower.received.filter(({key}) => key === '/k700').map(({record}) => record?.value.toString()),
      ['first', 'again'],
    );
  });

  test('watches that begin at any moment under load miss no event and receive none twice', async (t, {store}) => {
    const followers: Follower[] = [];
    const all: Promise<void>[] = [];
    for (let round = 0; round < 20; round++) {
      const writes = fill(store, round * 50, 50);
      all.push(writes);
      followers.push(new Follower(store, {after: 1}), new Follower(store, {after: await store.revision()}));
      if (round % 3 === 0) await writes;
    }
    await Promise.all(all);
    // The last read may have begun after all of them, and gets this one only.
    await store.create('/last', bytes('x'));

    for (const follower of followers) await follower.until(({received}) => received.at(-1)?.revision === 1002);
    for (const {received} of followers)
      t.deepEqual(
        received.map(({revision}) => revision),
        Array.from({length: received.length}, (_, i) => 1003 - received.length + i),
      );
    t.true(followers.every((follower, i) => i % 2 === 1 || follower.received.length === 1001));
  });

  test('a watch delivers only its range', async (t, {store}) => {
    using deep = new Follower(store, {prefix: '/a/b/', after: 1});
    using loose = new Follower(store, {prefix: '/a/b', after: 1});
    using one = new Follower(store, {prefix: '/a/', after: 1});

    for (const key of ['/a', '/a/b', '/a/b/c', '/a/bc', '/ab']) await store.create(key, bytes('x'));

    t.deepEqual(
      deep.received.map(({key}) => key),
      ['/a/b/c'],
    );
    t.deepEqual(
      loose.received.map(({key}) => key),
      ['/a/b', '/a/b/c', '/a/bc'],
    );
    t.deepEqual(
      one.received.map(({key}) => key),
      ['/a/b', '/a/b/c', '/a/bc'],
    );
  });

  test('a watch of one key delivers that key alone', async (t, {store}) => {
    const received: string[] = [];
    using _ = store.watch(
      {start: '/a', end: '/a\0', after: 1},
      {changes: batch => received.push(...batch.map(({key}) => key)), ended() {}},
    );

    for (const key of ['/a', '/a/b', '/aa']) await store.create(key, bytes('x'));

    t.deepEqual(received, ['/a']);
  });

  test('a change is delivered only once it can be read', async (t, {store}) => {
    const read: unknown[] = [];
    using _ = store.watch(
      {start: '/', end: '0', after: 1},
      {changes: batch => read.push(...batch.map(({key, revision}) => [revision, store.get(key)])), ended() {}},
    );

    await store.create('/a', bytes('1'));
    await store.create('/b', bytes('1'));

    t.deepEqual(await Promise.all(read.map(async entry => (await (entry as [number, Promise<{revision: number}>])[1]).revision)), [2, 3]);
  });

  test.alone('writes that share a commit are delivered in one batch', async (t, {store}) => {
    using follower = new Follower(store, {after: 1});

    await fill(store, 0, 100);

    t.true(follower.batches.length <= 2, `received in ${follower.batches.length} batches`);
  });

  test('a disposed watch receives nothing more, also when disposed during a delivery', async (t, {store}) => {
    using other = new Follower(store, {after: 1});
    let calls = 0;
    const handle = store.watch(
      {start: '/', end: '0', after: 1},
      {
        changes() {
          calls++;
          handle[Symbol.dispose]();
        },
        ended: () => t.fail(),
      },
    );

    await store.create('/a', bytes('1'));
    await store.create('/b', bytes('1'));

    t.is(calls, 1);
    t.is(other.received.length, 2);
  });

  test('a watcher that throws is ended with its error and harms no others', async (t, {store}) => {
    const endings: unknown[] = [];
    const fault = new Error('the watcher broke');
    const broken = {
      changes() {
        throw fault;
      },
      ended(error?: Error) {
        endings.push(error);
        throw new Error('and again');
      },
    };
    store.watch({start: '/', end: '0', after: 1}, broken);
    using healthy = new Follower(store, {after: 1});
    await store.create('/a', bytes('1'));
    store.watch({start: '/', end: '0', after: 1}, broken);
    using late = new Follower(store, {after: 1});

    await store.create('/b', bytes('1'));
    await late.until(({received}) => received.length === 2);

    t.deepEqual(endings, [fault, fault]);
    t.is(healthy.received.length, 2);
  });

  test('a watcher may write and watch during a delivery', async (t, {store}) => {
    const inner: Follower[] = [];
    using _ = store.watch(
      {start: '/a', end: '/b', after: 1},
      {
        changes() {
          inner.push(new Follower(store, {after: 1}));
          void store.create('/made', bytes('x'));
        },
        ended() {},
      },
    );

    await store.create('/a', bytes('1'));

    await inner[0]!.until(({received}) => received.length === 2);
    t.deepEqual(inner[0]!.received.map(brief), ['+/a 2', '+/made 3']);
  });

  test('a watch from compacted history ends saying so', async (t, {store}) => {
    await fill(store, 0, 10);
    await store.compact(6);

    using late = new Follower(store, {after: 5});
    using timely = new Follower(store, {after: 6});
    await timely.until(({received}) => received.length === 5);

    t.deepEqual(late.received, []);
    t.true(late.endings[0] instanceof Compacted);
    t.is((late.endings[0] as Compacted).compacted, 6);
    t.deepEqual(timely.endings, []);
  });

  test('compaction under watches neither disturbs live ones nor lets late ones miss a change in silence', async (t, {store}) => {
    using live = new Follower(store, {after: 1});
    await fill(store, 0, 5000);
    const late = Array.from({length: 5}, (_, i) => new Follower(store, {after: 1 + i * 500}));
    const compaction = store.compact(4000);

    await fill(store, 5000, 100);
    await compaction;
    for (const follower of late) await follower.until(({received, endings}) => endings.length > 0 || received.at(-1)?.revision === 5101);

    t.is(live.received.length, 5100);
    late.forEach(({received, endings}, i) => {
      t.deepEqual(
        received.map(({revision}) => revision),
        Array.from({length: received.length}, (_, j) => 2 + i * 500 + j),
      );
      t.true(received.at(-1)?.revision === 5101 || endings[0] instanceof Compacted);
    });
  });

  test('progress follows the history, and later changes of others', async (t, {store, clock}) => {
    await fill(store, 0, 10);
    using follower = new Follower(store, {prefix: '/other/', after: 3});
    await follower.until(({progressed}) => progressed.length > 0);
    t.deepEqual(follower.progressed, [11]);

    await fill(store, 10, 5);
    await clock.advance(1000);
    await clock.advance(1000);

    t.deepEqual(follower.progressed, [11, 16]);
  });

  test('a watch from a revision not reached yet begins after it', async (t, {store}) => {
    using follower = new Follower(store, {after: 4});

    for (const key of ['/a', '/b', '/c', '/d']) await store.create(key, bytes('x'));

    t.deepEqual(follower.received.map(brief), ['+/d 5']);
  });

  test('a thousand watchers of one range each receive every event', async (t, {store}) => {
    const followers = Array.from({length: 1000}, () => new Follower(store, {prefix: '/k', after: 1}));

    await fill(store, 0, 20);
    await followers.at(-1)!.until(({received}) => received.length === 20);

    t.true(followers.every(({received}) => received.length === 20));
    for (const follower of followers) follower[Symbol.dispose]();
  });
};
