import {caches} from '#src/base/cache-bound.js';
import type {Counter, Gauge, Histogram, HistogramSpec, Labels, Meter, MetricSpec, ObservedSpec} from '#src/base/meter.js';
import {mergedSamples} from './merged-samples.js';
import {HistogramSeries, ValueSeries, type Sample} from './series.js';

interface Metric {
  readonly spec: MetricSpec;
  readonly type: 'counter' | 'gauge' | 'histogram';
  samples(): Iterable<Sample>;
  reset(): void;
}

/** A response for scrapers. */
export interface Exposition {
  readonly contentType: string;
  readonly body: string;
}

export interface MetricsOptions {
  /** Names of disabled metrics. */
  readonly disabled?: readonly string[];
  /** Whether process metrics (CPU, memory, start time) are included. */
  readonly process?: boolean;
}

const noop: Counter & Gauge & Histogram = {add() {}, set() {}, remove() {}, observe() {}, at: () => ({add() {}, observe() {}})};

/**
 * The figures of one component. Keeping them costs a map entry each; the library that writes the exposition format and knows the
 * process's figures is loaded when somebody first scrapes.
 */
export class MetricsRegistry implements Meter {
  readonly #options: MetricsOptions;
  readonly #disabled: ReadonlySet<string>;
  readonly #metrics = new Map<string, Metric>();
  #process: Promise<import('prom-client').Registry> | undefined;

  constructor(options: MetricsOptions = {}) {
    this.#options = options;
    this.#disabled = new Set(options.disabled);
    if (options.process) observeCaches(this);
  }

  counter(spec: MetricSpec): Counter {
    return this.#values('counter', spec);
  }

  gauge(spec: MetricSpec): Gauge {
    return this.#values('gauge', spec);
  }

  observed(spec: ObservedSpec, read: () => Iterable<readonly [Labels, number]>): Disposable {
    if (this.#disabled.has(spec.name)) return {[Symbol.dispose]() {}};
    return this.#values(spec.type ?? 'gauge', spec).observe(read);
  }

  histogram(spec: HistogramSpec): Histogram {
    if (this.#disabled.has(spec.name)) return noop;
    return this.#own(spec.name, HistogramSeries, 'histogram', () => new HistogramSeries(spec));
  }

  /**
   * Every series, in the text format of Prometheus, with those of other components of the same process: each name is one family and each series one line. Counters and histograms
   * of the same series add up; of gauges, and of what a process has but once, this registry's counts.
   */
  async exposition(others: readonly MetricsRegistry[] = []): Promise<Exposition> {
    const {Registry} = await import('prom-client');
    const registry = new Registry();
    const families = new Map<string, Metric[]>();
    for (const metric of [this, ...others].flatMap(each => [...each.#metrics.values()])) {
      const family = families.get(metric.spec.name);
      if (!family) families.set(metric.spec.name, [metric]);
      else if (family[0]!.type === metric.type) family.push(metric);
    }
    for (const family of families.values()) register(registry, family);
    const own = await registry.metrics();
    return {contentType: registry.contentType, body: this.#options.process ? `${await this.#ofProcess()}${own}` : own};
  }

  /** Returns the value of one series, or a histogram's count; undefined if absent. */
  value(name: string, labels: Labels = {}): number | undefined {
    const matches = (sample: Sample) => Object.entries(labels).every(([label, value]) => sample.labels[label] === value);
    for (const sample of this.#metrics.get(name)?.samples() ?? []) {
      if ((sample.metricName ?? name) !== `${name}_count` && sample.metricName) continue;
      if (matches(sample)) return sample.value;
    }
    return undefined;
  }

  /** Resets all counted values. */
  reset(): void {
    for (const metric of this.#metrics.values()) metric.reset();
  }

  #values(type: 'counter' | 'gauge', spec: MetricSpec): ValueSeries | typeof silentSeries {
    if (this.#disabled.has(spec.name)) return silentSeries;
    return this.#own(spec.name, ValueSeries, type, () => new ValueSeries(type, spec));
  }

  #own<M extends Metric>(name: string, of: abstract new (...options: never[]) => M, type: Metric['type'], make: () => M): M {
    const known = this.#metrics.get(name);
    if (known instanceof of && known.type === type) return known;
    if (known) throw new Error(`metric ${name} is a ${known.type} already`);
    const metric = make();
    this.#metrics.set(name, metric);
    return metric;
  }

  async #ofProcess(): Promise<string> {
    this.#process ??= import('prom-client').then(({Registry, collectDefaultMetrics}) => {
      const registry = new Registry();
      collectDefaultMetrics({register: registry});
      return registry;
    });
    return `${await (await this.#process).metrics()}\n`;
  }
}

/** Caches are shared by all components of the process. */
const observeCaches = (meter: Meter): void => {
  const labels = ['cache'];
  meter.observed({name: 'process_cache_bytes', help: 'Bytes that each cache takes, about.', labels}, () =>
    caches().map(({name, bytes}) => [{cache: name}, bytes] as const),
  );
  meter.observed({name: 'process_cache_limit_bytes', help: 'Bytes that each cache takes at most.', labels}, () =>
    caches().map(({name, maxBytes}) => [{cache: name}, maxBytes] as const),
  );
};

const silentSeries = {...noop, observe: () => ({[Symbol.dispose]() {}})};

/** The library reads registered metrics by `get`. */
const register = (registry: import('prom-client').Registry, family: readonly Metric[]): void => {
  const {spec, type} = family[0]!;
  const values = () =>
    family.length === 1
      ? [...family[0]!.samples()]
      : mergedSamples(
          family.map(({samples}) => samples()),
          type !== 'gauge',
        );
  const get = () => Promise.resolve({name: spec.name, help: spec.help, type, aggregator: 'sum', values: values()});
  registry.registerMetric({name: spec.name, get} as unknown as import('prom-client').Metric);
};
