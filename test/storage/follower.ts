import {endOfPrefix, type Change, type Store, type Watcher} from '#src/storage/store.js';

/** A watcher that records all events. */
export class Follower implements Watcher, Disposable {
  readonly received: Change[] = [];
  readonly progressed: number[] = [];
  readonly batches: number[] = [];
  readonly endings: (Error | undefined)[] = [];
  readonly #handle: Disposable;
  #wake: () => void = () => {};

  constructor(store: Store, {prefix = '/', after}: {prefix?: string; after: number}) {
    this.#handle = store.watch({start: prefix, end: endOfPrefix(prefix), after}, this);
  }

  changes(batch: readonly Change[]): void {
    this.batches.push(batch.length);
    this.received.push(...batch);
    this.#wake();
  }

  progress(revision: number): void {
    this.progressed.push(revision);
    this.#wake();
  }

  ended(error?: Error): void {
    this.endings.push(error);
    this.#wake();
  }

  /** Resolves once `done` holds; checks again after each event. */
  async until(done: (follower: this) => boolean): Promise<void> {
    while (!done(this)) await new Promise<void>(resolve => (this.#wake = resolve));
  }

  [Symbol.dispose](): void {
    this.#handle[Symbol.dispose]();
  }
}

/** A change in short: `+a 5` for a creation, `~a 6` for an update, `-a 7` for a deletion. */
export const brief = ({key, revision, record, previous}: Change): string => `${record ? (previous ? '~' : '+') : '-'}${key} ${revision}`;
