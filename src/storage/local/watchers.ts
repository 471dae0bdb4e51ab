import type {Clock} from '#src/base/clock.js';
import {Compacted} from '#src/storage/errors.js';
import type {Change, WatchQuery, Watcher} from '#src/storage/store.js';
import {Audience} from './audience.js';
import type {Medium} from './medium.js';
import {Watch} from './watch.js';

/** How many changes of history a watch looks at before others get their turn. */
const scanAtOnce = 1000;

/** How long after a change the watchers it did not concern are told of the progress. */
const progressAfterMs = 100;

/** All who follow a store. They hear commits in order, each isolated from the faults of the others. */
export class Watchers {
  readonly #medium: Medium;
  readonly #clock: Clock;
  readonly #live = new Audience<Watch>();
  readonly #reading = new Set<Watch>();
  /** Who asked for progress, live or not. */
  readonly #expectant = new Set<Watch>();
  #told: number;
  #progressTimer: Disposable | undefined;

  constructor(medium: Medium, clock: Clock) {
    this.#medium = medium;
    this.#clock = clock;
    this.#told = medium.revision();
  }

  /** The revision up to which live watchers were told. */
  get told(): number {
    return this.#told;
  }

  follow(query: WatchQuery, watcher: Watcher): Disposable {
    const watch = new Watch(query, watcher);
    if (query.after < this.#told || watch.wantsProgress) this.#read(watch);
    else this.#live.add(watch);
    return {
      [Symbol.dispose]: () => {
        watch.leave();
        this.#drop(watch);
      },
    };
  }

  /** Tells a commit, whose changes are in order of revision, up to the revision of the last or the one given. */
  tell(changes: readonly Change[], upTo = changes.at(-1)?.revision): void {
    if (upTo === undefined) return;
    this.#told = upTo;
    for (const [watches, concerned] of this.#live.concernedBy(changes)) {
      for (const watch of watches) if (!watch.tell(concerned, upTo)) this.#drop(watch);
    }
    if (this.#expectant.size > 0) this.#progressTimer ??= this.#clock.schedule(progressAfterMs, () => this.#progress());
  }

  end(error?: Error): void {
    this.#progressTimer?.[Symbol.dispose]();
    const all = [...this.#live.all(), ...this.#reading];
    this.#live.clear();
    this.#reading.clear();
    this.#expectant.clear();
    for (const watch of all) watch.end(error);
  }

  #drop(watch: Watch): void {
    this.#reading.delete(watch);
    this.#expectant.delete(watch);
    this.#live.delete(watch);
  }

  #progress(): void {
    this.#progressTimer = undefined;
    const told = this.#told;
    for (const watch of this.#expectant) if (!watch.progress(told)) this.#drop(watch);
  }

  #read(watch: Watch): void {
    this.#reading.add(watch);
    const hold = this.#clock.hold();
    const step = () => {
      let more = false;
      try {
        more = this.#readOn(watch);
      } catch (error) {
        this.#reading.delete(watch);
        watch.end(error as Error);
      }
      if (more) setImmediate(step);
      else hold[Symbol.dispose]();
    };
    queueMicrotask(step);
  }

  /** Tells the next piece of history; false when there is none left to tell. */
  #readOn(watch: Watch): boolean {
    if (watch.over) return false;
    if (watch.position < this.#medium.compacted()) {
      this.#reading.delete(watch);
      watch.end(new Compacted(this.#medium.compacted()));
      return false;
    }
    if (watch.position < this.#told) {
      const {changes, reached} = this.#medium.history({...watch.query, after: watch.position, upTo: this.#told, scan: scanAtOnce});
      if (!watch.tell(changes, reached)) this.#reading.delete(watch);
      return !watch.over;
    }
    this.#reading.delete(watch);
    this.#live.add(watch);
    if (watch.wantsProgress) {
      this.#expectant.add(watch);
      if (!watch.progress(this.#told)) this.#drop(watch);
    }
    return false;
  }
}
