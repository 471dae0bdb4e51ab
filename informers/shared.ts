import {Observable, type Subscription} from 'rxjs';
import {keyOf, keyText, type Frozen} from '#src/api/key.js';
import {isGone, isNotFound} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {guarded, withClockHeld, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import {jittered, type Random} from '#src/base/random.js';
import {onAbort} from '#src/base/signals.js';
import {runStepsYielding, type Steps} from '#src/base/steps.js';
import {Yielder} from '#src/base/turn.js';
import {Cache} from './cache.js';
import type {Change} from './change.js';
import {Delivery} from './delivery.js';
import {follow} from './follow.js';
import type {Followed, FollowOptions} from './following.js';
import {informerMetrics, type InformerMetrics} from './informer-metrics.js';
import type {ListerWatcher} from './lister-watcher.js';
import type {Index, Lister} from './lister.js';
import {Refusals} from './refusal.js';
import {Replay, type Listener, type Receiver} from './replay.js';
import type {Shape} from './selection.js';
import {isShort} from './stream-fault.js';
import {deepFrozen, metadataOf, trimmed} from './trim.js';

export interface SharedInformerOptions extends Pick<FollowOptions, 'silenceMs' | 'pageMs' | 'pageSize' | 'watchSeconds'> {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  /** The component that uses the informer, as a label of metrics. */
  readonly component?: string;
  /** Names the informer in logs and metrics. */
  readonly name: string;
  readonly apiVersion: string;
  readonly kind: string;
  /**
   * The resync period: every object is delivered again after a random time between this and twice this. Zero disables
   * resyncs.
   */
  readonly minResyncMs: number;
  /** Whether the cache keeps only the metadata of objects. */
  readonly metadataOnly?: boolean;
  /** What the cache keeps of each object. */
  readonly shape?: Shape<KubeObject>;
  /** Whether objects are deeply frozen, so that a change to a shared object throws. Used by tests. */
  readonly freeze?: boolean;
  /**
   * Called each time the server responds that it does not serve the collection; such a response is then no error.
   * Without it the informer logs a warning.
   */
  readonly onMissing?: () => void;
}

/**
 * The number of objects of the first list that are added to the cache at once, and of those of a resync that are queued
 * at once.
 */
const pieceSize = 200;

/**
 * Lists and watches one collection, keeps a cache of it, and delivers its changes to many listeners. The cache is
 * updated before a change is delivered. All listeners receive all changes in the same order: at once, or in slices
 * between which the event loop runs, where there are many, as after a list. A listener that is added later first
 * receives every cached object as `added`, in slices as well. The informer is synced once every object of the first
 * list has been delivered.
 */
export class SharedInformer<T extends KubeObject = KubeObject> {
  /** An `added` for each cached object, and then every change. Completes when the informer is stopped. */
  readonly changes: Observable<Change<T>>;
  readonly #api: ListerWatcher<T>;
  readonly #options: SharedInformerOptions;
  readonly #cache: Cache<T>;
  readonly #listeners = new Set<Listener<T>>();
  readonly #pieces: Yielder;
  readonly #delivery: Delivery<T>;
  readonly #waiters = new Set<{readonly synced: () => void; readonly refused: (error: Error) => void}>();
  #metrics: InformerMetrics | undefined;
  #subscription: Subscription | undefined;
  #resync: Disposable | undefined;
  #synced = false;
  /** The number of subscribers that have not received all cached objects yet. */
  #replays = 0;

  constructor(api: ListerWatcher<T>, options: SharedInformerOptions) {
    this.#api = this.#trimming(api);
    this.#options = options;
    this.#pieces = new Yielder(options.clock);
    this.#cache = new Cache<T>((error, object) => this.#stumbled(error, 'an index failed on an object', object));
    this.#delivery = new Delivery({
      ...options,
      listeners: () => [...this.#listeners],
      failed: error => this.#stumbled(error, 'an event could not be taken in'),
    });
    this.changes = new Observable(subscriber => {
      const replay = this.#replayTo(subscriber);
      subscriber.add(() => this.#listeners.delete(replay));
    });
  }

  get lister(): Lister<T> {
    return this.#cache;
  }

  get isSynced(): boolean {
    return this.#synced;
  }

  get name(): string {
    return this.#options.name;
  }

  /**
   * Calls `listener` with each of `changes`. An error that it throws is logged, and the next change is delivered to it
   * regardless. With `listed`, objects of the first list are handed to that instead, many at a time, before other
   * listeners receive them one by one.
   */
  listen(listener: (change: Change<T>) => void, listed?: (objects: readonly Frozen<T>[]) => void): Disposable {
    const told = (tell: () => void, object: Frozen<T>) => {
      if (receiver.closed) return;
      try {
        tell();
      } catch (error) {
        this.#stumbled(error, 'a listener failed on a change', object);
      }
    };
    const receiver = {
      closed: false,
      next: (change: Change<T>) => told(() => listener(change), change.object),
      ...(listed ? {listed: (objects: readonly Frozen<T>[]) => told(() => listed(objects), objects[0]!)} : {}),
      complete: () => void (receiver.closed = true),
    };
    const replay = this.#replayTo(receiver);
    return {
      [Symbol.dispose]: () => {
        receiver.closed = true;
        this.#listeners.delete(replay);
      },
    };
  }

  #replayTo(receiver: Receiver<T>): Replay<T> {
    // The list is read and the receiver added in one turn, so that no change is missed or delivered twice.
    const replay = new Replay(receiver, this.#cache.list());
    this.#listeners.add(replay);
    const delivery = replay.run(this.#pieces, this.#options.clock);
    if (delivery) {
      this.#replays++;
      void delivery.finally(() => {
        this.#replays--;
        this.#reportSynced();
      });
    }
    return replay;
  }

  /** Starts to list and watch, until the signal aborts, and keeps the process running. Further calls have no effect. */
  start(signal: AbortSignal): void {
    if (this.#subscription || signal.aborted) return;
    const {clock, random, meter, log, name, component = '', minResyncMs} = this.#options;
    const metrics = informerMetrics(meter, clock, {component, name}, {size: () => this.#cache.size, isSynced: () => this.#synced});
    this.#metrics = metrics;
    const refusals = new Refusals(clock, name);
    const following: FollowOptions = {
      ...this.#options,
      onAttempt: what => metrics.attempt(what),
      onFallback: error => log.v(4).info({informer: name, err: error}, 'the objects of a collection could not be streamed and are listed'),
      onError: (error, waitMs) => {
        metrics.failed(error);
        this.#report(error, waitMs);
        const refusal = refusals.after(error);
        if (refusal) for (const {refused} of this.#waiters) refused(refusal);
      },
    };
    const keep = (object: T, held: number) => this.#kept(object, held) as T; // As items of lists are.
    this.#subscription = follow(this.#api, following, keep).subscribe(event =>
      guarded(
        () => this.#take(event),
        error => log.error({informer: name, err: error}, 'an event could not be taken in'),
      ),
    );
    if (minResyncMs > 0) this.#remindEvery(jittered(random, minResyncMs, 1));
    const alive = clock.keepAlive();
    onAbort(signal, () => {
      alive[Symbol.dispose]();
      this.#stop();
    });
  }

  /**
   * Resolves once synced, and once the present listeners have received all cached objects. Rejects with the signal's
   * reason if the signal aborts first, and with `ListRefused` when the server has refused the list (401, 403, 404) for
   * half a minute; the informer then continues to retry.
   */
  whenSynced(signal: AbortSignal): Promise<void> {
    if (this.#synced && this.#replays === 0) return Promise.resolve();
    return new Promise((resolve, reject) => {
      let aborted: Disposable | undefined;
      const settle = (then: () => void) => {
        this.#waiters.delete(waiter);
        aborted?.[Symbol.dispose]();
        then();
      };
      const waiter = {synced: () => settle(resolve), refused: (error: Error) => settle(() => reject(error))};
      this.#waiters.add(waiter);
      aborted = onAbort(signal, () => settle(() => reject(signal.reason as Error)));
    });
  }

  /**
   * Creates indexes of a cache that may be full, in slices between which the event loop runs. Resolves once lookups use
   * them. A lookup before that builds its index at once.
   */
  whenIndexed(...indexes: readonly Index<T>[]): Promise<void> {
    return withClockHeld(this.#options.clock, () => runStepsYielding(this.#cache.indexing(indexes), this.#pieces));
  }

  #stumbled(error: unknown, message: string, object?: Frozen<T>): void {
    const {log, name} = this.#options;
    log.error({informer: name, ...(object ? {key: keyText(keyOf(object))} : {}), err: error}, message);
    this.#metrics?.stumbled();
  }

  /**
   * Logs a failure: as a warning, unless it is expected, as when a definition was deleted, or is not served yet by the
   * kind's only informer.
   */
  #report(error: unknown, waitMs: number): void {
    const {log, name, onMissing} = this.#options;
    const isMissing = isNotFound(error);
    const isNoFault = isGone(error) || (onMissing ? isMissing || isShort(error) : isMissing && this.#synced);
    (isNoFault ? log.v(2).info : log.warn)(
      {informer: name, err: error, waitMs: Math.round(waitMs)},
      'following a collection failed and is tried again',
    );
    if (isMissing) onMissing?.();
  }

  #stop(): void {
    this.#subscription?.unsubscribe();
    this.#delivery.stop();
    this.#resync?.[Symbol.dispose]();
    this.#metrics?.[Symbol.dispose]();
    for (const listener of this.#listeners) listener.complete();
  }

  #take(event: Followed<T>): void {
    this.#metrics?.heard();
    if (event.type === 'BOOKMARK') return;
    if (event.type === 'listed') {
      const items = event.items as readonly Frozen<T>[]; // As they are kept.
      if (this.#cache.size === 0 && this.#delivery.isIdle) this.#fill(items);
      else this.#delivery.add(() => this.#cache.replacing(items));
      this.#delivery.add(
        () => [],
        () => this.#becomeSynced(),
      );
      return;
    }
    const object = this.#kept(event.object, this.#cache.size);
    this.#delivery.add(() => (event.type === 'DELETED' ? this.#cache.remove(object) : this.#cache.apply(object)));
  }

  /** Adds the first list to the cache in slices: no reader relies on the cache before it is synced. */
  #fill(items: readonly Frozen<T>[]): void {
    for (let from = 0; from < items.length; from += pieceSize)
      this.#delivery.add(() => this.#cache.addListed(items.slice(from, from + pieceSize)));
  }

  /**
   * Trims the objects of a list page by page, so that no more than one page of whole objects is in memory, and each
   * page in slices.
   */
  #trimming(api: ListerWatcher<T>): ListerWatcher<T> {
    let listed = 0;
    return {
      watch: options => api.watch(options),
      initialEventsEnd: api.initialEventsEnd,
      isProbed: api.isProbed && (() => api.isProbed!()),
      list: async options => {
        if (!options.continue) listed = 0;
        const page = await api.list(options);
        // After 410 Gone a page is the whole collection.
        using _ = this.#options.clock.hold();
        const items: T[] = [];
        for (const item of page.items) {
          const pause = this.#pieces.pause();
          if (pause) await pause;
          options.signal?.throwIfAborted();
          items.push(this.#kept(item, listed++) as T);
        }
        return {...page, items};
      },
    };
  }

  #kept(object: T, held: number): Frozen<T> {
    const {metadataOnly, shape, freeze} = this.#options;
    const whole = metadataOnly ? metadataOf(object, this.#options) : trimmed(object, this.#options);
    const kept = shape ? (shape.of(whole, held) as Frozen<T>) : whole;
    return freeze ? deepFrozen(kept) : kept;
  }

  #becomeSynced(): void {
    if (this.#synced) return;
    this.#synced = true;
    this.#reportSynced();
  }

  #reportSynced(): void {
    if (!this.#synced || this.#replays > 0) return;
    for (const {synced} of this.#waiters) synced();
  }

  *#resynced(): Steps<readonly Change<T>[]> {
    const changes: Change<T>[] = [];
    for (const object of this.#cache.list()) {
      changes.push({type: 'updated', object, old: object});
      if (changes.length % pieceSize === 0) yield;
    }
    return changes;
  }

  #remindEvery(periodMs: number): void {
    this.#resync = this.#options.clock.schedule(periodMs, () => {
      this.#remindEvery(periodMs);
      this.#delivery.add(() => this.#resynced());
    });
  }
}
