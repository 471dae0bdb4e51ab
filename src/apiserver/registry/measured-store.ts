// The metrics and spans of requests to the store, by resource, under the names that the original uses for etcd.

import {observe, type Eventually} from '#src/base/eventually.js';
import type {Clock} from '#src/base/clock.js';
import {lazily} from '#src/base/lazily.js';
import {noLog, type Log} from '#src/base/log.js';
import {traced} from '#src/base/span.js';
import type {Counter, Histogram, Meter} from '#src/base/meter.js';
import type {ResourceRef} from '#src/api/status.js';
import {KeyExists, RevisionMismatch} from '#src/storage/errors.js';
import type {Continuity, Store} from '#src/storage/store.js';

const durationBuckets = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60];
const labels = ['operation', 'group', 'resource'];

type Operation = 'get' | 'list' | 'create' | 'update' | 'delete';

/** The names of spans, as the original has them for etcd. */
const spanNames: Readonly<Record<Operation, string>> = {
  get: 'Get etcd3',
  list: 'List(recursive=true) etcd3',
  create: 'Create etcd3',
  update: 'GuaranteedUpdate etcd3',
  delete: 'Delete etcd3',
};

interface StoreMetricsOptions {
  readonly meter: Meter;
  readonly clock: Clock;
  /** Logs requests at verbosity 5. */
  readonly log: Log;
}

/** Counts and times the requests to the store on behalf of one resource. */
class StoreMetrics {
  readonly #clock: Clock;
  readonly #log: () => Log;
  readonly #ref: ResourceRef;
  readonly #metrics: () => {readonly durations: Histogram; readonly requests: Counter; readonly errors: Counter};
  readonly #series = new Map<
    Operation,
    {
      readonly duration: ReturnType<Histogram['at']>;
      readonly requests: ReturnType<Counter['at']>;
      readonly errors: ReturnType<Counter['at']>;
    }
  >();

  constructor(ref: ResourceRef, {meter, clock, log}: StoreMetricsOptions) {
    this.#log = lazily(() => log.child({component: 'storage'}));
    this.#clock = clock;
    this.#ref = ref;
    // Most servers have resources that nobody reads.
    this.#metrics = lazily(() => ({
      durations: meter.histogram({
        name: 'etcd_request_duration_seconds',
        help: 'Latency of requests to the store in seconds, for each operation and resource.',
        labels,
        buckets: durationBuckets,
        hidesIdle: true,
      }),
      requests: meter.counter({name: 'etcd_requests_total', help: 'Requests to the store, for each operation and resource.', labels}),
      errors: meter.counter({
        name: 'etcd_request_errors_total',
        help: 'Failed requests to the store, for each operation and resource.',
        labels,
      }),
    }));
  }

  measured<T>(operation: Operation, request: () => Eventually<T>): Eventually<T> {
    const startedAt = this.#clock.monotonic();
    return observe(
      () => this.#traced(operation, request),
      () => this.#finished(operation, startedAt, false),
      error => this.#failed(operation, startedAt, error),
    );
  }

  /** As `measured`, for requests that always take a promise. */
  measuredAsync<T>(operation: Operation, act: () => Promise<T>): Promise<T> {
    const startedAt = this.#clock.monotonic();
    return this.#measuredResult(operation, this.#traced(operation, act), startedAt);
  }

  async #measuredResult<T>(operation: Operation, result: Promise<T>, startedAt: number): Promise<T> {
    try {
      const value = await result;
      this.#finished(operation, startedAt, false);
      return value;
    } catch (error) {
      this.#failed(operation, startedAt, error);
      throw error;
    }
  }

  #traced<T>(operation: Operation, act: () => T): T {
    const {group, resource} = this.#ref;
    return traced(spanNames[operation], () => ({resource: group ? `${resource}.${group}` : resource}), act);
  }

  /** A failed comparison of revisions is a regular response of the store and not counted as an error. */
  #failed(operation: Operation, startedAt: number, error: unknown): void {
    this.#finished(operation, startedAt, !(error instanceof KeyExists || error instanceof RevisionMismatch));
  }

  #finished(operation: Operation, startedAt: number, failed: boolean): void {
    const series = this.#series.get(operation) ?? this.#createSeries(operation);
    const ms = this.#clock.monotonic() - startedAt;
    series.duration.observe(ms / 1000);
    series.requests.add();
    if (failed) series.errors.add();
    this.record(operation, 'store', ms);
  }

  /** Logs at verbosity 5 whether the store or the watch cache served a request. */
  record(operation: Operation, from: 'store' | 'cache', ms?: number): void {
    const log = this.#log().v(5);
    if (log === noLog) return;
    log.info(
      {
        operation,
        resource: this.#ref.resource,
        group: this.#ref.group,
        from,
        ...(ms === undefined ? {} : {duration: `${ms.toFixed(3)}ms`}),
      },
      'storage request',
    );
  }

  #createSeries(operation: Operation) {
    const labelValues = {operation, group: this.#ref.group, resource: this.#ref.resource};
    const {durations, requests, errors} = this.#metrics();
    const series = {duration: durations.at(labelValues), requests: requests.at(labelValues), errors: errors.at(labelValues)};
    this.#series.set(operation, series);
    return series;
  }
}

/** The continuity of the store that keeps a key. */
const continuityOf = (continuity: Continuity, key: string): Continuity => ({
  get problem() {
    return continuity.problem;
  },
  onReplaced: listener => continuity.onReplaced(listener, key),
});

/**
 * Returns the store of one resource, whose keys begin with `root`, with its requests counted and timed under the
 * original's metric names. Reads of the watch cache are not counted.
 */
export const measuredStore = (store: Store, root: string, ref: ResourceRef, options: StoreMetricsOptions): Store => {
  const metrics = new StoreMetrics(ref, options);
  const near = <T>(operation: Operation, result: T): T => {
    metrics.record(operation, 'cache');
    return result;
  };
  return {
    shared: store.shared,
    continuity: store.continuity && continuityOf(store.continuity, root),
    revision: (key = root) => store.revision(key),
    get: (key, options) => (options?.near ? near('get', store.get(key, options)) : metrics.measured('get', () => store.get(key, options))),
    range: query => (query.near ? near('list', store.range(query)) : metrics.measured('list', () => store.range(query))),
    count: (start, end, revision) => store.count(start, end, revision),
    create: (key, value, options) => metrics.measuredAsync('create', () => store.create(key, value, options)),
    update: (key, value, expected, options) => metrics.measuredAsync('update', () => store.update(key, value, expected, options)),
    delete: (key, expected) => metrics.measuredAsync('delete', () => store.delete(key, expected)),
    watch: (query, watcher) => store.watch(query, watcher),
    compact: revision => store.compact(revision),
    compacted: () => store.compacted(),
    lease: (seconds, key = root) => store.lease(seconds, key),
    size: () => store.size(),
    close: () => store.close(),
  };
};
