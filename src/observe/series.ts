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

interface Cell {
  value: number;
}

/** The series of a counter or gauge, counted or read at each scrape. */
export class ValueSeries implements Counter, Gauge {
  readonly type: 'counter' | 'gauge';
  readonly spec: MetricSpec;
  #values = new Map<string, Cell>();
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
    let cell = this.#values.get(key);
    if (!cell) this.#values.set(key, (cell = {value: 0}));
    return cell;
  }

  set(value: number, labels: Labels = {}): void {
    this.#cell(keyOf(this.spec, labels)).value = value;
  }

  remove(labels: Labels = {}): void {
    this.#values.delete(keyOf(this.spec, labels));
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

  readonly samples = (): Iterable<Sample> => {
    const all = new Map([...this.#values].map(([key, {value}]) => [key, value]));
    // Several readers of one series are summed, so that no line appears twice.
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
  /** One more than bounds: the last counts values above all of them. */
  readonly counts: number[];
  sum: number;
}

/** The series of a histogram. */
export class HistogramSeries implements Histogram {
  readonly type = 'histogram';
  readonly spec: HistogramSpec;
  readonly #bounds: readonly number[];
  #values = new Map<string, Distribution>();

  constructor(spec: HistogramSpec) {
    this.spec = spec;
    this.#bounds = [...spec.buckets].sort((a, b) => a - b);
  }

  observe(value: number, labels: Labels = {}): void {
    this.#observe(this.#distribution(keyOf(this.spec, labels)), value);
  }

  at(labels: Labels): {observe(value: number): void} {
    const key = keyOf(this.spec, labels);
    let values = this.#values;
    let distribution = values.get(key);
    return {
      observe: value => {
        if (!distribution || values !== this.#values) distribution = this.#distribution(key);
        values = this.#values;
        this.#observe(distribution, value);
      },
    };
  }

  #distribution(key: string): Distribution {
    let distribution = this.#values.get(key);
    if (!distribution) this.#values.set(key, (distribution = {counts: Array.from({length: this.#bounds.length + 1}, () => 0), sum: 0}));
    return distribution;
  }

  #observe(distribution: Distribution, value: number): void {
    const bounds = this.#bounds;
    let bucket = 0;
    while (bucket < bounds.length && value > bounds[bucket]!) bucket++;
    distribution.counts[bucket]!++;
    distribution.sum += value;
  }

  reset(): void {
    this.#values = new Map();
  }

  readonly samples = (): Iterable<Sample> =>
    [...this.#values].flatMap(([key, distribution]) => this.#parts(labelsOf(this.spec, key), distribution));

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
