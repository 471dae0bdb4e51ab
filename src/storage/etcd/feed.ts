import {exponential} from '#src/base/backoff.js';
import {sleep, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {Compacted} from '#src/storage/errors.js';
import {HistoryGone, type EtcdClient} from './client.js';
import type {KeyValue} from './messages.js';
import {Mirror, type MirrorSettings} from './mirror.js';

export interface FeedSettings extends MirrorSettings {
  readonly client: EtcdClient;
}

/** So much of the history before the start can be followed, as far as the store still has it. */
const historyAtStart = 10_000;
const pageSize = 2000;
const delay = exponential(50, 2000);

/** The first and the end of all keys: every revision changes one, so who hears all keys knows how far it has heard. */
const everything = {start: '\0', end: '\0'};

interface Waiting {
  readonly revision: number;
  readonly resolve: (reached: boolean) => void;
  readonly timer: Disposable | undefined;
}

/** Keeps a mirror in step with the store by one watch over all of it, which is begun again where it ended whenever it breaks. */
export class Feed implements Disposable {
  readonly mirror: Mirror;
  readonly #client: EtcdClient;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #prefix: string;
  readonly #closing = new AbortController();
  readonly #waiting = new Set<Waiting>();
  #watch: Disposable | undefined;
  #isLive = false;
  #begun: () => void = () => {};
  readonly #beginning = new Promise<void>(resolve => (this.#begun = resolve));

  private constructor({client, clock, log, prefix}: FeedSettings, mirror: Mirror) {
    this.#client = client;
    this.#clock = clock;
    this.#log = log;
    this.#prefix = prefix;
    this.mirror = mirror;
  }

  /** Resolves once the mirror holds what there was at the time of the call, and what is written from then on will be heard. */
  static async begin(settings: FeedSettings): Promise<Feed> {
    const {client, prefix} = settings;
    const newest = await client.revision();
    for (;;) {
      const from = Math.max(1, await client.compacted(), newest - historyAtStart);
      try {
        const mirror = new Mirror(settings, await readAll(client, prefix, from), from);
        const feed = new Feed(settings, mirror);
        feed.#follow().catch((error: unknown) => settings.clock.unhandled(error));
        await feed.#beginning;
        while (!(await feed.reached(newest, 1000)));
        return feed;
      } catch (error) {
        // Somebody compacted what is being read.
        if (!(error instanceof HistoryGone)) throw error;
      }
    }
  }

  /** Whether changes are heard as they come. */
  get isLive(): boolean {
    return this.#isLive;
  }

  /** Resolves to true once the mirror has reached the revision; to false when that takes too long, or cannot be hoped for. */
  reached(revision: number, patienceMs: number): Promise<boolean> {
    if (this.mirror.revision >= revision) return Promise.resolve(true);
    if (this.#closing.signal.aborted) return Promise.resolve(false);
    const hold = this.#clock.hold();
    return new Promise<boolean>(resolve => {
      const waiting: Waiting = {
        revision,
        resolve,
        timer: this.#clock.schedule(patienceMs, () => this.#settle(waiting, false)),
      };
      this.#waiting.add(waiting);
    }).finally(() => hold[Symbol.dispose]());
  }

  /** As `reached`, for who would rather not wait while the watch is broken. */
  soonReached(revision: number, patienceMs: number): Promise<boolean> {
    return this.#isLive || this.mirror.revision >= revision ? this.reached(revision, patienceMs) : Promise.resolve(false);
  }

  [Symbol.dispose](): void {
    this.#closing.abort();
    this.#watch?.[Symbol.dispose]();
    this.#release();
    this.mirror.close();
  }

  async #follow(): Promise<void> {
    const {signal} = this.#closing;
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        const from = this.mirror.revision;
        await this.#hear(() => (attempt = 0));
        if (this.mirror.revision > from) attempt = 0;
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof Compacted) await this.#reload().catch((failure: unknown) => this.#log.warn({err: failure}, 'reading the store anew failed'));
        else this.#log.warn({err: error}, 'following the store broke off; it is tried again');
        await sleep(this.#clock, delay(attempt), signal).catch(() => {});
      }
    }
  }

  /** Follows until the watch breaks, and rejects with why. */
  async #hear(live: () => void): Promise<never> {
    using beginning = this.#clock.hold();
    try {
      return await new Promise<never>((_, reject) => {
        const heard = ({created, events}: {readonly created: boolean; readonly events: Parameters<Mirror['apply']>[0]}): void => {
          if (created) {
            beginning[Symbol.dispose]();
            this.#isLive = true;
            this.#begun();
            live();
          }
          if (events.length === 0) return;
          this.mirror.apply(events);
          this.#wake();
        };
        this.#client.watch({...everything, from: this.mirror.revision + 1}, heard, reject).then(watch => {
          this.#watch = watch;
          if (this.#closing.signal.aborted) watch[Symbol.dispose]();
        }, reject);
      });
    } finally {
      this.#isLive = false;
      this.#release();
    }
  }

  /** Who missed changes that nobody can tell any more learns what came of them. */
  async #reload(): Promise<void> {
    const revision = await this.#client.revision();
    const kvs = await readAll(this.#client, this.#prefix, revision);
    this.mirror.replace(kvs, revision);
    this.#log.warn({revision}, 'changes of the store were missed: it was read anew');
    this.#wake();
  }

  #wake(): void {
    const {revision} = this.mirror;
    for (const waiting of this.#waiting) if (waiting.revision <= revision) this.#settle(waiting, true);
  }

  #release(): void {
    for (const waiting of this.#waiting) this.#settle(waiting, false);
  }

  #settle(waiting: Waiting, reached: boolean): void {
    this.#waiting.delete(waiting);
    waiting.timer?.[Symbol.dispose]();
    waiting.resolve(reached);
  }
}

const readAll = async (client: EtcdClient, prefix: string, revision: number): Promise<KeyValue[]> => {
  const all: KeyValue[] = [];
  const end = prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
  for (let start = prefix; ; ) {
    const {kvs, more} = await client.range({start, end, limit: pageSize, revision});
    for (const kv of kvs) all.push(kv);
    if (!more) return all;
    start = `${kvs.at(-1)!.key}\0`;
  }
};
