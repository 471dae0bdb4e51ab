import type {Subscriber} from 'rxjs';
import type {KubeObject} from '#src/api/types.js';
import {guarded, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {Pieces} from '#src/base/turn.js';
import type {Change} from './change.js';

export interface DeliveryOptions<T extends KubeObject> {
  readonly clock: Clock;
  readonly log: Log;
  /** Names the informer in logs. */
  readonly name: string;
  /** Those who listen at the moment. */
  readonly listeners: () => readonly Subscriber<Change<T>>[];
  /** Told of a change that could not be taken in. */
  readonly failed: (error: unknown) => void;
}

/** What happened to the cache at once. */
interface News<T extends KubeObject> {
  readonly changes: readonly Change<T>[];
  readonly listeners: readonly Subscriber<Change<T>>[];
  readonly handled: () => void;
  /** How many of the changes were told. */
  told: number;
}

/**
 * Tells listeners of changes in one order, however long it takes: what comes while some of them are still to be told waits its turn, and so does the cache. A list is told
 * in pieces, with a turn of the event loop for everybody else in between.
 */
export class Delivery<T extends KubeObject> {
  readonly #options: DeliveryOptions<T>;
  readonly #pieces: Pieces;
  readonly #pending: {readonly change: () => readonly Change<T>[]; readonly handled: () => void}[] = [];
  #news: News<T> | undefined;
  #isBusy = false;
  #isStopped = false;

  constructor(options: DeliveryOptions<T>) {
    this.#options = options;
    this.#pieces = new Pieces(options.clock);
  }

  /** Whether everything was told. */
  get isIdle(): boolean {
    return !this.#isBusy && this.#pending.length === 0;
  }

  /** Changes the cache, tells all who listen at that moment, and then calls `handled`. What a listener sets off while being told waits. */
  add(change: () => readonly Change<T>[], handled: () => void = () => {}): void {
    this.#pending.push({change, handled});
    if (!this.#isBusy) this.#work();
  }

  /** Nobody is told of anything any more. */
  stop(): void {
    this.#isStopped = true;
    this.#pending.length = 0;
  }

  #work(): void {
    this.#isBusy = true;
    let pause: Promise<void> | undefined;
    try {
      while (!pause && this.#take()) pause = this.#tell();
    } finally {
      this.#isBusy = pause !== undefined;
    }
    if (pause) this.#goOnAfter(pause);
  }

  /** Whether there is something to tell. */
  #take(): boolean {
    if (this.#isStopped) return false;
    if (this.#news) return true;
    const next = this.#pending.shift();
    if (!next) return false;
    const listeners = this.#options.listeners();
    this.#news = {changes: this.#changes(next.change), listeners, handled: next.handled, told: 0};
    return true;
  }

  /** What a change of the cache is to be told as. One that fails holds up neither those behind it nor what waits for it. */
  #changes(change: () => readonly Change<T>[]): readonly Change<T>[] {
    try {
      return change();
    } catch (error) {
      this.#options.failed(error);
      return [];
    }
  }

  /** Tells all that is left of the news, or returns what is to be waited for before it goes on. */
  #tell(): Promise<void> | undefined {
    const news = this.#news!;
    for (; news.told < news.changes.length && !this.#isStopped; news.told++) {
      const pause = this.#pieces.pause();
      if (pause) return pause;
      const change = news.changes[news.told]!;
      for (const listener of news.listeners) listener.next(change);
    }
    this.#news = undefined;
    if (!this.#isStopped) news.handled();
    return undefined;
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
