import type {Clock} from '#src/base/clock.js';
import type {Meter} from '#src/base/meter.js';
import {RatioHistogram} from '#src/apiserver/flowcontrol/fair-queuing/ratio-histogram.js';
import {readWriteHistogram} from '#src/apiserver/flowcontrol/fair-queuing/series.js';

export type RequestKind = 'readOnly' | 'mutating';
type Phase = 'executing' | 'waiting';

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
