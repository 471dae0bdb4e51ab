import type {Clock} from '#src/base/clock.js';
import {Compacted} from '#src/storage/errors.js';
import type {Change, WatchQuery, Watcher} from '#src/storage/store.js';
import {WatcherIndex} from './watcher-index.js';
import type {StorageEngine} from './engine.js';
import {Watch} from './watch.js';

/** How many changes of history a watch examines in one turn of the event loop. */
const scanBatch = 1000;

/** How long after a change the unaffected watchers are notified of progress. */
const progressAfterMs = 100;

/** The watchers of a store. Each receives commits in order and is isolated from the errors of the others. */
export class Watchers {
  readonly #engine: StorageEngine;
  readonly #clock: Clock;
  readonly #live = new WatcherIndex<Watch>();
  readonly #reading = new Set<Watch>();
  /** Watches that want progress, live or not. */
  readonly #wantingProgress = new Set<Watch>();
  #notified: number;
  #progressTimer: Disposable | undefined;

  constructor(engine: StorageEngine, clock: Clock) {
    this.#engine = engine;
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
  notify(changes: readonly Change[], upTo = changes.at(-1)?.revision): void {
    if (upTo === undefined) return;
    this.#notified = upTo;
    for (const [watches, concerned] of this.#live.affectedBy(changes)) {
      for (const watch of watches) if (!watch.deliver(concerned, upTo)) this.#drop(watch);
    }
    if (this.#wantingProgress.size > 0) this.#progressTimer ??= this.#clock.schedule(progressAfterMs, () => this.#progress());
  }

  end(error?: Error): void {
    this.#progressTimer?.[Symbol.dispose]();
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
    const hold = this.#clock.hold();
    const step = () => {
      let more = false;
      try {
        more = this.#readNext(watch);
      } catch (error) {
        this.#reading.delete(watch);
        watch.end(error as Error);
      }
      if (more) setImmediate(step);
      else hold[Symbol.dispose]();
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
      const {changes, reached} = this.#engine.history({...watch.query, after: watch.position, upTo: this.#notified, scan: scanBatch});
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
