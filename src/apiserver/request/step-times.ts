import type {Clock} from '#src/base/clock.js';
import type {RequestTimes} from './context.js';

/** The steps of a read whose durations audit events of slow requests contain. */
export type Step = 'storageMs' | 'decodeMs' | 'transformMs' | 'serializationMs';

/** Adds the durations of a request's steps to its times. */
export class StepTimes {
  readonly #times: RequestTimes;
  readonly #clock: Pick<Clock, 'monotonic'>;

  constructor(times: RequestTimes, clock: Pick<Clock, 'monotonic'>) {
    this.#times = times;
    this.#clock = clock;
  }

  async measure<T>(step: Step, act: () => T | Promise<T>): Promise<T> {
    const startedAt = this.#clock.monotonic();
    try {
      return await act();
    } finally {
      this.#times[step] = (this.#times[step] ?? 0) + this.#clock.monotonic() - startedAt;
    }
  }
}

/** Takes a step, and measures it if the durations are wanted. */
export const measured = <T>(steps: StepTimes | undefined, step: Step, act: () => T | Promise<T>): T | Promise<T> =>
  steps ? steps.measure(step, act) : act();
