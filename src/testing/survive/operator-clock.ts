import type {Clock} from '#src/base/clock.js';

/**
 * The clock of an operator whose requests take virtual time. A reconcile holds the time, but not while one of its
 * requests is on its way: otherwise the answer would never come.
 */
export class OperatorClock implements Clock {
  readonly #clock: Clock;
  #holds = 0;
  #waiting = 0;
  #hold: Disposable | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now();
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  schedule(afterMs: number, run: () => unknown): Disposable {
    return this.#clock.schedule(afterMs, run);
  }

  unhandled(error: unknown): void {
    this.#clock.unhandled(error);
  }

  keepAlive(): Disposable {
    return this.#clock.keepAlive();
  }

  hold(): Disposable {
    this.#holds++;
    this.#update();
    let isHeld = true;
    return {
      [Symbol.dispose]: () => {
        if (isHeld) this.#holds--;
        isHeld = false;
        this.#update();
      },
    };
  }

  /** Lets time pass, whatever the operator holds, until `act` has settled. */
  async whileTimePasses<T>(act: () => Promise<T>): Promise<T> {
    this.#waiting++;
    this.#update();
    try {
      return await act();
    } finally {
      this.#waiting--;
      this.#update();
    }
  }

  #update(): void {
    if (this.#holds > 0 && this.#waiting === 0) this.#hold ??= this.#clock.hold();
    else {
      this.#hold?.[Symbol.dispose]();
      this.#hold = undefined;
    }
  }
}
