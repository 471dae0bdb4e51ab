import type {Clock} from '#src/base/clock.js';

/** Whether pods may be scheduled now. A virtual clock stands still meanwhile. */
export class Activity {
  readonly #clock: Clock;
  #wake: () => void = () => {};
  #hold: Disposable | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Called when a pod may be ready. */
  begin(): void {
    this.#hold ??= this.#clock.hold();
    this.#wake();
  }

  /** Ends a rest, although no pod is ready. */
  wake(): void {
    this.#wake();
  }

  /** Resolves when a pod may be ready. */
  async rest(): Promise<void> {
    this.end();
    await new Promise<void>(resolve => {
      this.#wake = resolve;
    });
  }

  end(): void {
    this.#hold?.[Symbol.dispose]();
    this.#hold = undefined;
  }
}
