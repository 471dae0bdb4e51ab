/** Label values by label name. */
export type Labels = Readonly<Record<string, string>>;

/** The definition of a metric. */
export interface MetricSpec {
  readonly name: string;
  readonly help: string;
  /** The metric's labels, in the order of the exposition. */
  readonly labels?: readonly string[];
  /** How stable it is, unless it is a metric of the original, whose stability is known, or alpha. */
  readonly stability?: 'ALPHA' | 'BETA' | 'STABLE';
  /** The release that deprecates it, such as `1.34.0`. It is hidden some releases later. */
  readonly deprecatedSince?: string;
}
export interface HistogramSpec extends MetricSpec {
  readonly buckets: readonly number[];
  /** Leaves series out of the exposition that have not changed for a while: for labels with a value for each kind. */
  readonly hidesIdle?: boolean;
}

export interface ObservedSpec extends MetricSpec {
  /** `counter` when the values never decrease. */
  readonly type?: 'counter' | 'gauge';
}

/** A metric that never decreases. */
export interface Counter {
  add(labels?: Labels, amount?: number): void;
  /** Returns one series, for callers that add to the same one often. */
  at(labels: Labels): {add(amount?: number): void};
}
export interface Gauge {
  set(value: number, labels?: Labels): void;
  add(labels?: Labels, amount?: number): void;
  /** Removes the labelled series from the exposition. */
  remove(labels?: Labels): void;
}
export interface Histogram {
  observe(value: number, labels?: Labels): void;
  /**
   * Returns one series, for callers that observe the same one often. An observation with a weight counts as that many.
   */
  at(labels: Labels): {observe(value: number, weight?: number): void};
  /** Calls `update` before each scrape, until the returned handle is disposed of. */
  beforeScrape(update: () => void): Disposable;
}

/** Creates a component's metrics. The same name yields the same metric. */
export interface Meter {
  counter(spec: MetricSpec): Counter;
  gauge(spec: MetricSpec): Gauge;
  /** A gauge or counter whose series are read at each scrape, until the returned handle is disposed of. */
  observed(spec: ObservedSpec, read: () => Iterable<readonly [Labels, number]>): Disposable;
  histogram(spec: HistogramSpec): Histogram;
}

const nothing = (): void => {};
const noop = {
  add: nothing,
  set: nothing,
  remove: nothing,
  observe: nothing,
  at: () => ({add: nothing, observe: nothing}),
  beforeScrape: () => ({[Symbol.dispose]: nothing}),
};

/** A meter that discards everything. */
export const noMeter: Meter = {
  counter: () => noop,
  gauge: () => noop,
  observed: () => ({[Symbol.dispose]: nothing}),
  histogram: () => noop,
};

/** Returns `count` bucket bounds from `start`, each `factor` times the previous one. */
export const exponentialBuckets = (start: number, factor: number, count: number): number[] =>
  Array.from({length: count}, (_, index) => Number((start * factor ** index).toPrecision(12)));
