import {isLongRunning, type RequestInfo} from './request-info.js';

const readVerbs = new Set(['get', 'list', 'watch', 'head', 'options']);

/** How many requests may be under way. */
export interface InFlightLimits {
  readonly reading: number;
  readonly mutating: number;
  /** Whether the two are one limit, their sum, for both kinds together; else each holds for its own kind and zero is no limit. */
  readonly summed?: boolean;
}

/** Counts the requests under way and says when there are too many; those who are exempt are counted apart. */
export class InFlight {
  readonly #limits: InFlightLimits;
  #reading = 0;
  #mutating = 0;
  #exempt = 0;
  // Every request enters: what it leaves by is made once, and used once a request.
  readonly #leaveReading: Disposable = {[Symbol.dispose]: () => void this.#reading--};
  readonly #leaveMutating: Disposable = {[Symbol.dispose]: () => void this.#mutating--};
  readonly #leaveExempt: Disposable = {[Symbol.dispose]: () => void this.#exempt--};

  constructor(limits: InFlightLimits) {
    this.#limits = limits;
  }

  /** Enters a request, or returns undefined when it has to be turned away. */
  enter(info: RequestInfo, exempt = false): Disposable | undefined {
    if (isLongRunning(info)) return nothing;
    if (exempt) {
      this.#exempt++;
      return this.#leaveExempt;
    }
    const {reading, mutating, summed} = this.#limits;
    if (summed && this.#reading + this.#mutating >= reading + mutating) return undefined;
    if (readVerbs.has(info.verb)) {
      if (!summed && reading > 0 && this.#reading >= reading) return undefined;
      this.#reading++;
      return this.#leaveReading;
    }
    if (!summed && mutating > 0 && this.#mutating >= mutating) return undefined;
    this.#mutating++;
    return this.#leaveMutating;
  }

  /** Every request under way that will come to an end by itself. */
  get all(): number {
    return this.#reading + this.#mutating + this.#exempt;
  }

  get current(): {readonly reading: number; readonly mutating: number} {
    return {reading: this.#reading, mutating: this.#mutating};
  }
}

const nothing: Disposable = {[Symbol.dispose]() {}};
