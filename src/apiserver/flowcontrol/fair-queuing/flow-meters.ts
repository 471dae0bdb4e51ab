import type {Counter, Histogram, Labels} from '#src/base/meter.js';
import type {FlowSeries} from './series.js';

/** Why a request was rejected. */
export type RejectionReason = 'concurrency-limit' | 'queue-full' | 'time-out';

/** The current numbers and the metrics of the requests that one schema assigns to one level. */
export class FlowMeters {
  readonly labels: Labels;
  waiting = 0;
  waitingSeats = 0;
  executing = 0;
  executingSeats = 0;
  readonly dispatched: ReturnType<Counter['at']>;
  readonly notAccommodated: ReturnType<Counter['at']>;
  readonly queueLength: ReturnType<Histogram['at']>;
  readonly waitedToExecute: ReturnType<Histogram['at']>;
  readonly waitedInVain: ReturnType<Histogram['at']>;
  readonly execution: ReturnType<Histogram['at']>;
  readonly watchInitialization: ReturnType<Histogram['at']>;
  readonly watchCount: ReturnType<Histogram['at']>;
  readonly seats: ReturnType<Histogram['at']>;
  readonly #rejected: Counter;

  constructor(series: FlowSeries, labels: Labels) {
    this.labels = labels;
    this.#rejected = series.rejected;
    this.dispatched = series.dispatched.at(labels);
    this.notAccommodated = series.notAccommodated.at(labels);
    this.queueLength = series.queueLength.at(labels);
    this.waitedToExecute = series.wait.at({...labels, execute: 'true'});
    this.waitedInVain = series.wait.at({...labels, execute: 'false'});
    this.execution = series.execution.at({...labels, type: 'regular'});
    this.watchInitialization = series.execution.at({...labels, type: 'watch'});
    this.watchCount = series.watchCount.at(labels);
    this.seats = series.seats.at(labels);
  }

  rejected(reason: RejectionReason): void {
    this.#rejected.add({...this.labels, reason});
  }
}
