import type {Clock} from '#src/base/clock.js';

/** The longest virtual time that a fault waits for the next act: less than the time limit of a request. */
const longestMs = 30_000;

/**
 * The acts of a scenario, which are its writes, and its waits between them. A user in a hurry does not wait: what the
 * scenario waits for is cut short, up to its next act.
 */
/**
 * A wait for which the user does not wait, with the operator away from the wait before up to the act after it: what it
 * finds then is as if the user had never waited.
 */
export interface SkippedWait {
  /** From 1. */
  readonly number: number;
  leave(): void;
  comeBack(): void;
}

export class Acts {
  /** How many acts there were. */
  count = 0;
  /** The first wait that was cut short, from 1. */
  cut: number | undefined;
  readonly #clock: Clock;
  readonly #skipped: SkippedWait | undefined;
  #isAway = false;
  #waits = 0;
  #isHurried = false;
  #isOver = false;
  readonly #hurrying = new Set<() => void>();
  readonly #done = new Set<() => void>();

  constructor(clock: Clock, skipped?: SkippedWait) {
    this.#clock = clock;
    this.#skipped = skipped;
  }

  /** Lets the operator begin, unless the first wait is skipped. */
  begin(begin: () => unknown): void {
    if (this.#skipped?.number === 1) this.#leave();
    else begin();
  }

  /** Hurries the user. Resolves after the next act, at the end of the scenario, or when neither comes soon. */
  async hurry(): Promise<void> {
    if (this.#isOver) return;
    this.#isHurried = true;
    const next = new Promise<void>(resolve => this.#done.add(resolve));
    for (const act of this.#hurrying) act();
    using _ = this.#clock.schedule(longestMs, () => this.#calm());
    await next;
  }

  /** To be called after each act. */
  acted(): void {
    this.count++;
    if (this.#isHurried) this.#comeBack();
    this.#calm();
  }

  /** To be called at the end of the scenario. */
  over(): void {
    this.#isOver = true;
    this.#comeBack();
    this.#calm();
  }

  /** Waits with `wait`; for a user in a hurry `instead` is called. */
  async wait<T>(wait: (signal: AbortSignal) => Promise<T>, instead: () => Promise<T>): Promise<T> {
    const number = ++this.#waits;
    if (number === this.#skipped?.number) this.#isHurried = true;
    const hurry = new AbortController();
    const act = (): void => {
      this.cut ??= number;
      hurry.abort(hurry);
    };
    if (this.#isHurried) act();
    this.#hurrying.add(act);
    try {
      return this.#isHurried ? await instead() : await wait(hurry.signal);
    } catch (error) {
      if (error !== hurry) throw error;
      return await instead();
    } finally {
      this.#hurrying.delete(act);
      if (number + 1 === this.#skipped?.number) this.#leave();
    }
  }

  #leave(): void {
    this.#isAway = true;
    this.#skipped?.leave();
  }

  #comeBack(): void {
    if (!this.#isAway) return;
    this.#isAway = false;
    this.#skipped?.comeBack();
  }

  #calm(): void {
    this.#isHurried = false;
    for (const resolve of this.#done) resolve();
    this.#done.clear();
  }
}
