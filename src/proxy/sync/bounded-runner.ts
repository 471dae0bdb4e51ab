// Runs a function when asked to, but not too often, and when not asked for long.

import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';

export interface RunnerPeriods {
  /** The least time between the end of a run and the start of the next. */
  readonly minMs: number;
  /** The time after which a failed run is repeated. */
  readonly retryMs: number;
  /** The time after which a run follows another though nobody asks. */
  readonly maxMs: number;
}

export interface BoundedRunnerParts {
  /** Rejects if it failed. */
  run(): Promise<void>;
  readonly periods: RunnerPeriods;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Runs never overlap, and requests during one, or too early after it, are answered by a single one later. Nothing runs
 * before the start; what is requested earlier runs then.
 */
export class BoundedRunner implements Disposable {
  readonly #parts: BoundedRunnerParts;
  #state: 'new' | 'idle' | 'running' | 'resting' | 'stopped' = 'new';
  #isWanted = false;
  #next: Disposable | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(parts: BoundedRunnerParts) {
    this.#parts = parts;
  }

  start(): void {
    if (this.#state !== 'new') return;
    this.#state = 'idle';
    this.#next = this.#parts.clock.schedule(this.#parts.periods.maxMs, () => this.#begin());
    if (this.#isWanted) this.#begin();
  }

  /** Asks for a run as soon as one may be. */
  request(): void {
    this.#isWanted = true;
    if (this.#state === 'idle') this.#begin();
  }

  /** Stops after the present run. */
  [Symbol.dispose](): void {
    this.#state = 'stopped';
    this.#next?.[Symbol.dispose]();
  }

  /** Resolves once no run is in progress. */
  async ended(): Promise<void> {
    await this.#running;
  }

  #begin(): void {
    if (this.#state !== 'idle') return;
    this.#state = 'running';
    this.#isWanted = false;
    this.#next?.[Symbol.dispose]();
    this.#running = this.#once();
  }

  async #once(): Promise<void> {
    const {clock, log, periods} = this.#parts;
    using _ = clock.hold();
    const failed = await this.#parts.run().then(
      () => false,
      (error: unknown) => {
        log.v(3).info({err: error, retryMs: Math.min(periods.retryMs, periods.maxMs)}, 'a sync failed and is tried again');
        return true;
      },
    );
    if ((this.#state as string) === 'stopped') return;
    this.#state = 'resting';
    const afterMs = failed ? Math.min(periods.retryMs, periods.maxMs) : periods.maxMs;
    const dueAt = clock.monotonic() + afterMs;
    this.#next = clock.schedule(periods.minMs, () => {
      this.#state = 'idle';
      this.#next = clock.schedule(dueAt - clock.monotonic(), () => this.#begin());
      if (this.#isWanted) this.#begin();
    });
  }
}
