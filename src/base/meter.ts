/** Label values by label name. */
export type Labels = Readonly<Record<string, string>>;

/** What a metric is, as plain data. */
export interface MetricSpec {
  readonly name: string;
  readonly help: string;
  /** Every label the metric carries, in the order it is shown. */
  readonly labels?: readonly string[];
}
export interface HistogramSpec extends MetricSpec {
  readonly buckets: readonly number[];
}

export interface ObservedSpec extends MetricSpec {
  /** Whether what is read only ever grows. */
  readonly type?: 'counter' | 'gauge';
}

/** Only ever grows. */
export interface Counter {
  add(labels?: Labels, amount?: number): void;
  /** One series of it, for those who add to the same again and again. */
  at(labels: Labels): {add(amount?: number): void};
}
export interface Gauge {
  set(value: number, labels?: Labels): void;
  add(labels?: Labels, amount?: number): void;
  /** The labelled series is shown no longer. */
  remove(labels?: Labels): void;
}
export interface Histogram {
  observe(value: number, labels?: Labels): void;
  /** One series of it, for those who observe the same again and again. */
  at(labels: Labels): {observe(value: number): void};
}

/** Where a component's figures go. Asking twice for one name yields the same metric. */
export interface Meter {
  counter(spec: MetricSpec): Counter;
  gauge(spec: MetricSpec): Gauge;
  /** A gauge, or a counter where it says so, whose series are read whenever somebody looks. Disposing of the answer ends them. */
  observed(spec: ObservedSpec, read: () => Iterable<readonly [Labels, number]>): Disposable;
  histogram(spec: HistogramSpec): Histogram;
}

const nothing = (): void => {};
const noop = {add: nothing, set: nothing, remove: nothing, observe: nothing, at: () => ({add: nothing, observe: nothing})};

/** A meter nobody reads. */
export const noMeter: Meter = {
  counter: () => noop,
  gauge: () => noop,
  observed: () => ({[Symbol.dispose]: nothing}),
  histogram: () => noop,
};

/** `count` bounds from `start`, each `factor` times the one before. */
export const exponentialBuckets = (start: number, factor: number, count: number): number[] =>
  Array.from({length: count}, (_, index) => Number((start * factor ** index).toPrecision(12)));
