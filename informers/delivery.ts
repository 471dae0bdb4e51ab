import type {Frozen} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';
import {guarded, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {isSteps, type Steps, type MaybeSteps} from '#src/base/steps.js';
import {Yielder} from '#src/base/turn.js';
import type {Change} from './change.js';
import type {Listener} from './replay.js';

export interface DeliveryOptions<T extends KubeObject> {
  readonly clock: Clock;
  readonly log: Log;
  /** Names the informer in logs. */
  readonly name: string;
  /** Returns the present subscribers. */
  readonly listeners: () => readonly Listener<T>[];
  /** Called with the error of a change that could not be applied to the cache. */
  readonly failed: (error: unknown) => void;
}

/** An update of the cache that is being made. */
interface Update<T extends KubeObject> {
  readonly work: Steps<readonly Change<T>[]>;
  readonly handled: () => void;
}

/** The changes of one update of the cache, with the subscribers at that time. */
interface News<T extends KubeObject> {
  readonly changes: readonly Change<T>[];
  /** Those that have not taken all of them at once. */
  readonly listeners: readonly Listener<T>[];
  readonly handled: () => void;
  /** Whether they are objects of the first list, which some may have taken. */
  readonly isListed: boolean;
  /** The number of changes that have been delivered to all, and of listeners that have received the next one. */
  delivered: number;
  received: number;
}

/**
 * Updates the cache and delivers its changes to the listeners in one order. An update that is added while another is
 * being delivered is queued, and is applied to the cache only when its turn comes. A long delivery is interrupted, so
 * that the event loop runs in between.
 */
export class Delivery<T extends KubeObject> {
  readonly #options: DeliveryOptions<T>;
  readonly #pieces: Yielder;
  readonly #pending: {readonly change: () => MaybeSteps<readonly Change<T>[]>; readonly handled: () => void}[] = [];
  #update: Update<T> | undefined;
  #news: News<T> | undefined;
  #isBusy = false;
  #isStopped = false;

  constructor(options: DeliveryOptions<T>) {
    this.#options = options;
    this.#pieces = new Yielder(options.clock);
  }

  /** Whether all changes have been delivered. */
  get isIdle(): boolean {
    return !this.#isBusy && this.#pending.length === 0;
  }

  /**
   * Queues an update of the cache: `change` makes it, at once or in steps, its changes are delivered to the subscribers
   * at that time, and then `handled` is called. A listener may call `add`.
   */
  add(change: () => MaybeSteps<readonly Change<T>[]>, handled: () => void = () => {}): void {
    this.#pending.push({change, handled});
    if (!this.#isBusy) this.#work();
  }

  /** Ends all delivery. */
  stop(): void {
    this.#isStopped = true;
    this.#pending.length = 0;
  }

  #work(): void {
    this.#isBusy = true;
    let pause: Promise<void> | undefined;
    try {
      while (!pause && this.#take()) pause = this.#make() ?? this.#deliver();
    } finally {
      this.#isBusy = pause !== undefined;
    }
    if (pause) this.#goOnAfter(pause);
  }

  /** Begins the next update of the cache unless one is being made or delivered. Returns whether there is one. */
  #take(): boolean {
    if (this.#isStopped) return false;
    if (this.#update || this.#news) return true;
    const next = this.#pending.shift();
    if (!next) return false;
    const {handled} = next;
    const begun = this.#tried(next.change);
    if (isSteps(begun)) this.#update = {work: begun, handled};
    else this.#announce(begun, handled);
    return true;
  }

  #announce(changes: readonly Change<T>[], handled: () => void): void {
    const listeners = this.#options.listeners();
    const objects = firstListed(changes);
    const left = objects ? listeners.filter(listener => !takesListed(listener, objects)) : listeners;
    this.#news = {changes, listeners: left, handled, isListed: objects !== undefined, delivered: 0, received: 0};
  }

  /**
   * Goes on with the update of the cache that is being made. Returns a promise to wait for if the event loop has to run
   * first.
   */
  #make(): Promise<void> | undefined {
    while (this.#update) {
      const {work, handled} = this.#update;
      const changes = this.#step(work);
      if (changes) {
        this.#update = undefined;
        this.#announce(changes, handled);
        return undefined;
      }
      const pause = this.#pieces.pause();
      if (pause) return pause;
    }
    return undefined;
  }

  /** Makes one step of an update. Returns its changes with the last. */
  #step(work: Steps<readonly Change<T>[]>): readonly Change<T>[] | undefined {
    return this.#tried(() => {
      const {done, value} = work.next();
      return done ? value : undefined;
    });
  }

  /** An update that fails is reported and counts as empty, so that it does not block later ones. */
  #tried<R>(make: () => R): R | readonly Change<T>[] {
    try {
      return make();
    } catch (error) {
      this.#options.failed(error);
      return [];
    }
  }

  /** Delivers the changes that are left. Returns a promise to wait for if the event loop has to run first. */
  #deliver(): Promise<void> | undefined {
    const news = this.#news;
    if (!news) return undefined;
    for (; news.delivered < news.changes.length && !this.#isStopped; news.delivered++, news.received = 0) {
      const change = news.changes[news.delivered]!;
      // Between listeners too: one change of a large object may take each of them milliseconds.
      for (; news.received < news.listeners.length && !this.#isStopped; news.received++) {
        const pause = this.#pieces.pause();
        if (pause) return pause;
        news.listeners[news.received]!.next(change);
      }
    }
    this.#news = undefined;
    if (!this.#isStopped) news.handled();
    return news.isListed ? this.#pieces.pause() : undefined;
  }

  #goOnAfter(pause: Promise<void>): void {
    const {clock, log, name} = this.#options;
    const hold = clock.hold();
    void pause.then(() => {
      hold[Symbol.dispose]();
      guarded(
        () => this.#work(),
        error => log.error({informer: name, err: error}, 'an event could not be taken in'),
      );
    });
  }
}

/** Returns the objects of changes that are those of a first list; undefined for others. */
const firstListed = <T extends KubeObject>(changes: readonly Change<T>[]): readonly Frozen<T>[] | undefined => {
  if (changes.length < 2 || !changes.every(change => change.type === 'added' && change.initial)) return undefined;
  return changes.map(({object}) => object);
};

/** Hands objects of a first list to a listener if it takes many at a time. Returns whether it does. */
const takesListed = <T extends KubeObject>({listed}: Listener<T>, objects: readonly Frozen<T>[]): boolean => {
  listed?.(objects);
  return listed !== undefined;
};
