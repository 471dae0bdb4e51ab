import type {Clock} from '#src/base/clock.js';
import type {RequestCounts, RequestKind} from './request-counts.js';
import {isLongRunning, type RequestInfo} from '#src/apiserver/request/request-info.js';

const readVerbs = new Set(['get', 'list', 'watch', 'head', 'options']);

/** Returns whether a request reads or writes. */
export const kindOf = ({verb}: RequestInfo): RequestKind => (readVerbs.has(verb) ? 'readOnly' : 'mutating');

/** The limits of concurrent requests; zero is no limit. */
export interface InFlightLimits {
  readonly reading: number;
  readonly mutating: number;
}

/** What counts requests for metrics. */
export interface InFlightCounts {
  readonly counts: RequestCounts;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** Counts the requests in flight and enforces the limits; exempt requests are counted separately. */
export class InFlight {
  readonly #limits: InFlightLimits;
  readonly #observed: InFlightCounts | undefined;
  #reading = 0;
  #mutating = 0;
  #others = 0;
  // The disposables are shared by all requests, each of which disposes once.
  readonly #leaveReading: Disposable = {[Symbol.dispose]: () => this.#count('readOnly', -1)};
  readonly #leaveMutating: Disposable = {[Symbol.dispose]: () => this.#count('mutating', -1)};
  readonly #leaveOthers: Disposable = {[Symbol.dispose]: () => void this.#others--};

  constructor(limits: InFlightLimits, observed?: InFlightCounts) {
    this.#limits = limits;
    this.#observed = observed;
    const {counts, clock} = observed ?? {};
    if (!counts || !clock) return;
    if (limits.reading > 0) counts.relativeTo('executing', 'readOnly', limits.reading, clock.monotonic());
    if (limits.mutating > 0) counts.relativeTo('executing', 'mutating', limits.mutating, clock.monotonic());
  }

  /** Enters a request, or returns undefined if the limit is reached. */
  enter(info: RequestInfo, exempt = false): Disposable | undefined {
    if (isLongRunning(info)) return noPlace;
    if (exempt) return this.enterUnlimited();
    const {reading, mutating} = this.#limits;
    if (kindOf(info) === 'readOnly') {
      if (reading > 0 && this.#reading >= reading) return undefined;
      this.#count('readOnly', 1);
      return this.#leaveReading;
    }
    if (mutating > 0 && this.#mutating >= mutating) return undefined;
    this.#count('mutating', 1);
    return this.#leaveMutating;
  }

  /** Enters a request that is exempt, or that flow control has limited. */
  enterUnlimited(): Disposable {
    this.#others++;
    return this.#leaveOthers;
  }

  /** The number of requests in flight that end by themselves. */
  get all(): number {
    return this.#reading + this.#mutating + this.#others;
  }

  get current(): {readonly reading: number; readonly mutating: number} {
    return {reading: this.#reading, mutating: this.#mutating};
  }

  #count(kind: RequestKind, delta: 1 | -1): void {
    if (kind === 'readOnly') this.#reading += delta;
    else this.#mutating += delta;
    this.#observed?.counts.executing(kind, delta, this.#observed.clock.monotonic());
  }
}

const noPlace: Disposable = {[Symbol.dispose]() {}};
