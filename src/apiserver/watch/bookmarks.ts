import {guarded, type Clock} from '#src/base/clock.js';

const periodMs = 60_000;

/**
 * Triggers the bookmarks of all watch streams each minute by one timer, so that many streams do not wake the process at
 * different times.
 */
export class Bookmarks {
  readonly #clock: Clock;
  readonly #marks = new Set<() => void>();
  #timer: Disposable | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `mark` each minute, the first time within one, until the returned value is disposed of. */
  subscribe(mark: () => void): Disposable {
    this.#marks.add(mark);
    this.#timer ??= this.#next();
    return {
      [Symbol.dispose]: () => {
        this.#marks.delete(mark);
        if (this.#marks.size > 0) return;
        this.#timer?.[Symbol.dispose]();
        this.#timer = undefined;
      },
    };
  }

  #next(): Disposable {
    return this.#clock.schedule(periodMs, () => {
      this.#timer = this.#next();
      for (const mark of this.#marks) guarded(mark, error => this.#clock.unhandled(error));
    });
  }
}
