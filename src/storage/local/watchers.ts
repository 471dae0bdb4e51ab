import type {Clock} from '#src/base/clock.js';
import {Compacted} from '#src/storage/errors.js';
import type {WatchQuery, Watcher} from '#src/storage/store.js';
import {WatcherIndex} from './watcher-index.js';
import type {EngineChange, StorageEngine} from './engine.js';
import {HistoryPieces} from './history-pieces.js';
import {Watch} from './watch.js';

/** How long after a change the unaffected watchers are notified of progress. */
const progressAfterMs = 100;

/** The watchers of a store. Each receives commits in order and is isolated from the errors of the others. */
export class Watchers {
  readonly #engine: StorageEngine;
  readonly #clock: Clock;
  readonly #pieces: HistoryPieces;
  readonly #live = new WatcherIndex<Watch>();
  readonly #reading = new Set<Watch>();
  /** Watches that want progress, live or not. */
  readonly #wantingProgress = new Set<Watch>();
  #notified: number;
  #progressTimer: Disposable | undefined;

  constructor(engine: StorageEngine, clock: Clock) {
    this.#engine = engine;
    this.#pieces = new HistoryPieces(engine);
    this.#clock = clock;
    this.#notified = engine.revision();
  }

  /** The revision up to which live watchers were notified. */
  get notified(): number {
    return this.#notified;
  }

  watch(query: WatchQuery, watcher: Watcher): Disposable {
    const watch = new Watch(query, watcher);
    if (query.after < this.#notified || watch.wantsProgress) this.#read(watch);
    else this.#live.add(watch);
    return {
      [Symbol.dispose]: () => {
        watch.cancel();
        this.#drop(watch);
      },
    };
  }

  /** Delivers a commit, whose changes are in order of revision, up to its last revision or the given one. */
  notify(changes: readonly EngineChange[], upTo = changes.at(-1)?.revision): void {
    if (upTo === undefined) return;
    this.#notified = upTo;
    for (const [watches, concerned] of this.#live.affectedBy(changes)) {
      for (const watch of watches) if (!watch.deliver(concerned, upTo)) this.#drop(watch);
    }
    if (this.#wantingProgress.size > 0) this.#progressTimer ??= this.#clock.schedule(progressAfterMs, () => this.#progress());
  }

  end(error?: Error): void {
    this.#progressTimer?.[Symbol.dispose]();
    this.#pieces.clear();
    const all = [...this.#live.all(), ...this.#reading];
    this.#live.clear();
    this.#reading.clear();
    this.#wantingProgress.clear();
    for (const watch of all) watch.end(error);
  }

  #drop(watch: Watch): void {
    this.#reading.delete(watch);
    this.#wantingProgress.delete(watch);
    this.#live.delete(watch);
  }

  #progress(): void {
    this.#progressTimer = undefined;
    const notified = this.#notified;
    for (const watch of this.#wantingProgress) if (!watch.progress(notified)) this.#drop(watch);
  }

  #read(watch: Watch): void {
    this.#reading.add(watch);
    let hold = this.#clock.hold();
    const step = () => {
      let more = false;
      try {
        more = this.#readNext(watch);
      } catch (error) {
        this.#reading.delete(watch);
        watch.end(error as Error);
      }
      if (!more) return hold[Symbol.dispose]();
      const {pressure} = watch;
      if (!pressure) return void setImmediate(step);
      // A consumer may take any time; the clock must not stand still for it.
      hold[Symbol.dispose]();
      const goOn = () => {
        hold = this.#clock.hold();
        setImmediate(step);
      };
      pressure.then(goOn, goOn);
    };
    queueMicrotask(step);
  }

  /** Delivers the next piece of history. Returns false when none is left. */
  #readNext(watch: Watch): boolean {
    if (watch.over) return false;
    if (watch.position < this.#engine.compacted()) {
      this.#reading.delete(watch);
      watch.end(new Compacted(this.#engine.compacted()));
      return false;
    }
    if (watch.position < this.#notified) {
      const {changes, reached} = this.#pieces.read(watch.query, watch.position, this.#notified);
      if (!watch.deliver(changes, reached)) this.#reading.delete(watch);
      return !watch.over;
    }
    this.#reading.delete(watch);
    this.#live.add(watch);
    if (watch.wantsProgress) {
      this.#wantingProgress.add(watch);
      if (!watch.progress(this.#notified)) this.#drop(watch);
    }
    return false;
  }
}
