// The recorded series of metrics. prom-client writes them (metrics.ts) but does not record them: a series that is kept
// at hand takes 6 ns to count here and 850 ns there (histograms: 9 and 1,600), since prom-client checks and joins all
// labels each time; and loading it takes 30 ms of a start. Nor does it merge those of several components: its
// `AggregatorRegistry` compares each bucket of each series, which took ten times as long.

import {lazily} from '#src/base/lazily.js';
import {formatDouble} from '#src/base/text/double.js';
import type {Counter, Gauge, Histogram, HistogramSpec, Labels, MetricSpec} from '#src/base/meter.js';
import {IdleSeries} from './idle-series.js';

/** One line of an exposition, in the form of prom-client. */
export interface Sample {
  readonly labels: Record<string, string | number>;
  /** Labels of all parts of a histogram, which are formatted once. */
  readonly sharedLabels?: Record<string, string>;
  readonly value: number;
  /** Differs from the metric's name for the parts of a histogram. */
  readonly metricName?: string;
}

const keyOf = ({labels: names = []}: MetricSpec, labels: Labels): string => {
  let key = '';
  for (let index = 0; index < names.length; index++) key += `${index === 0 ? '' : '\u0000'}${labels[names[index]!] ?? ''}`;
  return key;
};

const labelsOf = ({labels: names = []}: MetricSpec, key: string): Record<string, string> => {
  const values = key.split('\u0000');
  return Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']));
};

interface Cell {
  value: number;
}

/** The number of series that one metric may have. Labels beyond them are all counted as `unexpected`. */
export const maxSeries = 10_000;

const unexpected = 'unexpected';

/** Limits of the label values of one metric. */
export interface LabelLimits {
  /** The allowed values of a label; labels without a set have any. */
  readonly allowed?: ReadonlyMap<string, ReadonlySet<string>> | undefined;
  /** Called when a value is replaced by `unexpected`. */
  onUnexpected(): void;
}

const unlimited: LabelLimits = {onUnexpected() {}};

/** Finds the series of labels, within the limits. */
class SeriesKeys {
  readonly #spec: MetricSpec;
  readonly #limits: LabelLimits;

  constructor(spec: MetricSpec, limits: LabelLimits) {
    this.#spec = spec;
    this.#limits = limits;
  }

  /** Returns the key of labels, whose values are replaced where they are not allowed. */
  of(labels: Labels): string {
    return keyOf(this.#spec, this.#limits.allowed ? this.#constrained(labels, this.#limits.allowed) : labels);
  }

  /** Returns the key of a new series: that of `unexpected` labels once there are too many. */
  admit(key: string, known: ReadonlyMap<string, unknown>): string {
    if (known.size < maxSeries || !this.#spec.labels) return key;
    this.#limits.onUnexpected();
    return this.#spec.labels.map(() => unexpected).join('\u0000');
  }

  #constrained(labels: Labels, allowed: ReadonlyMap<string, ReadonlySet<string>>): Labels {
    const constrained: Record<string, string> = {...labels};
    for (const [label, values] of allowed) {
      if (!this.#spec.labels?.includes(label) || values.has(labels[label] ?? '')) continue;
      constrained[label] = unexpected;
      this.#limits.onUnexpected();
    }
    return constrained;
  }
}

/** The series of a counter or gauge, counted or read at each scrape. */
export class ValueSeries implements Counter, Gauge {
  readonly type: 'counter' | 'gauge';
  readonly spec: MetricSpec;
  readonly #keys: SeriesKeys;
  #values = new Map<string, Cell>();
  readonly #readers = new Set<() => Iterable<readonly [Labels, number]>>();

  constructor(type: 'counter' | 'gauge', spec: MetricSpec, limits = unlimited) {
    this.type = type;
    this.spec = spec;
    this.#keys = new SeriesKeys(spec, limits);
    this.reset();
  }

  add(labels: Labels = {}, amount = 1): void {
    this.#add(this.#keys.of(labels), amount);
  }

  at(labels: Labels): {add(amount?: number): void} {
    const key = this.#keys.of(labels);
    let values = this.#values;
    let cell = values.get(key);
    return {
      add: (amount = 1) => {
        if (!cell || values !== this.#values) cell = this.#cell(key);
        values = this.#values;
        cell.value += amount;
      },
    };
  }

  #add(key: string, amount: number): void {
    this.#cell(key).value += amount;
  }

  #cell(key: string): Cell {
    const cell = this.#values.get(key);
    if (cell) return cell;
    const admitted = this.#keys.admit(key, this.#values);
    const known = this.#values.get(admitted) ?? {value: 0};
    this.#values.set(admitted, known);
    return known;
  }

  set(value: number, labels: Labels = {}): void {
    this.#cell(this.#keys.of(labels)).value = value;
  }

  remove(labels: Labels = {}): void {
    this.#values.delete(this.#keys.of(labels));
  }

  observe(read: () => Iterable<readonly [Labels, number]>): Disposable {
    this.#readers.add(read);
    return {[Symbol.dispose]: () => void this.#readers.delete(read)};
  }

  reset(): void {
    this.#values = new Map(); // Cells obtained before are detached.
    // A counter without labels starts at zero.
    if (this.type === 'counter' && !this.spec.labels?.length) this.#cell('');
  }

  /**
   * Returns the values, merged with those of other components: counters are summed, of gauges the first value is taken.
   */
  *samples(others: readonly ValueSeries[] = []): Generator<Sample, void, undefined> {
    const all = this.#current();
    for (const other of others) {
      for (const [otherKey, value] of other.#current()) {
        const key = keyOf(this.spec, labelsOf(other.spec, otherKey));
        const known = all.get(key);
        if (known === undefined) all.set(key, value);
        else if (this.type === 'counter') all.set(key, known + value);
      }
    }
    for (const [key, value] of all) yield {labels: labelsOf(this.spec, key), value};
  }

  /** Several readers of one series are summed, so that no line appears twice. */
  #current(): Map<string, number> {
    const all = new Map(Array.from(this.#values, ([key, {value}]) => [key, value]));
    for (const read of this.#readers) {
      for (const [labels, value] of read()) {
        const own = this.#keys.of(labels);
        const key = all.has(own) ? own : this.#keys.admit(own, all);
        all.set(key, (all.get(key) ?? 0) + value);
      }
    }
    return all;
  }
}

interface Distribution {
  /** One more than bounds: the last counts values above all of them. */
  readonly counts: number[];
  sum: number;
}

const countOf = ({counts}: Distribution): number => counts.reduce((total, count) => total + count, 0);

const sum = (one: Distribution, other: Distribution): Distribution => ({
  counts: one.counts.map((count, bucket) => count + other.counts[bucket]!),
  sum: one.sum + other.sum,
});

/** The series of a histogram. */
export class HistogramSeries implements Histogram {
  readonly type = 'histogram';
  readonly spec: HistogramSpec;
  readonly #bounds: readonly number[];
  /** The counts of a series that has observed nothing. */
  readonly #zeros: readonly number[];
  /** The bounds as label values. */
  readonly #limits: () => readonly string[];
  readonly #keys: SeriesKeys;
  readonly #updates = new Set<() => void>();
  readonly #idle: IdleSeries | undefined;
  #values = new Map<string, Distribution>();

  /** `now` is a monotonic time in milliseconds. */
  constructor(spec: HistogramSpec, limits: LabelLimits, now: () => number) {
    this.spec = spec;
    this.#idle = spec.hidesIdle ? new IdleSeries(now) : undefined;
    this.#keys = new SeriesKeys(spec, limits);
    this.#bounds = [...spec.buckets].sort((a, b) => a - b);
    this.#zeros = [...this.#bounds, Infinity].map(() => 0);
    this.#limits = lazily(() => [...this.#bounds, Infinity].map(formatDouble));
  }

  observe(value: number, labels: Labels = {}): void {
    this.#observe(this.#distribution(this.#keys.of(labels)), value, 1);
  }

  at(labels: Labels): {observe(value: number, weight?: number): void} {
    const key = this.#keys.of(labels);
    let values = this.#values;
    let distribution = values.get(key);
    return {
      observe: (value, weight = 1) => {
        if (!distribution || values !== this.#values) distribution = this.#distribution(key);
        values = this.#values;
        this.#observe(distribution, value, weight);
      },
    };
  }

  beforeScrape(update: () => void): Disposable {
    this.#updates.add(update);
    return {[Symbol.dispose]: () => void this.#updates.delete(update)};
  }

  #distribution(key: string): Distribution {
    const known = this.#values.get(key);
    if (known) return known;
    const admitted = this.#keys.admit(key, this.#values);
    const distribution = this.#values.get(admitted) ?? {counts: this.#zeros.slice(), sum: 0};
    this.#values.set(admitted, distribution);
    return distribution;
  }

  #observe(distribution: Distribution, value: number, weight: number): void {
    const bounds = this.#bounds;
    let bucket = 0;
    while (bucket < bounds.length && value > bounds[bucket]!) bucket++;
    distribution.counts[bucket]! += weight;
    distribution.sum += value * weight;
  }

  reset(): void {
    this.#values = new Map();
  }

  /**
   * Yields the values, summed with those of other components that have the same buckets. There are many: they are made
   * as they are taken.
   */
  *samples(others: readonly HistogramSeries[] = []): Iterable<Sample> {
    for (const update of this.#updates) update();
    const all = new Map(this.#values);
    for (const other of others) {
      if (other.#bounds.join() !== this.#bounds.join()) continue;
      for (const [otherKey, distribution] of other.#values) {
        const key = keyOf(this.spec, labelsOf(other.spec, otherKey));
        const known = all.get(key);
        all.set(key, known ? sum(known, distribution) : distribution);
      }
    }
    for (const [key, distribution] of all)
      if (!this.#idle?.isIdle(key, countOf(distribution))) yield* this.#parts(labelsOf(this.spec, key), distribution);
  }

  #parts(sharedLabels: Record<string, string>, {counts, sum}: Distribution): Sample[] {
    const {name} = this.spec;
    const limits = this.#limits();
    let total = 0;
    const buckets = counts.map((count, index) => {
      total += count;
      return {labels: {le: limits[index]!}, sharedLabels, value: total, metricName: `${name}_bucket`};
    });
    return [
      ...buckets,
      {labels: {}, sharedLabels, value: sum, metricName: `${name}_sum`},
      {labels: {}, sharedLabels, value: total, metricName: `${name}_count`},
    ];
  }
}
