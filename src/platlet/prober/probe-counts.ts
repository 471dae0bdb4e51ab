import type {ProbeDurations} from '#src/api/node/stats.js';
import type {ProbeOutcome} from './outcome.js';

const bounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Counts the probes of one kind of a container by result, and their durations. */
export class ProbeCounts {
  readonly #results = {successful: 0, failed: 0, unknown: 0};
  readonly #counts = bounds.map(() => 0);
  #count = 0;
  #seconds = 0;

  add({result, error}: ProbeOutcome, seconds: number): void {
    const kind = error !== undefined || result === 'unknown' ? 'unknown' : result === 'success' ? 'successful' : 'failed';
    this.#results[kind]++;
    this.#count++;
    this.#seconds += seconds;
    for (const [index, bound] of bounds.entries()) if (seconds <= bound) this.#counts[index]!++;
  }

  get now(): {readonly successful: number; readonly failed: number; readonly unknown: number; readonly durations: ProbeDurations} {
    return {...this.#results, durations: {bounds, counts: [...this.#counts], count: this.#count, seconds: this.#seconds}};
  }
}
