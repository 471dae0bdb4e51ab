import type {Histogram, Meter} from '#src/base/meter.js';

const durationBuckets = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30];
/** The labels of metrics by level, and of those by flow. */
export const [level, flow] = [['priority_level'], ['priority_level', 'flow_schema']];

/** The beginning of the metrics' names. */
export const prefix = 'apiserver_flowcontrol_';

/** The histograms and counters by flow. */
export const flowSeries = (meter: Meter) => ({
  rejected: meter.counter({
    name: `${prefix}rejected_requests_total`,
    help: 'Number of requests rejected by API Priority and Fairness subsystem',
    labels: [...flow, 'reason'],
  }),
  dispatched: meter.counter({
    name: `${prefix}dispatched_requests_total`,
    help: 'Number of requests executed by API Priority and Fairness subsystem',
    labels: flow,
  }),
  queueLength: meter.histogram({
    name: `${prefix}request_queue_length_after_enqueue`,
    help: 'Length of queue in the API Priority and Fairness subsystem, as seen by each request after it is enqueued',
    labels: flow,
    buckets: [0, 10, 25, 50, 100, 250, 500, 1000],
  }),
  wait: meter.histogram({
    name: `${prefix}request_wait_duration_seconds`,
    help: 'Length of time a request spent waiting in its queue',
    labels: [...flow, 'execute'],
    buckets: durationBuckets,
  }),
  execution: meter.histogram({
    name: `${prefix}request_execution_seconds`,
    help: 'Duration of initial stage (for a WATCH) or any (for a non-WATCH) stage of request execution in the API Priority and Fairness subsystem',
    labels: [...flow, 'type'],
    buckets: durationBuckets,
  }),
  watchCount: meter.histogram({
    name: `${prefix}watch_count_samples`,
    help: 'count of watchers for mutating requests in API Priority and Fairness',
    labels: flow,
    buckets: [0, 1, 10, 100, 1000, 10_000],
  }),
  seats: meter.histogram({
    name: `${prefix}work_estimated_seats`,
    help: 'Number of estimated seats (maximum of initial and final seats) associated with requests in API Priority and Fairness',
    labels: flow,
    buckets: [1, 2, 4, 8, 16, 32, 64, 100],
  }),
  notAccommodated: meter.counter({
    name: `${prefix}request_dispatch_no_accommodation_total`,
    help: 'Number of times a dispatch attempt resulted in a non accommodation due to lack of available seats',
    labels: flow,
  }),
});

/** The histograms and counters by level. */
export const levelSeries = (meter: Meter) => ({
  seatUtilization: meter.histogram({
    name: `${prefix}priority_level_seat_utilization`,
    help: 'Observations, at the end of every nanosecond, of utilization of seats for any stage of execution (but only initial stage for WATCHes)',
    labels: ['phase', ...level],
    buckets: [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1],
  }),
  requestUtilization: meter.histogram({
    name: `${prefix}priority_level_request_utilization`,
    help: 'Observations, at the end of every nanosecond, of number of requests (as a fraction of the relevant limit) waiting or in any stage of execution (but only initial stage for WATCHes)',
    labels: ['phase', ...level],
    buckets: [0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 1],
  }),
  demand: meter.histogram({
    name: `${prefix}demand_seats`,
    help: 'Observations, at the end of every nanosecond, of (the number of seats each priority level could use) / (nominal number of seats for that level)',
    labels: level,
    buckets: [0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.7, 2, 2.8, 4, 6],
  }),
  epochs: meter.counter({
    name: `${prefix}epoch_advance_total`,
    help: "Number of times the queueset's progress meter jumped backward",
    labels: [...level, 'success'],
  }),
});

/** The histogram of requests by kind, whose ratios are recorded by `RequestCounts`. */
export const readWriteHistogram = (meter: Meter): Histogram =>
  meter.histogram({
    name: `${prefix}read_vs_write_current_requests`,
    help: 'Observations, at the end of every nanosecond, of the number of requests (as a fraction of the relevant limit) waiting or in regular stage of execution',
    labels: ['phase', 'request_kind'],
    buckets: [0, 0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1],
  });

export type FlowSeries = ReturnType<typeof flowSeries>;
export type LevelSeries = ReturnType<typeof levelSeries>;
