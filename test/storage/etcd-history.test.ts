import {connect, createServer, type AddressInfo, type Socket} from 'node:net';
import {once} from 'node:events';
import test, {type ExecutionContext} from 'ava';
import {systemClock} from '#src/base/clock.js';
import {noLog} from '#src/base/log.js';
import {systemRandom} from '#src/base/random.js';
import {Compacted} from '#src/storage/errors.js';
import {EtcdClient} from '#src/storage/etcd/client.js';
import {plainEncoding} from '#src/storage/etcd/encoding.js';
import {History} from '#src/storage/etcd/history.js';
import type {RangeRequest, RangeResponse} from '#src/storage/etcd/messages.js';
import {EtcdStore, openEtcdStore, type EtcdStoreOptions} from '#src/storage/etcd/index.js';
import {WatchStream} from '#src/storage/etcd/watch-stream.js';
import {GrpcChannel} from '#src/transport/grpc/channel.js';
import {etcdMissing, EtcdServer, hasEtcd} from './etcd-server.js';
import {Follower} from './follower.js';
import {bytes} from './store-environment.js';

const open = (server: string, options: Partial<EtcdStoreOptions> = {}): Promise<EtcdStore> =>
  openEtcdStore({servers: [server], prefix: '', naming: 'plat', ...options});

const replacement = (store: EtcdStore): Promise<void> => new Promise(resolve => void store.continuity.onReplaced(resolve));

/** Resolves once the replaced data were read. */
const restored = async (store: EtcdStore): Promise<void> => {
  while (store.continuity.problem) await new Promise(resolve => setTimeout(resolve, 10));
};

/** A connection to a server that can be cut off for a while. */
class Link {
  readonly #sockets = new Set<Socket>();
  readonly #listener = createServer(socket => this.#relay(socket));
  readonly #target: URL;
  #isCut = false;

  constructor(server: EtcdServer) {
    this.#target = new URL(server.url);
  }

  async open(): Promise<string> {
    this.#listener.listen(0, '127.0.0.1');
    await once(this.#listener, 'listening');
    return `http://127.0.0.1:${(this.#listener.address() as AddressInfo).port}`;
  }

  set isCut(isCut: boolean) {
    this.#isCut = isCut;
    if (isCut) for (const socket of this.#sockets) socket.destroy();
  }

  close(): void {
    this.isCut = true;
    this.#listener.close();
  }

  #relay(socket: Socket): void {
    if (this.#isCut) return void socket.destroy();
    const onward = connect(Number(this.#target.port), this.#target.hostname);
    for (const [one, other] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      this.#sockets.add(one);
      one.pipe(other);
      one
        .on('error', () => {})
        .once('close', () => {
          this.#sockets.delete(one);
          other.destroy();
        });
    }
  }
}

/** A store that is connected by a link. */
const linked = async (t: ExecutionContext) => {
  const server = await EtcdServer.start();
  const link = new Link(server);
  t.teardown(async () => {
    link.close();
    await server.stop();
  });
  return {server, link, store: await open(await link.open())};
};

const copyOf = async (server: EtcdServer): Promise<string> => {
  await server.kill();
  const copy = server.save();
  await server.resume();
  return copy;
};

/** Cuts the link, and restores the server from a copy. Resolves to another store there. */
const putBack = async (server: EtcdServer, copy: string, link: Link): Promise<EtcdStore> => {
  link.isCut = true;
  await server.kill();
  server.restore(copy);
  await server.resume();
  return open(server.url);
};

/** A client that can learn of a replacement while a watch is being opened, as its connection is verified. */
class InterruptedClient extends EtcdClient {
  isReplacedAtWatch = false;
  /** The keys of the events of all watches. */
  readonly events: string[] = [];

  override watch(...[request, onResponse, ended]: Parameters<EtcdClient['watch']>): Promise<Disposable> {
    if (this.isReplacedAtWatch) this.history.replaced('the connection leads to another history');
    this.isReplacedAtWatch = false;
    const received: typeof onResponse = response => {
      this.events.push(...response.events.map(({kv}) => kv.key));
      onResponse(response);
    };
    return super.watch(request, received, ended);
  }
}

const etcdTest = hasEtcd ? test.serial : test.skip;
if (!hasEtcd) console.log(`skipped: ${etcdMissing}`);

etcdTest('a wiped server ends watches as compacted, and the store serves what is there now', async t => {
  const server = await EtcdServer.start();
  t.teardown(() => server.stop());
  const store = await open(server.url);
  using follower = new Follower(store, {after: await store.revision()});
  for (const name of ['/a', '/b', '/c', '/d']) await store.create(name, bytes('1'));
  const replaced = replacement(store);

  await server.kill();
  server.restore();
  await server.resume();
  await replaced;
  await restored(store);

  t.true(follower.endings[0] instanceof Compacted);
  t.is(await store.get('/a'), undefined);
  t.is(await store.get('/a', {near: true}), undefined);
  const created = await store.create('/a', bytes('2'));
  t.is((await store.get('/a'))?.value.toString(), '2');
  await store.update('/a', bytes('3'), created);
  t.deepEqual(
    (await store.range({start: '/', end: '0'})).records.map(({key, value}) => [key, value.toString()]),
    [['/a', '3']],
  );
  await store.close();
});

etcdTest('a server restored from an older copy is noticed also when its history has grown beyond the known one', async t => {
  const {server, link, store} = await linked(t);
  const first = await store.create('/a', bytes('old'));
  const copy = await copyOf(server);
  await store.update('/a', bytes('lost'), first);
  const known = await store.create('/lost', bytes('1'));
  using follower = new Follower(store, {after: known});
  const replaced = replacement(store);

  const other = await putBack(server, copy, link);
  let newest = first;
  while (newest < known + 5) newest = await other.update('/a', bytes(`new ${newest}`), newest);
  link.isCut = false;
  await replaced;
  await restored(store);

  t.true(follower.endings[0] instanceof Compacted);
  t.is(await store.get('/lost'), undefined);
  t.is((await store.get('/a'))?.revision, newest);
  await Promise.all([store.close(), other.close()]);
});

etcdTest('a server restored from an older copy is noticed also when this process writes much before its watch resumes', async t => {
  const {server, link, store} = await linked(t);
  const created = await store.create('/a', bytes('1'));
  const copy = await copyOf(server);
  const known = await store.update('/a', bytes('lost'), created);
  using follower = new Follower(store, {after: known});
  const replaced = replacement(store);

  const other = await putBack(server, copy, link);
  await other.create('/other', bytes('1'));
  const writing = Promise.all([1, 2, 3, 4, 5, 6].map(name => store.create(`/new-${name}`, bytes('1'))));
  link.isCut = false;
  await writing;
  await replaced;
  await restored(store);

  t.true(follower.endings[0] instanceof Compacted);
  t.is((await store.get('/a'))?.value.toString(), '1');
  t.is((await store.range({start: '/new-', end: '/new.'})).records.length, 6);
  await Promise.all([store.close(), other.close()]);
});

etcdTest('a server restored from an older copy is noticed also when the changes that would show it are compacted', async t => {
  const {server, link, store} = await linked(t);
  const first = await store.create('/a', bytes('1'));
  const second = await store.create('/b', bytes('1'));
  const copy = await copyOf(server);
  using follower = new Follower(store, {after: second});
  const known = await store.update('/b', bytes('lost'), second);
  await follower.until(({received}) => received.length === 1);
  const replaced = replacement(store);

  const other = await putBack(server, copy, link);
  let newest = first;
  while (newest < known + 5) newest = await other.update('/a', bytes(`new ${newest}`), newest);
  await other.compact(newest);
  link.isCut = false;
  await replaced;
  await restored(store);

  t.true(follower.endings[0] instanceof Compacted);
  t.is((await store.get('/b'))?.value.toString(), '1');
  await Promise.all([store.close(), other.close()]);
});

etcdTest('a watch that opens while the data are replaced does not go on beside the one that takes its place', async t => {
  const server = await EtcdServer.start();
  t.teardown(() => server.stop());
  const client = new InterruptedClient({channel: new GrpcChannel({servers: [server.url], clock: systemClock}), clock: systemClock});
  const settings = {client, clock: systemClock, log: noLog, encoding: plainEncoding};
  const stream = await WatchStream.begin({...settings, prefix: '/', verify: async () => {}});
  const store = new EtcdStore({...settings, stream, random: systemRandom, cached: true, isReplicated: false});
  const replaced = replacement(store);

  client.isReplacedAtWatch = true;
  client.switchServer({drop: true});
  await replaced;
  await restored(store);
  using follower = new Follower(store, {after: await store.revision()});
  const keys = ['/a', '/b', '/c', '/d', '/e'];
  for (const key of keys) await store.create(key, bytes('1'));
  await follower.until(({received}) => received.length >= keys.length);

  t.deepEqual(client.events, keys);
  await store.close();
});

etcdTest('a killed server that comes back with its data is no other history', async t => {
  const server = await EtcdServer.start();
  t.teardown(() => server.stop());
  const store = await open(server.url);
  using follower = new Follower(store, {after: await store.revision()});
  const created = await store.create('/a', bytes('1'));
  await store.delete('/a', created);
  await server.kill();
  await server.resume();

  await store.create('/b', bytes('1'));

  await follower.until(({received}) => received.length === 3);
  t.deepEqual(follower.endings, []);
  t.is(store.continuity.problem, undefined);
  await store.close();
});

etcdTest('a member that hangs is left within seconds: reads, writes and watches go on with another', async t => {
  const servers = await EtcdServer.startThree();
  t.teardown(async () => {
    for (const server of servers) server.proceed();
    await Promise.all(servers.map(server => server.stop()));
  });
  const store = await openEtcdStore({servers: servers.map(({url}) => url), prefix: '', naming: 'plat'});
  using follower = new Follower(store, {after: await store.revision()});
  await store.create('/a', bytes('1'));

  servers[0]!.pause();
  const startedAt = performance.now();
  const read = await store.get('/a');
  await store.create('/b', bytes('1'));
  await follower.until(({received}) => received.length === 2);

  t.is(read?.value.toString(), '1');
  t.true(performance.now() - startedAt < 9000);
  t.deepEqual(follower.endings, []);
  await store.close();
});

etcdTest('while the server hangs, a read that may be old is answered from the cache', async t => {
  const {link, store} = await linked(t);
  await store.create('/a', bytes('1'));

  link.isCut = true;

  t.is((await store.get('/a', {near: true}))?.value.toString(), '1');
  t.is((await store.range({start: '/', end: '0', near: true})).records.length, 1);
  link.isCut = false;
  await store.close();
});

test('a response proves nothing about calls of an earlier history', t => {
  const history = new History();
  const reasons: string[] = [];
  history.onReplaced(reason => void reasons.push(reason));
  const header = (revision: number, cluster = 7) => ({cluster, revision});
  history.check(header(10), history.expect());
  const early = history.expect();
  history.reached(20);

  history.check(header(10), early);
  t.deepEqual(reasons, []);
  history.check(header(19), history.expect());
  t.deepEqual(reasons, ['the newest revision is 19, and was 20 before']);
  t.regex(history.problem ?? '', /replaced/);

  history.check(header(30), early);
  const current = history.expect();
  history.check(header(3), current);
  history.restored();
  t.is(reasons.length, 1);
  t.is(history.problem, undefined);
  history.check(header(4, 8), history.expect());
  t.is(reasons[1], 'the servers belong to another cluster');
});

test('what is written while the history is verified is verified too, and writes that go on do not keep it from its end', async t => {
  const history = new History();
  const write = (revision: number): void => history.saw([{isDeletion: false, kv: {key: '/a', revision}}]);
  write(1);
  let newest = 1;
  const read = async ({revision}: RangeRequest): Promise<RangeResponse> => {
    write(++newest);
    const found = {key: '/a', value: bytes(''), created: 1, revision: revision ?? 0, version: 1, lease: 0};
    return {cluster: 7, revision: newest, kvs: [found], more: false, count: 1};
  };

  await history.verify(read);
  t.is(history.problem, undefined);

  let isLate = true;
  await history.verify(async request => {
    if (isLate) write(1000);
    isLate = false;
    const response = await read(request);
    return {...response, revision: 1000, kvs: request.revision === 1000 ? [] : response.kvs};
  });
  t.regex(history.problem ?? '', /another change/);
});
