import type {Counter, Gauge, Histogram, HistogramSpec, Labels, MetricSpec} from '#src/base/meter.js';

/** One line of an exposition. */
export interface Sample {
  readonly labels: Record<string, string | number>;
  readonly value: number;
  /** Differs from the metric's name for the parts of a histogram. */
  readonly metricName?: string;
}

const keyOf = ({labels: names = []}: MetricSpec, labels: Labels): string => names.map(name => labels[name] ?? '').join('\u0000');

const labelsOf = ({labels: names = []}: MetricSpec, key: string): Record<string, string> => {
  const values = key.split('\u0000');
  return Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']));
};

/** The series of a counter or gauge, counted or read when asked for. */
export class ValueSeries implements Counter, Gauge {
  readonly type: 'counter' | 'gauge';
  readonly spec: MetricSpec;
  readonly #values = new Map<string, number>();
  readonly #readers = new Set<() => Iterable<readonly [Labels, number]>>();

  constructor(type: 'counter' | 'gauge', spec: MetricSpec) {
    this.type = type;
    this.spec = spec;
    this.reset();
  }

  add(labels: Labels = {}, amount = 1): void {
    this.#add(keyOf(this.spec, labels), amount);
  }

  at(labels: Labels): {add(amount?: number): void} {
    const key = keyOf(this.spec, labels);
    return {add: (amount = 1) => this.#add(key, amount)};
  }

  #add(key: string, amount: number): void {
    this.#values.set(key, (this.#values.get(key) ?? 0) + amount);
  }

  set(value: number, labels: Labels = {}): void {
    this.#values.set(keyOf(this.spec, labels), value);
  }

  remove(labels: Labels = {}): void {
    this.#values.delete(keyOf(this.spec, labels));
  }

  observe(read: () => Iterable<readonly [Labels, number]>): Disposable {
    this.#readers.add(read);
    return {[Symbol.dispose]: () => void this.#readers.delete(read)};
  }

  reset(): void {
    this.#values.clear();
    // A counter without labels is there from the start, at zero.
    if (this.type === 'counter' && !this.spec.labels?.length) this.#values.set('', 0);
  }

  readonly samples = (): Iterable<Sample> => {
    const all = new Map(this.#values);
    // Several readers of one series add up, so that no line appears twice.
    for (const read of this.#readers) {
      for (const [labels, value] of read()) {
        const key = keyOf(this.spec, labels);
        all.set(key, (all.get(key) ?? 0) + value);
      }
    }
    return [...all].map(([key, value]) => ({labels: labelsOf(this.spec, key), value}));
  };
}

interface Distribution {
  /** One more than there are bounds: the last is for what exceeds them all. */
  readonly counts: number[];
  sum: number;
}

/** The series of a histogram. */
export class HistogramSeries implements Histogram {
  readonly type = 'histogram';
  readonly spec: HistogramSpec;
  readonly #bounds: readonly number[];
  readonly #values = new Map<string, Distribution>();

  constructor(spec: HistogramSpec) {
    this.spec = spec;
    this.#bounds = [...spec.buckets].sort((a, b) => a - b);
  }

  observe(value: number, labels: Labels = {}): void {
    this.#observe(keyOf(this.spec, labels), value);
  }

  at(labels: Labels): {observe(value: number): void} {
    const key = keyOf(this.spec, labels);
    return {observe: value => this.#observe(key, value)};
  }

  #observe(key: string, value: number): void {
    let distribution = this.#values.get(key);
    if (!distribution) {
      distribution = {counts: Array.from({length: this.#bounds.length + 1}, () => 0), sum: 0};
      this.#values.set(key, distribution);
    }
    const bucket = this.#bounds.findIndex(bound => value <= bound);
    distribution.counts[bucket < 0 ? this.#bounds.length : bucket]!++;
    distribution.sum += value;
  }

  reset(): void {
    this.#values.clear();
  }

  readonly samples = (): Iterable<Sample> => [...this.#values].flatMap(([key, distribution]) => this.#parts(labelsOf(this.spec, key), distribution));

  #parts(labels: Record<string, string>, {counts, sum}: Distribution): Sample[] {
    const {name} = this.spec;
    let total = 0;
    const buckets = counts.map((count, index) => {
      total += count;
      return {labels: {le: this.#bounds[index] ?? '+Inf', ...labels}, value: total, metricName: `${name}_bucket`};
    });
    return [...buckets, {labels, value: sum, metricName: `${name}_sum`}, {labels, value: total, metricName: `${name}_count`}];
  }
}
