import {runEvery, withClockHeld, sleep, systemClock, type Clock} from '#src/base/clock.js';
import {noLog, type Log} from '#src/base/log.js';
import {systemRandom, type Random} from '#src/base/random.js';
import {Compacted, FutureRevision, KeyExists, RevisionMismatch, StoreClosed, StoreUnusable, ValueTooLarge} from '#src/storage/errors.js';
import {checkKey, compareKeys} from '#src/storage/local/keys.js';
import {PageReader} from '#src/storage/local/page.js';
import type {
  CompactionTurn,
  Continuity,
  LeaseId,
  Range,
  RangeQuery,
  ReadOptions,
  Store,
  StoredRecord,
  Watcher,
  WatchQuery,
  WriteOptions,
} from '#src/storage/store.js';
import type {Dial} from '#src/transport/dial.js';
import {GrpcChannel, type GrpcSettings} from '#src/transport/grpc/channel.js';
import {Barrier} from './barrier.js';
import {EtcdClient} from './client.js';
import {HistoryGone} from './history.js';
import {WatchStream} from './watch-stream.js';
import {longestRecord, plainEncoding, type RecordEncoding} from './encoding.js';
import {probeMembers} from './member-probe.js';
import {checkMarker} from './marker.js';
import type {Operation} from './messages.js';
import {storeReason} from './reasons.js';

// The store on etcd (v3 API over gRPC), with a watch cache for reads. Clusters whose data were wiped or restored are
// noticed in history.ts, members that hang in member-probe.ts.

export interface EtcdStoreOptions extends Pick<GrpcSettings, 'servers' | 'tls' | 'pings'> {
  /** The prefix of all keys, without the final slash. */
  readonly prefix: string;
  /** Recorded in the store: a store with another naming is refused. Not recorded if absent. */
  readonly naming?: string;
  readonly encoding?: RecordEncoding;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly log?: Log;
  /** Whether reads are served from the watch cache. */
  readonly cached?: boolean;
  /** Opens connections; by default over this machine's network. */
  readonly dial?: Dial;
  /** Aborts the wait for servers. */
  readonly signal?: AbortSignal;
  /** Called with the reason while no server serves. */
  readonly waiting?: (reason: string) => void;
}

/** The maximum that servers grant. */
const longestLeaseSeconds = 9_000_000_000;

/** How many records are requested at a time when reading in pages. */
const recordsPerPage = 100;

/** How long a read waits for the cache to catch up before it goes to the servers, and a write for its watch event. */
const cacheTimeoutMs = 3000;

/** How long a read that may be answered from the cache waits for servers while the watch is interrupted. */
const nearTimeoutMs = 1000;

/** The version of this key is the number of the next compaction turn; shared with upstream API servers. */
const compactionKey = 'compact_rev_key';

/**
 * Opens a store on etcd servers and waits for them until the signal aborts. Rejects with `StoreUnusable` for a store in
 * another naming, or with the signal's reason.
 */
export const openEtcdStore = async (options: EtcdStoreOptions): Promise<EtcdStore> => {
  const {
    servers,
    tls,
    prefix,
    naming,
    encoding = plainEncoding,
    clock = systemClock,
    random = systemRandom,
    log = noLog,
    cached = true,
    pings,
    dial,
  } = options;
  const connectTimeoutMs = servers.length > 1 ? 2000 : 5000;
  const channel = new GrpcChannel({
    servers,
    clock,
    log,
    pings,
    connectTimeoutMs,
    ...(tls && {tls}),
    ...(dial && {dial}),
    verify: call => client.verify(call),
  });
  const client = new EtcdClient({channel, clock});
  try {
    const verify = async (): Promise<void> => {
      if (naming !== undefined) await checkMarker(client, prefix, naming);
    };
    const stream = await retried(options, clock, log, async () => {
      await client.probe().catch((error: unknown) => {
        client.switchServer({drop: true});
        throw error;
      });
      await verify();
      return WatchStream.begin({client, clock, log, encoding, prefix: `${prefix}/`, verify}, options.signal);
    });
    return new EtcdStore({client, stream, clock, random, encoding, cached, log, isReplicated: servers.length > 1});
  } catch (error) {
    await client.close();
    throw error;
  }
};

const retryMs = 500;
/** How often the log repeats what is waited for. */
const reportMs = 2000;

/**
 * Tries until it succeeds or the signal aborts. Meanwhile the log contains the servers and the latest reason, at once
 * and every two seconds.
 */
const retried = async <T>(
  {servers, signal, waiting}: Pick<EtcdStoreOptions, 'servers' | 'signal' | 'waiting'>,
  clock: Clock,
  log: Log,
  open: () => Promise<T>,
): Promise<T> => {
  let reason = '';
  const report = (): void =>
    log.warn({servers: servers.join(','), reason: reason || 'no answer yet'}, 'waiting for the servers of the store');
  const reporting = new AbortController();
  runEvery(clock, reportMs, reporting.signal, report);
  try {
    for (;;) {
      signal?.throwIfAborted();
      try {
        return await open();
      } catch (error) {
        if (error instanceof StoreUnusable) throw error;
        const isFirst = reason === '';
        reason = storeReason(error);
        if (isFirst) report();
        waiting?.(reason);
      }
      await sleep(clock, retryMs, signal);
    }
  } finally {
    reporting.abort();
  }
};

/** What part of the store is read. */
type Bounds = Required<Pick<RangeQuery, 'start' | 'end' | 'limit' | 'bytes'>> & Pick<RangeQuery, 'filter'>;

interface Parts {
  readonly client: EtcdClient;
  readonly stream: WatchStream;
  readonly clock: Clock;
  readonly random: Random;
  readonly encoding: RecordEncoding;
  readonly cached: boolean;
  readonly log: Log;
  /** Whether there are several servers. */
  readonly isReplicated: boolean;
}

/**
 * A store in etcd, which other processes may use too. Reads are served from a local copy, once it has reached the
 * revision that etcd had when the read began; watchers are served from the copy as well. By the time a write resolves,
 * its event has been delivered to watchers, unless the connection is broken.
 */
export class EtcdStore implements Store {
  readonly shared = true;
  readonly #parts: Parts;
  /** The newest revision of the servers, for reads that must see it. */
  readonly #newest: Barrier<number>;
  readonly #writing = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();
  #closed: Promise<void> | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#newest = new Barrier(() => parts.client.revision());
    if (parts.isReplicated) probeMembers(parts.client, parts.clock, parts.log, this.#closing.signal);
  }

  get continuity(): Continuity {
    return this.#parts.client.history;
  }

  async revision(): Promise<number> {
    this.#open();
    return this.#newest.pass();
  }

  async compacted(): Promise<number> {
    return this.#open().client.compacted();
  }

  async get(key: string, {near = false}: ReadOptions = {}): Promise<StoredRecord | undefined> {
    const {client, stream, cached} = this.#open();
    if (key === '') return undefined;
    if (near && (await this.#isNear(key, key))) {
      const known = stream.cache.get(key);
      // An absent key may have been created a moment ago.
      if (known || !stream.isLive) return known;
    }
    if (cached && stream.cache.covers(key, key) && (await stream.soonReached(await this.#newest.pass(), cacheTimeoutMs)))
      return stream.cache.get(key);
    const {kvs} = await client.range({start: key});
    return kvs[0] && stream.cache.decoded(kvs[0]);
  }

  async range({start, end, limit = Infinity, bytes = Infinity, filter, revision, near = false}: RangeQuery): Promise<Range> {
    const {stream, cached} = this.#open();
    const {cache} = stream;
    const bounds: Bounds = {start, end, limit, bytes, filter};
    if (near && revision === undefined && (await this.#isNear(start, end))) return this.#fromCache(bounds, cache.revision);
    if (revision !== undefined && revision <= cache.revision) {
      if (revision >= cache.oldest && cache.covers(start, end)) return this.#fromCache(bounds, revision);
      return this.#fromServer({...bounds, revision});
    }
    const newest = await this.#newest.pass();
    if (revision !== undefined && revision > newest) throw new FutureRevision(newest);
    if (!(cached || revision !== undefined) || !cache.covers(start, end) || !(await stream.soonReached(newest, cacheTimeoutMs)))
      return this.#fromServer({...bounds, ...(revision === undefined ? {} : {revision})});
    return this.#fromCache(bounds, revision ?? cache.revision);
  }

  async count(start: string, end: string, revision?: number): Promise<number> {
    const {client, stream} = this.#open();
    if (compareKeys(start, end) >= 0) return 0;
    const {cache} = stream;
    if (revision !== undefined)
      return cache.covers(start, end) && cache.revision === revision ? cache.count(start, end) : this.#countAtServer(start, end, revision);
    if (cache.covers(start, end) && (await stream.soonReached(await this.#newest.pass(), cacheTimeoutMs))) return cache.count(start, end);
    return (await client.range({start, end, countOnly: true})).count;
  }

  create(key: string, value: Buffer, options: WriteOptions = {}): Promise<number> {
    return this.#put(key, value, {...options, expected: 0, refusal: () => new KeyExists(`${key} exists`)});
  }

  async update(key: string, value: Buffer, expected: number, options: WriteOptions = {}): Promise<number> {
    this.#open();
    // For etcd an expected revision of zero means an absent key.
    if (expected === 0) throw mismatch(key, expected);
    return this.#put(key, value, {...options, expected, refusal: () => mismatch(key, expected)});
  }

  async delete(key: string, expected: number): Promise<number> {
    this.#open();
    if (expected === 0 || key === '') throw mismatch(key, expected);
    return this.#write(() => this.#transact(key, expected, 'delete', () => mismatch(key, expected)));
  }

  watch(query: WatchQuery, watcher: Watcher): Disposable {
    return this.#open().stream.watch(query, watcher);
  }

  async compact(revision: number): Promise<void> {
    const {client, stream} = this.#open();
    const newest = await client.revision();
    if (revision > newest) throw new FutureRevision(newest);
    await client.compact(revision);
    await stream.soonReached(revision, cacheTimeoutMs);
    stream.cache.compact(revision);
  }

  async lease(seconds: number): Promise<LeaseId> {
    const {client, random} = this.#open();
    // Chosen here, since etcd's ids exceed the safe integers.
    const id = 1 + Math.floor(random.float() * (Number.MAX_SAFE_INTEGER - 1));
    await client.grant(Math.min(Math.ceil(seconds), longestLeaseSeconds), id);
    return id;
  }

  async size(): Promise<number> {
    return this.#open().client.size();
  }

  async takeTurn(turn: number, revision: number): Promise<CompactionTurn> {
    const {client} = this.#open();
    const {
      succeeded,
      found,
      revision: newest,
    } = await client.transact({
      key: compactionKey,
      expected: {version: turn},
      apply: {put: Buffer.from(String(revision))},
      otherwise: 'get',
    });
    return {taken: succeeded, next: succeeded ? turn + 1 : (found?.version ?? 0), revision: newest};
  }

  close(): Promise<void> {
    return (this.#closed ??= this.#shut());
  }

  async #shut(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#writing);
    this.#parts.stream[Symbol.dispose]();
    await this.#parts.client.close();
  }

  #open(): Parts {
    if (this.#closed) throw new StoreClosed();
    return this.#parts;
  }

  /**
   * Whether the cache may answer a read that need not see the newest revision: while the watch is live. While it is
   * interrupted, the cache may be behind, but is better than no answer from servers that do not answer soon.
   */
  async #isNear(start: string, end: string): Promise<boolean> {
    const {stream, client, cached} = this.#parts;
    if (!cached || !stream.isUsable || !stream.cache.covers(start, end)) return false;
    if (stream.isLive) return true;
    return client.probe(nearTimeoutMs).then(
      () => false,
      () => true,
    );
  }

  #fromCache({start, end, ...extent}: Bounds, revision: number): Range {
    if (extent.limit < 1 || compareKeys(start, end) >= 0) return {records: [], revision, more: false};
    const {records, more, reached} = this.#parts.stream.cache.range(start, end, extent, revision);
    return {records, revision, more, reached};
  }

  async #fromServer({start, end, limit, bytes, filter, revision}: Bounds & {readonly revision?: number}): Promise<Range> {
    const {client, stream} = this.#parts;
    if (limit < 1 || compareKeys(start, end) >= 0) return {records: [], revision: revision ?? (await client.revision()), more: false};
    // The servers limit a response by records only.
    const most = bytes === Infinity && !filter ? limit : Math.min(limit, recordsPerPage);
    try {
      const {
        kvs,
        more,
        revision: read,
      } = await client.range({start, end, limit: most === Infinity ? 0 : most, ...(revision === undefined ? {} : {revision})});
      const page = new PageReader({limit: most, bytes, filter});
      for (const kv of kvs) if (!page.add(stream.cache.decoded(kv))) break;
      return {records: page.records, revision: revision ?? read, more: more || page.more, reached: page.reached};
    } catch (error) {
      throw error instanceof HistoryGone ? new Compacted(await client.compacted()) : error;
    }
  }

  async #countAtServer(start: string, end: string, revision: number): Promise<number> {
    const {client} = this.#open();
    try {
      return (await client.range({start, end, revision, countOnly: true})).count;
    } catch (error) {
      throw error instanceof HistoryGone ? new Compacted(await client.compacted()) : error;
    }
  }

  async #put(
    key: string,
    value: Buffer,
    {expected, lease, encoded, refusal}: WriteOptions & {expected: number; refusal(): Error},
  ): Promise<number> {
    const {encoding, stream} = this.#open();
    checkKey(key);
    if (value.length > longestRecord) throw new ValueTooLarge('etcdserver: request is too large');
    return this.#write(async () => {
      const bytes = encoded ?? encoding.encode(key, value);
      using _ = stream.cache.expect(key, bytes, value);
      return await this.#transact(key, expected, {put: bytes, lease}, refusal);
    });
  }

  async #transact(key: string, expected: number, apply: Operation, refusal: () => Error): Promise<number> {
    const {client, stream} = this.#parts;
    const {succeeded, revision} = await client.transact({key, expected: {revision: expected}, apply});
    // Watchers have received the conflicting write before the rejection.
    await stream.soonReached(revision, cacheTimeoutMs);
    if (!succeeded) throw refusal();
    return revision;
  }

  /** Delays closing until a write is done. Holds the clock meanwhile. */
  async #write(act: () => Promise<number>): Promise<number> {
    const writing = withClockHeld(this.#parts.clock, act);
    this.#writing.add(writing);
    try {
      return await writing;
    } finally {
      this.#writing.delete(writing);
    }
  }
}

const mismatch = (key: string, expected: number): RevisionMismatch => new RevisionMismatch(`${key} is not at revision ${expected}`);
