import {exponential} from '#src/base/backoff.js';
import {sleep, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {onAbort} from '#src/base/signals.js';
import {Compacted} from '#src/storage/errors.js';
import type {Watcher, WatchQuery} from '#src/storage/store.js';
import type {EtcdClient} from './client.js';
import type {KeyValue, WatchResponse} from './messages.js';
import {HistoryGone} from './history.js';
import {WatchCache, type WatchCacheSettings} from './watch-cache.js';

export interface WatchStreamSettings extends WatchCacheSettings {
  readonly client: EtcdClient;
  /** Rejects if the data of the servers are not those of this program. */
  verify(): Promise<void>;
}

/** How many revisions before the start stay readable, as far as the store has them. */
const historyAtStart = 10_000;
const pageSize = 2000;
const delay = exponential(50, 2000);

/** The range of all keys: every revision changes one, so a watch of all keys knows its progress. */
const everything = {start: '\0', end: '\0'};

interface Waiter {
  readonly revision: number;
  readonly resolve: (reached: boolean) => void;
  readonly timer: Disposable | undefined;
}

/**
 * Keeps a watch cache up to date through one watch over the whole store, which resumes where it ended whenever it
 * breaks. When the data of the servers were replaced, all watches end with `Compacted`, and an empty cache takes the
 * place of the old one until the data were read again.
 */
export class WatchStream implements Disposable {
  readonly #settings: WatchStreamSettings;
  #cache: WatchCache;
  readonly #client: EtcdClient;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #prefix: string;
  readonly #closing = new AbortController();
  readonly #waiters = new Set<Waiter>();
  readonly #replacement: Disposable;
  #watch: Disposable | undefined;
  /** Ends the watch that is being received. */
  #interrupt: (reason: Error) => void = () => {};
  #isLive = false;
  /** Whether a watch was begun before: then the servers may have changed since. */
  #isBegun = false;
  #markStarted: () => void = () => {};
  readonly #started = new Promise<void>(resolve => (this.#markStarted = resolve));

  private constructor(settings: WatchStreamSettings, cache: WatchCache) {
    const {client, clock, log, prefix} = settings;
    this.#settings = settings;
    this.#client = client;
    this.#clock = clock;
    this.#log = log;
    this.#prefix = prefix;
    this.#cache = cache;
    this.#replacement = client.history.onReplaced(reason => this.#discard(reason));
  }

  /**
   * Resolves once the cache holds the state at the time of the call and receives later changes. Rejects with the
   * signal's reason when that aborts.
   */
  static async begin(settings: WatchStreamSettings, signal?: AbortSignal): Promise<WatchStream> {
    const {client, prefix} = settings;
    for (;;) {
      const newest = await client.revision();
      const {era} = client.history.expect();
      const from = Math.max(1, await client.compacted(), newest - historyAtStart);
      try {
        const cache = new WatchCache(settings, await readAll(client, prefix, from), from);
        const stream = new WatchStream(settings, cache);
        using _ = signal && onAbort(signal, () => stream[Symbol.dispose]());
        stream.#follow().catch((error: unknown) => settings.clock.unhandled(error));
        await stream.#started;
        while (era === client.history.expect().era) {
          signal?.throwIfAborted();
          if (await stream.reached(newest, 1000)) return stream;
        }
        stream[Symbol.dispose]();
      } catch (error) {
        // The revision was compacted during the read.
        if (!(error instanceof HistoryGone)) throw error;
      }
    }
  }

  get cache(): WatchCache {
    return this.#cache;
  }

  /** Watches the cache. While it is being read again, watches end at once. */
  watch(query: WatchQuery, watcher: Watcher): Disposable {
    if (!this.#client.history.problem) return this.#cache.watchers.watch(query, watcher);
    let isOver = false;
    queueMicrotask(() => {
      if (!isOver) watcher.ended(new Compacted(query.after));
    });
    return {[Symbol.dispose]: () => void (isOver = true)};
  }

  /** Whether the cache holds the data of the servers, possibly of some time ago. */
  get isUsable(): boolean {
    return !this.#client.history.problem;
  }

  /** Whether the watch is connected. */
  get isLive(): boolean {
    return this.#isLive;
  }

  /** Resolves to true once the cache has reached the revision; to false on timeout or when the watch ends. */
  reached(revision: number, timeoutMs: number): Promise<boolean> {
    if (this.cache.revision >= revision) return Promise.resolve(true);
    if (this.#closing.signal.aborted) return Promise.resolve(false);
    const hold = this.#clock.hold();
    return new Promise<boolean>(resolve => {
      const waiter: Waiter = {
        revision,
        resolve,
        timer: this.#clock.schedule(timeoutMs, () => this.#settle(waiter, false)),
      };
      this.#waiters.add(waiter);
    }).finally(() => hold[Symbol.dispose]());
  }

  /** As `reached`, without waiting while the watch is disconnected. */
  soonReached(revision: number, timeoutMs: number): Promise<boolean> {
    return this.#isLive || this.cache.revision >= revision ? this.reached(revision, timeoutMs) : Promise.resolve(false);
  }

  [Symbol.dispose](): void {
    this.#closing.abort();
    this.#replacement[Symbol.dispose]();
    this.#watch?.[Symbol.dispose]();
    this.#release();
    this.#markStarted();
    this.cache.close();
  }

  async #follow(): Promise<void> {
    const {signal} = this.#closing;
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        if (this.#client.history.problem) await this.#rebuild();
        const from = this.cache.revision;
        if (this.#isBegun) await this.#checkHistory();
        this.#isBegun = true;
        await this.#receive(() => (attempt = 0));
        if (this.cache.revision > from) attempt = 0;
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof Replaced) continue;
        if (error instanceof Compacted)
          await this.#reload().catch((failure: unknown) => this.#log.warn({err: failure}, 'reading the store anew failed'));
        else this.#log.warn({err: error}, 'following the store broke off; it is tried again');
        await sleep(this.#clock, delay(attempt), signal).catch(() => {});
      }
    }
  }

  /** Receives changes until the watch ends; rejects with the reason. */
  async #receive(live: () => void): Promise<never> {
    using beginning = this.#clock.hold();
    let isOver = false;
    try {
      return await new Promise<never>((_, reject) => {
        this.#interrupt = reject;
        const {history} = this.#client;
        const expected = history.expect();
        const received = ({header, created, events}: WatchResponse): void => {
          // The server of a watch may be behind, so its revision proves nothing; its cluster does.
          history.check({...header, revision: Math.max(header.revision, expected.revision)}, expected);
          if (history.problem) return;
          if (created) {
            beginning[Symbol.dispose]();
            this.#isLive = true;
            this.#markStarted();
            live();
          }
          if (events.length === 0) return;
          this.cache.apply(events);
          history.saw(events);
          this.#wake();
        };
        this.#client.watch({...everything, from: this.cache.revision + 1}, received, reject).then(watch => {
          // If the data are replaced while a watch opens, it is ended before it is stored here: it must not run beside
          // the next one.
          if (isOver || this.#closing.signal.aborted) watch[Symbol.dispose]();
          else this.#watch = watch;
        }, reject);
      });
    } finally {
      isOver = true;
      this.#interrupt = () => {};
      this.#isLive = false;
      this.#release();
    }
  }

  /** Throws `Replaced` for servers with another history: a proxy may have kept the connection to it. */
  async #checkHistory(): Promise<void> {
    const {history} = this.#client;
    await history.verify(request => this.#client.range(request));
    if (history.problem) throw new Replaced();
  }

  /** Ends everything that depends on the old data. */
  #discard(reason: string): void {
    const {revision} = this.#cache;
    this.#log.error({reason, revision}, 'the data of the store were replaced; they are read again, and watches end');
    const old = this.#cache;
    this.#cache = new WatchCache(this.#settings, [], 0);
    this.#isLive = false;
    this.#watch?.[Symbol.dispose]();
    this.#interrupt(new Replaced());
    this.#release();
    old.close(new Compacted(revision));
  }

  /** Reads the replaced data. */
  async #rebuild(): Promise<void> {
    const {history} = this.#client;
    const expected = history.expect();
    await this.#settings.verify();
    const revision = await this.#client.revision();
    const kvs = await readAll(this.#client, this.#prefix, revision);
    if (history.expect().era !== expected.era) throw new Replaced();
    this.#cache = new WatchCache(this.#settings, kvs, revision);
    history.restored();
    this.#log.warn({revision}, 'the replaced data of the store were read');
  }

  /** Reads all records again after changes were missed, and notifies watchers of the differences. */
  async #reload(): Promise<void> {
    const {history} = this.#client;
    const {era} = history.expect();
    const revision = await this.#client.revision();
    const kvs = await readAll(this.#client, this.#prefix, revision);
    if (history.expect().era !== era) return;
    // The last known changes may be compacted in another history.
    const other = this.cache.contradiction(kvs);
    if (other) return history.replaced(`${other.key} has revision ${other.revision}, which it never had before`);
    this.cache.replace(kvs, revision);
    this.#log.warn({revision}, 'changes of the store were missed: it was read anew');
    this.#wake();
  }

  #wake(): void {
    const {revision} = this.cache;
    for (const waiter of this.#waiters) if (waiter.revision <= revision) this.#settle(waiter, true);
  }

  #release(): void {
    for (const waiter of this.#waiters) this.#settle(waiter, false);
  }

  #settle(waiter: Waiter, reached: boolean): void {
    this.#waiters.delete(waiter);
    waiter.timer?.[Symbol.dispose]();
    waiter.resolve(reached);
  }
}

/** The data of the servers were replaced. */
class Replaced extends Error {
  override readonly name = 'Replaced';
}

/** Reads all records below a prefix at a revision. The newest becomes a witness of the history. */
const readAll = async (client: EtcdClient, prefix: string, revision: number): Promise<KeyValue[]> => {
  const all: KeyValue[] = [];
  let newest: KeyValue | undefined;
  const end = prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
  for (let start = prefix; ;) {
    const {kvs, more} = await client.range({start, end, limit: pageSize, revision});
    for (const kv of kvs) {
      all.push(kv);
      if (kv.revision > (newest?.revision ?? 0)) newest = kv;
    }
    if (!more) {
      if (newest) client.history.saw([{isDeletion: false, kv: newest}]);
      return all;
    }
    start = `${kvs.at(-1)!.key}\0`;
  }
};
