// The calls of etcd's v3 API over gRPC: timeouts, retries and errors in one place. It knows nothing of objects.

import {exponential} from '#src/base/backoff.js';
import {sleep, type Clock} from '#src/base/clock.js';
import {Compacted, FutureRevision, LeaseNotFound, StoreTimeout, ValueTooLarge} from '#src/storage/errors.js';
import {grpcCodes, GrpcChannel, GrpcError, type Call, type OpenStream} from '#src/transport/grpc/channel.js';
import {History, HistoryGone} from './history.js';
import * as messages from './messages.js';
import type {RangeRequest, RangeResponse, TxnRequest, TxnResponse, WatchRequest, WatchResponse} from './messages.js';

export interface EtcdClientSettings {
  readonly channel: GrpcChannel;
  readonly clock: Clock;
}

/** The timeout of one call, retries of reads included. */
const callTimeoutMs = 10_000;
/** Longer than connecting may take, whose error tells more. */
const probeMs = 8000;
/** The longest message a client sends, whatever the servers would take. */
const maxSentBytes = 2 << 20;
const delay = exponential(25, 1000);

/**
 * The calls of etcd's v3 API that a store needs. Reads are linearizable and retried while no server answers; writes are
 * retried only when they were not sent or not proposed.
 */
export class EtcdClient {
  /** The history of the servers' data, as far as responses show it. */
  readonly history = new History();
  readonly #channel: GrpcChannel;
  readonly #clock: Clock;

  constructor({channel, clock}: EtcdClientSettings) {
    this.#channel = channel;
    this.#clock = clock;
  }

  /** Throws `HistoryGone` and `FutureRevision`. */
  async range(request: RangeRequest): Promise<RangeResponse> {
    const expected = this.history.expect();
    const response = messages.decodeRange(await this.#call('KV/Range', messages.encodeRange(request), true));
    this.history.check(response, expected);
    return response;
  }

  /** Returns the newest revision. */
  async revision(): Promise<number> {
    return (await this.range(messages.newest)).revision;
  }

  /** Resolves if a server serves; otherwise rejects with the reason, without retries. */
  async probe(timeoutMs = probeMs): Promise<void> {
    await this.#channel.call('/etcdserverpb.KV/Range', messages.encodeRange(messages.newest), timeoutMs);
  }

  /** Compares the known history with the one that a new connection leads to. */
  verify(call: Call): Promise<void> {
    return this.history.verify(async request => {
      try {
        return messages.decodeRange(await call('/etcdserverpb.KV/Range', messages.encodeRange(request)));
      } catch (error) {
        throw error instanceof GrpcError && !isUnavailable(error) ? storeError(error) : error;
      }
    });
  }

  /** Throws `ValueTooLarge`, `LeaseNotFound`, and `StoreTimeout` as all calls do. */
  async transact(request: TxnRequest): Promise<TxnResponse> {
    const bytes = messages.encodeTxn(request);
    if (bytes.length > maxSentBytes)
      throw new ValueTooLarge(
        `rpc error: code = ResourceExhausted desc = trying to send message larger than max (${bytes.length} vs. ${maxSentBytes})`,
      );
    const expected = this.history.expect();
    try {
      const response = messages.decodeTxn(await this.#call('KV/Txn', bytes, false));
      this.history.check(response, expected);
      const {key, apply} = request;
      if (response.succeeded && apply !== 'get')
        this.history.saw([{isDeletion: apply === 'delete', kv: {key, revision: response.revision}}], expected);
      return response;
    } catch (error) {
      if (error instanceof GrpcError && /request is too large|larger than max/.test(error.message)) throw new ValueTooLarge(error.message);
      throw error;
    }
  }

  /** Does nothing for a compacted revision. Throws `FutureRevision`. */
  async compact(revision: number): Promise<void> {
    try {
      await this.#call('KV/Compact', messages.encodeCompaction(revision), true);
    } catch (error) {
      if (!(error instanceof HistoryGone)) throw error;
    }
  }

  async grant(seconds: number, id: number): Promise<void> {
    await this.#call('Lease/LeaseGrant', messages.encodeLease(seconds, id), false);
  }

  /** Returns the remaining time of a lease in seconds; zero or less if it has ended. */
  async timeToLive(id: number): Promise<number> {
    return messages.decodeTimeToLive(await this.#call('Lease/LeaseTimeToLive', messages.encodeTimeToLive(id), true));
  }

  async size(): Promise<number> {
    return messages.decodeSize(await this.#call('Maintenance/Status', Buffer.alloc(0), true));
  }

  /**
   * Opens a watch. `ended` is called once unless the handle is disposed of before: when the stream broke, the server
   * ended the watch or did not begin it in time, with `Compacted` if its start was compacted.
   */
  async watch(request: WatchRequest, onResponse: (response: WatchResponse) => void, ended: (error: Error) => void): Promise<Disposable> {
    let stream: OpenStream | undefined = undefined;
    let over = false;
    let unanswered: Disposable | undefined = undefined;
    const finish = (): void => {
      over = true;
      unanswered?.[Symbol.dispose]();
      stream?.[Symbol.dispose]();
    };
    const end = (error: Error): void => {
      if (over) return;
      finish();
      ended(error);
    };
    stream = await this.#channel.stream(
      '/etcdserverpb.Watch/Watch',
      {hasleader: 'true'},
      {
        message(bytes) {
          if (over) return;
          unanswered?.[Symbol.dispose]();
          const response = messages.decodeWatch(bytes);
          if (!response.canceled) return onResponse(response);
          end(
            response.compacted > 0 ? new Compacted(response.compacted) : new Error(response.reason || 'the watch was ended by the server'),
          );
        },
        ended: error => end(error ?? new Error('the server ended the stream')),
      },
    );
    stream.send(messages.encodeWatch(request));
    const late = `the watch was not begun within ${callTimeoutMs / 1000} s`;
    if (!over) unanswered = this.#clock.schedule(callTimeoutMs, () => end(new StoreTimeout(late)));
    return {[Symbol.dispose]: finish};
  }

  /** Returns the compacted revision; zero when nothing was compacted. */
  async compacted(): Promise<number> {
    try {
      await this.range({...messages.newest, revision: 1});
      return 0;
    } catch (error) {
      if (!(error instanceof HistoryGone)) throw error;
    }
    return this.#compactedByWatch();
  }

  /** Only a watch that begins too early reports the compacted revision. */
  async #compactedByWatch(): Promise<number> {
    using _ = this.#clock.hold();
    let watch: Disposable | undefined;
    let timer: Disposable | undefined;
    let isOver = false;
    const opened = (handle: Disposable): void => {
      watch = handle;
      if (isOver) handle[Symbol.dispose]();
    };
    try {
      return await new Promise((resolve, reject) => {
        const late = new StoreTimeout(`the compacted revision was not reported within ${callTimeoutMs / 1000} s`);
        timer = this.#clock.schedule(callTimeoutMs, () => reject(late));
        const ended = (error: Error): void => (error instanceof Compacted ? resolve(error.compacted) : reject(error));
        this.watch({start: messages.newest.start, from: 1}, () => {}, ended).then(opened, reject);
      });
    } finally {
      isOver = true;
      timer?.[Symbol.dispose]();
      watch?.[Symbol.dispose]();
    }
  }

  /** Uses another server for the next call. With `drop`, calls and watches of the present one fail. */
  switchServer({drop = false} = {}): void {
    if (drop) this.#channel.dropServer();
    else this.#channel.switchServer();
  }

  async close(): Promise<void> {
    await this.#channel[Symbol.asyncDispose]();
  }

  async #call(method: string, message: Buffer, repeatable: boolean): Promise<Buffer> {
    const deadline = this.#clock.monotonic() + callTimeoutMs;
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#channel.call(`/etcdserverpb.${method}`, message, Math.max(1, deadline - this.#clock.monotonic()));
      } catch (error) {
        if (!(error instanceof GrpcError)) throw error;
        if (!isUnavailable(error)) throw storeError(error);
        // A server that is reachable but does not serve may have lost quorum.
        if (!error.unsent) this.#channel.switchServer();
        if (!(repeatable || error.unsent || error.message === proposalDropped) || this.#clock.monotonic() + delay(attempt) >= deadline)
          throw storeError(error);
        await sleep(this.#clock, delay(attempt));
      }
    }
  }
}

/** etcd's raft did not propose a write: the member has no leader, or hands the leadership on. Certainly not stored. */
const proposalDropped = 'raft proposal dropped';

/**
 * Whether another server, or this one later, may serve. etcd passes on errors of its raft without a code: `raft:
 * stopped` is a member that stops, which may have stored a write.
 */
const isUnavailable = ({code, message}: GrpcError): boolean =>
  code === grpcCodes.unavailable || (code === grpcCodes.unknown && (message === proposalDropped || message === 'raft: stopped'));

/** Maps errors that etcd distinguishes only by message. */
const storeError = (error: GrpcError): Error => {
  const {message, code} = error;
  if (isUnavailable(error) || code === grpcCodes.deadlineExceeded) return new StoreTimeout(message, {cause: error});
  if (message.includes('required revision has been compacted')) return new HistoryGone(message);
  if (message.includes('required revision is a future revision')) return new FutureRevision(0);
  if (message.includes('requested lease not found')) return new LeaseNotFound('the lease ran out or never was');
  return error;
};
