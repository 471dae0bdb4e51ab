import {isLongRunning, type RequestInfo} from './request-info.js';

const readVerbs = new Set(['get', 'list', 'watch', 'head', 'options']);

/** The limits of concurrent requests. */
export interface InFlightLimits {
  readonly reading: number;
  readonly mutating: number;
  /** Whether the sum of the two is one limit for both kinds; otherwise each limits its own kind, and zero is no limit. */
  readonly summed?: boolean;
}

/** Counts the requests in flight and enforces the limits; exempt requests are counted separately. */
export class InFlight {
  readonly #limits: InFlightLimits;
  #reading = 0;
  #mutating = 0;
  #exempt = 0;
  // The disposables are shared by all requests, each of which disposes once.
  readonly #leaveReading: Disposable = {[Symbol.dispose]: () => void this.#reading--};
  readonly #leaveMutating: Disposable = {[Symbol.dispose]: () => void this.#mutating--};
  readonly #leaveExempt: Disposable = {[Symbol.dispose]: () => void this.#exempt--};

  constructor(limits: InFlightLimits) {
    this.#limits = limits;
  }

  /** Enters a request, or returns undefined if the limit is reached. */
  enter(info: RequestInfo, exempt = false): Disposable | undefined {
    if (isLongRunning(info)) return noPlace;
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

  /** The number of requests in flight that end by themselves. */
  get all(): number {
    return this.#reading + this.#mutating + this.#exempt;
  }

  get current(): {readonly reading: number; readonly mutating: number} {
    return {reading: this.#reading, mutating: this.#mutating};
  }
}

const noPlace: Disposable = {[Symbol.dispose]() {}};
