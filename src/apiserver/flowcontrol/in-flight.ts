// The requests in flight: how many are executed and wait, as metrics show them, and the limits where flow control is
// off.

import type {Clock} from '#src/base/clock.js';
import type {Meter} from '#src/base/meter.js';
import {RatioHistogram} from '#src/apiserver/flowcontrol/fair-queuing/over-time.js';
import {readWriteHistogram} from '#src/apiserver/flowcontrol/fair-queuing/series.js';
import {isLongRunning, type RequestInfo} from '#src/apiserver/request/request-info.js';

export type RequestKind = 'readOnly' | 'mutating';
type Phase = 'executing' | 'waiting';

const readVerbs = new Set(['get', 'list', 'watch', 'head', 'options']);

/** Returns whether a request reads or writes. */
export const kindOf = ({verb}: RequestInfo): RequestKind => (readVerbs.has(verb) ? 'readOnly' : 'mutating');

const secondMs = 1000;

/** A number of requests, and its maximum in the last second. */
class Count {
  #value = 0;
  #highest = 0;
  #before = 0;
  #second = 0;
  readonly ratio: RatioHistogram;

  constructor(ratio: RatioHistogram) {
    this.ratio = ratio;
  }

  add(delta: 1 | -1, now: number): void {
    this.#turn(now);
    this.#value += delta;
    if (this.#value > this.#highest) this.#highest = this.#value;
    this.ratio.set(this.#value, now);
  }

  /** The maximum in the last second that is over. */
  highest(now: number): number {
    this.#turn(now);
    return this.#before;
  }

  #turn(now: number): void {
    const second = Math.floor(now / secondMs);
    if (second === this.#second) return;
    this.#before = second === this.#second + 1 ? this.#highest : this.#value;
    this.#highest = this.#value;
    this.#second = second;
  }
}

/** Counts the requests of each kind that are executed, and those that wait. */
export class RequestCounts {
  readonly #counts: Readonly<Record<Phase, Readonly<Record<RequestKind, Count>>>>;

  constructor(meter: Meter, clock: Pick<Clock, 'monotonic'>) {
    const histogram = readWriteHistogram(meter);
    const now = clock.monotonic();
    const count = (phase: Phase, kind: RequestKind) => new Count(new RatioHistogram(histogram, {phase, request_kind: kind}, now));
    const both = (phase: Phase) => ({readOnly: count(phase, 'readOnly'), mutating: count(phase, 'mutating')});
    this.#counts = {executing: both('executing'), waiting: both('waiting')};
    const {executing, waiting} = this.#counts;
    histogram.beforeScrape(() => {
      const at = clock.monotonic();
      for (const {readOnly, mutating} of [executing, waiting]) {
        readOnly.ratio.update(at);
        mutating.ratio.update(at);
      }
    });
    const observed = (name: string, help: string, {readOnly, mutating}: Readonly<Record<RequestKind, Count>>) =>
      meter.observed({name, help, labels: ['request_kind']}, () => {
        const at = clock.monotonic();
        return [
          [{request_kind: 'readOnly'}, readOnly.highest(at)],
          [{request_kind: 'mutating'}, mutating.highest(at)],
        ];
      });
    observed(
      'apiserver_current_inflight_requests',
      'Maximal number of currently used inflight request limit of this apiserver per request kind in last second.',
      executing,
    );
    observed(
      'apiserver_current_inqueue_requests',
      'Maximal number of queued requests in this apiserver per request kind in last second.',
      waiting,
    );
  }

  executing(kind: RequestKind, delta: 1 | -1, now: number): void {
    this.#counts.executing[kind].add(delta, now);
  }

  waiting(kind: RequestKind, delta: 1 | -1, now: number): void {
    this.#counts.waiting[kind].add(delta, now);
  }

  /** Sets what the ratios are relative to. */
  relativeTo(phase: Phase, kind: RequestKind, requests: number, now: number): void {
    this.#counts[phase][kind].ratio.divideBy(requests, now);
  }
}

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
