import test from 'ava';
import {systemClock, type Clock} from '#src/base/clock.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {StoreTimeout} from '#src/storage/errors.js';
import {EtcdClient} from '#src/storage/etcd/client.js';
import {openEtcdStore} from '#src/storage/etcd/index.js';
import type {TxnRequest} from '#src/storage/etcd/messages.js';
import {GrpcChannel, GrpcError, grpcCodes} from '#src/transport/grpc/channel.js';
import {MessageWriter} from '#src/transport/grpc/message.js';
import {GrpcPlugin} from '#test/transport/grpc-plugin.js';

/** A member whose raft refuses a number of calls. */
class RefusingMember extends GrpcPlugin {
  reason = '';
  refusals = 0;

  protected answer(): MessageWriter {
    if (this.refusals-- > 0) throw new GrpcError(grpcCodes.unknown, this.reason);
    return new MessageWriter().message(1, new MessageWriter().int(3, 7));
  }
}

/** A member that says what history is compacted of every read, and takes watches that it never begins. */
class SilentMember extends GrpcPlugin {
  isCompacted = true;

  protected answer(_: string, procedure: string): MessageWriter | undefined {
    if (procedure === 'Watch') return undefined;
    if (procedure === 'Range' && this.isCompacted)
      throw new GrpcError(grpcCodes.outOfRange, 'etcdserver: mvcc: required revision has been compacted');
    return new MessageWriter().message(1, new MessageWriter().int(3, 7));
  }
}

/** A client of a member, which is stopped with it. */
const connected = <Member extends GrpcPlugin>(member: Member, clock: Clock) => {
  const channel = new GrpcChannel({servers: [`unix:${member.socket}`], clock});
  const client = new EtcdClient({channel, clock});
  const dispose = async (): Promise<void> => {
    await client.close();
    await member[Symbol.asyncDispose]();
  };
  return {member, client, [Symbol.asyncDispose]: dispose};
};

/** Resolves once the member got a number of watches. */
const watched = async (member: GrpcPlugin, times: number): Promise<void> => {
  while ((member.calls['/etcdserverpb.Watch/Watch'] ?? 0) < times) await new Promise(setImmediate);
};

const start = async (reason: string, refusals: number, clock: Clock = systemClock) => {
  const member = await new RefusingMember().listen();
  return connected(Object.assign(member, {reason, refusals}), clock);
};

const write: TxnRequest = {key: '/a', expected: {revision: 0}, apply: 'delete'};

test('a write whose proposal was dropped is sent again', async t => {
  await using started = await start('raft proposal dropped', 2);
  const {member, client} = started;

  t.is((await client.transact(write)).revision, 7);
  t.is(member.calls['/etcdserverpb.KV/Txn'], 3);
});

test('a write whose proposals are dropped until its deadline times out', async t => {
  const clock = new VirtualClock();
  await using started = await start('raft proposal dropped', Infinity, clock);
  const over = new AbortController();

  const written = t.throwsAsync(started.client.transact(write), {instanceOf: StoreTimeout}).finally(() => over.abort());
  while (!over.signal.aborted) await clock.advance(25);
  await written;

  t.true(started.member.calls['/etcdserverpb.KV/Txn']! > 1);
});

test('a read of a member that stops is sent again, and a write may have been stored', async t => {
  await using started = await start('raft: stopped', 2);
  const {member, client} = started;

  await t.throwsAsync(client.transact(write), {instanceOf: StoreTimeout, message: 'raft: stopped'});
  t.is(member.calls['/etcdserverpb.KV/Txn'], 1);

  t.is(await client.revision(), 7);
  t.is(member.calls['/etcdserverpb.KV/Range'], 2);
});

test('a watch that the server does not begin ends after ten seconds', async t => {
  const clock = new VirtualClock();
  await using started = connected(await new SilentMember().listen(), clock);
  const {member, client} = started;

  const ended = new Promise<Error>(resolve => void client.watch({start: '/', from: 1}, () => {}, resolve));
  await watched(member, 1);
  await clock.advance(10_000);

  t.is((await ended).message, 'the watch was not begun within 10 s');
});

test('the compacted revision is waited for ten seconds', async t => {
  // Calls hold a virtual clock.
  const hurried: Clock = {...systemClock, schedule: (ms, run) => systemClock.schedule(ms / 100, run)};
  await using started = connected(await new SilentMember().listen(), hurried);

  await t.throwsAsync(started.client.compacted(), {instanceOf: StoreTimeout, message: /within 10 s/});
});

test('a start that waits for the watch ends with its signal', async t => {
  await using member = await new SilentMember().listen();
  member.isCompacted = false;
  const stop = new AbortController();

  const opening = openEtcdStore({servers: [`unix:${member.socket}`], prefix: '', signal: stop.signal});
  await watched(member, 1);
  stop.abort(new Error('no more'));

  await t.throwsAsync(opening, {message: 'no more'});
});
