import type {Labels} from '#src/base/meter.js';
import {Integrator, RatioHistogram} from './over-time.js';
import type {LevelSeries} from './series.js';

/** The numbers of seats that limit a level. */
export interface SeatLimits {
  nominal: number;
  /** The nominal limit without what may be lent. */
  lower: number;
  /** The nominal limit with what may be borrowed. */
  upper: number;
  /** What the level should get by its demand, in the last adjustment. */
  target: number;
  /** The limit in force. */
  current: number;
}

/** Statistics of the seats that a level could have used, over the last adjustment period. */
export interface SeatDemand {
  average: number;
  deviation: number;
  highest: number;
  /** Decreases slowly after the demand has decreased. */
  smoothed: number;
}

/** The virtual times of the last dispatch from the queues of a level. */
export interface LastDispatch {
  isKnown: boolean;
  r: number;
  /** Of the queue that was dispatched from; the bounds are those of all queues with requests. */
  s: number;
  least: number;
  most: number;
  /** The same without the estimated work that is being done. */
  discountedLeast: number;
  discountedMost: number;
}

/** The numbers of a level's queues that change with every request. */
export interface LevelUse {
  readonly waiting: number;
  readonly executing: number;
  readonly seatsInUse: number;
  readonly seatsWaiting: number;
}

/** The limits, the demand and the metrics of one level. */
export class LevelMeters {
  readonly labels: Labels;
  readonly limits: SeatLimits = {nominal: 0, lower: 0, upper: 0, target: 0, current: 0};
  readonly demand: SeatDemand = {average: 0, deviation: 0, highest: 0, smoothed: 0};
  readonly integrator: Integrator;
  /** The state of the queues. */
  dispatch: {readonly last: LastDispatch; currentR(): number} | undefined;
  readonly #epochs: LevelSeries['epochs'];
  readonly #waiting: RatioHistogram;
  readonly #executing: RatioHistogram;
  readonly #seats: RatioHistogram;
  readonly #demand: RatioHistogram;

  constructor(series: LevelSeries, name: string, now: number) {
    this.labels = {priority_level: name};
    this.integrator = new Integrator(now);
    this.#epochs = series.epochs;
    this.#waiting = new RatioHistogram(series.requestUtilization, {...this.labels, phase: 'waiting'}, now);
    this.#executing = new RatioHistogram(series.requestUtilization, {...this.labels, phase: 'executing'}, now);
    this.#seats = new RatioHistogram(series.seatUtilization, {...this.labels, phase: 'executing'}, now);
    this.#demand = new RatioHistogram(series.demand, this.labels, now);
  }

  changed({waiting, executing, seatsInUse, seatsWaiting}: LevelUse, now: number): void {
    this.#waiting.set(waiting, now);
    this.#executing.set(executing, now);
    this.#seats.set(seatsInUse, now);
    this.#demand.set(seatsInUse + seatsWaiting, now);
    this.integrator.set(seatsInUse + seatsWaiting, now);
  }

  /** Sets what the ratios are relative to: the requests that may wait, and the seats. */
  relativeTo({requests, seats}: {readonly requests: number; readonly seats: number}, now: number): void {
    this.#waiting.divideBy(requests, now);
    this.#executing.divideBy(seats, now);
    this.#seats.divideBy(seats, now);
    this.#demand.divideBy(seats, now);
  }

  epochAdvanced(): void {
    this.#epochs.add({...this.labels, success: 'true'});
  }

  update(now: number): void {
    for (const ratio of [this.#waiting, this.#executing, this.#seats, this.#demand]) ratio.update(now);
  }
}
