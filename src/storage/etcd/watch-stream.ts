import {exponential} from '#src/base/backoff.js';
import {sleep, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {Compacted} from '#src/storage/errors.js';
import {HistoryGone, type EtcdClient} from './client.js';
import type {KeyValue} from './messages.js';
import {WatchCache, type WatchCacheSettings} from './watch-cache.js';

export interface WatchStreamSettings extends WatchCacheSettings {
  readonly client: EtcdClient;
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

/** Keeps a watch cache up to date through one watch over the whole store, which resumes where it ended whenever it breaks. */
export class WatchStream implements Disposable {
  readonly cache: WatchCache;
  readonly #client: EtcdClient;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #prefix: string;
  readonly #closing = new AbortController();
  readonly #waiters = new Set<Waiter>();
  #watch: Disposable | undefined;
  #isLive = false;
  #markStarted: () => void = () => {};
  readonly #started = new Promise<void>(resolve => (this.#markStarted = resolve));

  private constructor({client, clock, log, prefix}: WatchStreamSettings, cache: WatchCache) {
    this.#client = client;
    this.#clock = clock;
    this.#log = log;
    this.#prefix = prefix;
    this.cache = cache;
  }

  /** Resolves once the cache holds the state at the time of the call and receives later changes. */
  static async begin(settings: WatchStreamSettings): Promise<WatchStream> {
    const {client, prefix} = settings;
    const newest = await client.revision();
    for (;;) {
      const from = Math.max(1, await client.compacted(), newest - historyAtStart);
      try {
        const cache = new WatchCache(settings, await readAll(client, prefix, from), from);
        const stream = new WatchStream(settings, cache);
        stream.#follow().catch((error: unknown) => settings.clock.unhandled(error));
        await stream.#started;
        while (!(await stream.reached(newest, 1000)));
        return stream;
      } catch (error) {
        // The revision was compacted during the read.
        if (!(error instanceof HistoryGone)) throw error;
      }
    }
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
    this.#watch?.[Symbol.dispose]();
    this.#release();
    this.cache.close();
  }

  async #follow(): Promise<void> {
    const {signal} = this.#closing;
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        const from = this.cache.revision;
        await this.#receive(() => (attempt = 0));
        if (this.cache.revision > from) attempt = 0;
      } catch (error) {
        if (signal.aborted) return;
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
    try {
      return await new Promise<never>((_, reject) => {
        const received = ({created, events}: {readonly created: boolean; readonly events: Parameters<WatchCache['apply']>[0]}): void => {
          if (created) {
            beginning[Symbol.dispose]();
            this.#isLive = true;
            this.#markStarted();
            live();
          }
          if (events.length === 0) return;
          this.cache.apply(events);
          this.#wake();
        };
        this.#client.watch({...everything, from: this.cache.revision + 1}, received, reject).then(watch => {
          this.#watch = watch;
          if (this.#closing.signal.aborted) watch[Symbol.dispose]();
        }, reject);
      });
    } finally {
      this.#isLive = false;
      this.#release();
    }
  }

  /** Reads all records again after changes were missed, and notifies watchers of the differences. */
  async #reload(): Promise<void> {
    const revision = await this.#client.revision();
    const kvs = await readAll(this.#client, this.#prefix, revision);
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

const readAll = async (client: EtcdClient, prefix: string, revision: number): Promise<KeyValue[]> => {
  const all: KeyValue[] = [];
  const end = prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
  for (let start = prefix; ;) {
    const {kvs, more} = await client.range({start, end, limit: pageSize, revision});
    for (const kv of kvs) all.push(kv);
    if (!more) return all;
    start = `${kvs.at(-1)!.key}\0`;
  }
};
