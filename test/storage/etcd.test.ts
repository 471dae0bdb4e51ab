import test from 'ava';
import {systemClock} from '#src/base/clock.js';
import {Barrier} from '#src/storage/etcd/barrier.js';
import {EtcdClient} from '#src/storage/etcd/client.js';
import {openEtcdStore, type EtcdStore, type EtcdStoreOptions} from '#src/storage/etcd/index.js';
import {GrpcChannel} from '#src/transport/grpc/channel.js';
import {MessageWriter} from '#src/transport/grpc/message.js';
import {Leases} from '#src/apiserver/registry/leases.js';
import {compactRegularly} from '#src/apiserver/registry/compaction.js';
import {noLog} from '#src/base/log.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {Compacted, LeaseNotFound, RevisionMismatch, StoreClosed, StoreUnusable, ValueTooLarge} from '#src/storage/errors.js';
import type {RecordEncoding} from '#src/storage/etcd/encoding.js';
import {etcdMissing, EtcdServer, hasEtcd} from './etcd-server.js';
import {fromOne} from './from-one.js';
import {Follower} from './follower.js';
import {storeSuite} from './suite.js';
import {bytes} from './store-environment.js';

if (hasEtcd) {
  const server = await EtcdServer.start();
  test.after.always(async () => {
    await client.close();
    await server.stop();
  });

  const open = (options: Partial<EtcdStoreOptions> = {}): Promise<EtcdStore> =>
    openEtcdStore({servers: [server.url], prefix: '', ...options});

  const channel = new GrpcChannel({servers: [server.url], clock: systemClock});
  const client = new EtcdClient({channel, clock: systemClock});

  /** Deletes whatever earlier tests left, and its history. */
  const empty = async (): Promise<void> => {
    await channel.call('/etcdserverpb.KV/DeleteRange', new MessageWriter().bytes(1, '\0').bytes(2, '\0').finish(), 10_000);
    await client.compact(await client.revision());
  };

  storeSuite(test.serial, {
    name: 'etcd',
    isShared: true,
    valueLengths: {taken: 1_570_000, refused: 1_573_000},
    async open(clock) {
      await empty();
      const store = await open({clock});
      return fromOne(store, await store.revision());
    },
  });
  const key = (text: string): {start: string; end: string} => ({start: text, end: `${text}\0`});

  test.serial('records under a lease go when it runs out, and watchers are notified', async t => {
    await empty();
    const store = await open();
    using follower = new Follower(store, {after: await store.revision()});
    const short = await store.lease(1);
    const long = await store.lease(600);
    const created = await store.create('/short', bytes('1'), {lease: short});
    await store.create('/long', bytes('1'), {lease: long});
    await store.create('/freed', bytes('1'), {lease: short});
    await store.update('/freed', bytes('2'), created + 2);

    await follower.until(({received}) => received.length === 5);

    t.is(follower.received[4]!.key, '/short');
    t.is(follower.received[4]!.record, undefined);
    t.is(follower.received[4]!.previous?.value.toString(), '1');
    t.deepEqual(
      (await store.range({start: '/', end: '0'})).records.map(record => record.key),
      ['/freed', '/long'],
    );
    await t.throwsAsync(store.create('/late', bytes('1'), {lease: short}), {instanceOf: LeaseNotFound});
    await store.close();
  });

  test.serial('a value beyond the limit is refused as by the original, and one that no client sends without sending it', async t => {
    await empty();
    const store = await open();

    await t.throwsAsync(store.create('/a', Buffer.alloc(1_600_000)), {
      instanceOf: ValueTooLarge,
      message: 'etcdserver: request is too large',
    });
    await t.throwsAsync(store.create('/a', Buffer.alloc(2_200_000)), {
      instanceOf: ValueTooLarge,
      message: /^rpc error: code = ResourceExhausted desc = trying to send message larger than max \(22000\d\d vs\. 2097152\)$/,
    });
    await store.close();
  });

  test.serial("writes of another server are read and watched as one's own", async t => {
    await empty();
    const [one, other] = await Promise.all([open(), open()]);
    using follower = new Follower(one, {after: await one.revision()});

    const created = await other.create('/a', bytes('theirs'));
    const {records, revision} = await one.range({start: '/', end: '0'});
    const updated = await one.update('/a', bytes('mine'), created);

    t.deepEqual(
      records.map(record => [record.key, record.value.toString(), record.revision]),
      [['/a', 'theirs', created]],
    );
    t.true(revision >= created);
    t.is((await other.get('/a'))?.value.toString(), 'mine');
    await t.throwsAsync(other.update('/a', bytes('late'), created), {instanceOf: RevisionMismatch});
    t.deepEqual(
      follower.received.map(change => change.revision),
      [created, updated],
    );
    await Promise.all([one.close(), other.close()]);
  });

  test.serial('a list is as new as its call, whatever lies outside the prefix', async t => {
    await empty();
    const [one, other] = await Promise.all([open({prefix: '/one'}), open({prefix: '/other'})]);

    for (let i = 0; i < 20; i++) {
      await other.create(`/other/${i}`, bytes('x'));
      const revision = await one.create(`/one/${i}`, bytes('x'));
      const listed = await one.range({start: '/one/', end: '/one0'});
      t.true(listed.revision >= revision);
      t.is(listed.records.length, i + 1);
    }

    t.is(await other.count('/other/', '/other0'), 20);
    await Promise.all([one.close(), other.close()]);
  });

  test.serial('without the copy lists come from the server, as of one revision', async t => {
    await empty();
    const store = await open({cached: false});
    for (let i = 0; i < 5; i++) await store.create(`/${i}`, bytes(String(i)));

    const {records, more, revision} = await store.range({start: '/', end: '0', limit: 3});

    t.deepEqual(
      records.map(record => record.value.toString()),
      ['0', '1', '2'],
    );
    t.true(more);
    t.is(revision, await store.revision());
    await store.close();
  });

  test.serial('the history before a start can be followed', async t => {
    await empty();
    const before = await open();
    const after = await before.create('/a', bytes('1'));
    await before.update('/a', bytes('2'), after);
    await before.close();
    const store = await open();

    using follower = new Follower(store, {after});
    await follower.until(({progressed}) => progressed.length > 0);

    t.deepEqual(
      follower.received.map(({record, previous}) => [previous?.value.toString(), record?.value.toString()]),
      [['1', '2']],
    );
    await store.close();
  });

  test.serial('the first write after a start has been delivered when it resolves', async t => {
    await empty();
    for (let round = 0; round < 5; round++) {
      const store = await open();
      using follower = new Follower(store, {after: await store.revision()});

      await store.create(`/${round}`, bytes('1'));

      t.is(follower.received.length, 1);
      await store.close();
    }
  });

  test.serial('of servers that share a store one takes each turn at compacting', async t => {
    await empty();
    const [one, other] = await Promise.all([open(), open()]);

    const turns = await Promise.all([one.takeTurn(0, 0), other.takeTurn(0, 0)]);
    const late = await one.takeTurn(0, 0);

    t.deepEqual(turns.map(({taken}) => taken).sort(), [false, true]);
    t.deepEqual(
      turns.map(({next}) => next),
      [1, 1],
    );
    t.false(late.taken);
    t.true((await other.takeTurn(1, late.revision)).taken);
    await Promise.all([one.close(), other.close()]);
  });

  test.serial('regular compaction goes up to the revision an interval before, whichever server runs it', async t => {
    await empty();
    const [one, other] = [await open({clock: new VirtualClock()}), await open({clock: new VirtualClock()})];
    const clock = new VirtualClock();
    const stop = new AbortController();
    for (const store of [one, other]) compactRegularly({store, clock, log: noLog, intervalMs: 1000}, stop.signal);
    const before = await one.compacted();
    const revision = await one.create('/a', bytes('1'));
    await clock.advance(1000);
    const still = await one.compacted();

    await one.update('/a', bytes('2'), revision);
    await clock.advance(1000);
    await clock.advance(1000);

    t.is(still, before);
    t.true((await other.compacted()) > revision);
    await t.throwsAsync(one.range({...key('/a'), revision: before}), {instanceOf: Compacted});
    stop.abort();
    await Promise.all([one.close(), other.close()]);
  });

  test.serial('a store in another naming is refused with a message', async t => {
    await empty();
    await (await open({prefix: '/p', naming: 'plat'})).close();
    await (await open({prefix: '/p', naming: 'plat'})).close();

    await t.throwsAsync(open({prefix: '/p', naming: 'kubernetes'}), {
      instanceOf: StoreUnusable,
      message: 'the store below /p was written with --naming=plat, not kubernetes: give --naming=plat, or another --kvstore-prefix',
    });
  });

  test.serial('an unreadable record fails its readers and no others', async t => {
    await empty();
    const encoding: RecordEncoding = {
      decode: (_, value) => {
        if (value.toString() === 'bad') throw new Error('it is bad');
        return value;
      },
      encode: (_, value) => value,
    };
    const [store, other] = [await open({encoding}), await open()];
    await other.create('/a/good', bytes('good'));
    await other.create('/b/bad', bytes('bad'));

    t.is((await store.get('/a/good'))?.value.toString(), 'good');
    t.is((await store.range({start: '/a/', end: '/a0'})).records.length, 1);
    await t.throwsAsync(store.get('/b/bad'), {message: 'what the store holds under /b/bad cannot be read: it is bad'});
    await t.throwsAsync(store.range({start: '/', end: '0'}), {message: /it is bad/});
    await Promise.all([store.close(), other.close()]);
  });

  test.serial('cached keys are read without a request to the server, and others with one', async t => {
    await empty();
    const [store, other] = await Promise.all([open(), open()]);
    await store.create('/a', bytes('1'));
    await other.create('/b', bytes('1'));
    t.is((await store.get('/b', {near: true}))?.value.toString(), '1');
    const requested: string[] = [];
    const call = GrpcChannel.prototype.call;
    GrpcChannel.prototype.call = function (path, ...rest) {
      requested.push(path);
      return call.call(this, path, ...rest);
    };
    t.teardown(() => void (GrpcChannel.prototype.call = call));

    t.is((await store.get('/a', {near: true}))?.value.toString(), '1');
    t.is((await store.range({start: '/', end: '0', near: true})).records.length, 2);
    t.deepEqual(requested, []);
    t.is(await store.get('/c', {near: true}), undefined);
    t.is(requested.length, 1);
    await Promise.all([store.close(), other.close()]);
  });

  test.serial('followers go on where they were once a killed server is back', async t => {
    await empty();
    const store = await open();
    using follower = new Follower(store, {after: await store.revision()});
    await store.create('/a', bytes('1'));

    await server.kill();
    const waiting = store.get('/a');
    await server.resume();

    t.is((await waiting)?.value.toString(), '1');
    await store.create('/b', bytes('1'));
    await follower.until(({received}) => received.length === 2);
    t.deepEqual(
      follower.received.map(change => change.key),
      ['/a', '/b'],
    );
    t.deepEqual(follower.endings, []);
    await store.close();
  });

  test.serial('followers get the result of changes that were compacted while the server was away', async t => {
    await empty();
    const clock = new VirtualClock();
    const store = await open({clock});
    using follower = new Follower(store, {after: await store.revision()});
    const [gone, changed] = [await store.create('/gone', bytes('1')), await store.create('/changed', bytes('1'))];
    await store.create('/same', bytes('1'));

    await server.kill();
    await server.resume();
    const other = await open();
    await other.delete('/gone', gone);
    const newest = await other.update('/changed', bytes('3'), await other.update('/changed', bytes('2'), changed));
    await other.compact(newest);
    // Time goes on only until the next try: the server's word that history is gone takes real time, in which virtual
    // hours would pass.
    await clock.advance(1000);
    await follower.until(({received}) => received.length === 5);

    t.deepEqual(
      follower.received.slice(3).map(({key: name, record, previous}) => [name, previous?.value.toString(), record?.value.toString()]),
      [
        ['/changed', '1', '3'],
        ['/gone', '1', undefined],
      ],
    );
    t.deepEqual(
      (await store.range({start: '/', end: '0'})).records.map(record => record.key),
      ['/changed', '/same'],
    );
    await Promise.all([store.close(), other.close()]);
  });

  test.serial('a lease that was not granted is not used again', async t => {
    const store = await open({clock: new VirtualClock()});
    const closed = await open();
    await closed.close();
    let granting: Pick<EtcdStore, 'lease'> = closed;
    const leases = new Leases({...fromOne(store, 1), lease: seconds => granting.lease(seconds)}, systemClock, 60);

    await t.throwsAsync(async () => leases.for(3600, '/events/'), {instanceOf: StoreClosed});
    granting = store;
    const lease = await leases.for(3600, '/events/');

    t.is(await leases.for(3600, '/events/'), lease);
    await store.close();
  });

  test.serial('the size is that of the database', async t => {
    const store = await open();

    t.true((await store.size()) > 10_000);
    await store.close();
  });
} else test.skip(etcdMissing, () => {});

test('a read that begins during a request is answered by a later one', async t => {
  const answers: ((value: number) => void)[] = [];
  const barrier = new Barrier(() => new Promise<number>(resolve => answers.push(resolve)));

  const first = barrier.pass();
  const [second, third] = [barrier.pass(), barrier.pass()];
  answers[0]!(1);

  t.is(await first, 1);
  await Promise.resolve();
  t.is(answers.length, 2);
  answers[1]!(2);
  t.deepEqual(await Promise.all([second, third]), [2, 2]);
});

test('a failing request fails its readers, and the next is sent', async t => {
  let requested = 0;
  const barrier = new Barrier(async () => {
    requested += 1;
    if (requested === 1) throw new Error('no');
    return requested;
  });

  const [first, second] = [barrier.pass(), barrier.pass()];

  await t.throwsAsync(first, {message: 'no'});
  t.is(await second, 2);
});
