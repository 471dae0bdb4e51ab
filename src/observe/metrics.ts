import {caches} from '#src/base/cache-bound.js';
import {systemClock, type Clock} from '#src/base/clock.js';
import {yieldInTurn} from '#src/base/turn.js';
import type {Counter, Gauge, Histogram, HistogramSpec, Labels, Meter, MetricSpec, ObservedSpec} from '#src/base/meter.js';
import {HistogramSeries, ValueSeries, type LabelLimits, type Sample} from './series.js';
import {annotatedHelp, isHidden, stabilityOf} from './stability.js';

// The metrics of a process: what is counted, limited to stable label values, and written for scrapers. Code that counts
// gets a `Meter` (src/base/meter.ts) only.

interface Metric {
  readonly spec: MetricSpec;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** Returns the values, merged with those of other metrics of the same name and type. */
  samples(others?: readonly Metric[]): Iterable<Sample>;
  reset(): void;
}

type Prometheus = typeof import('prom-client');

/** A response for scrapers. */
export interface Exposition {
  readonly contentType: string;
  readonly bytes: Uint8Array;
}

export interface MetricsOptions {
  /** Names of disabled metrics. */
  readonly disabled?: readonly string[];
  /** The allowed label values, by metric and label; all others are counted as `unexpected`. */
  readonly allowedLabels?: AllowedLabels | undefined;
  /** Whether metrics that the release hides are shown. */
  readonly showsHidden?: boolean;
  /** The release whose deprecations apply, such as `1.35`. By default no metric is deprecated. */
  readonly release?: string;
  /** Whether process metrics (CPU, memory, start time) and those about the metrics are included. */
  readonly process?: boolean;
  /** The clock by which series become idle; by default the system's. */
  readonly clock?: Pick<Clock, 'monotonic'>;
}

/** The allowed values of labels, by metric and label. */
export type AllowedLabels = ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>>;

const noop: Counter & Gauge & Histogram = {
  add() {},
  set() {},
  remove() {},
  observe() {},
  at: () => ({add() {}, observe() {}}),
  beforeScrape: () => ({[Symbol.dispose]() {}}),
};

/**
 * The metrics of one component. They are recorded and merged in `series.ts`; prom-client writes the text format and
 * collects the metrics of the process. It is loaded with the first scrape.
 */
export class MetricsRegistry implements Meter {
  readonly #options: MetricsOptions;
  readonly #disabled: ReadonlySet<string>;
  readonly #hidden = new Set<string>();
  readonly #release: string;
  readonly #onUnexpected: () => void;
  readonly #metrics = new Map<string, Metric>();
  #process: import('prom-client').Registry | undefined;

  constructor(options: MetricsOptions = {}) {
    this.#options = options;
    this.#disabled = new Set(options.disabled);
    this.#release = options.release ?? '1.0';
    const categorizations = options.process ? this.#observeItself() : undefined;
    this.#onUnexpected = () => categorizations?.add();
    if (options.process) observeCaches(this);
  }

  counter(spec: MetricSpec): Counter {
    return this.#values('counter', spec);
  }

  gauge(spec: MetricSpec): Gauge {
    return this.#values('gauge', spec);
  }

  observed(spec: ObservedSpec, read: () => Iterable<readonly [Labels, number]>): Disposable {
    if (this.#isOff(spec)) return {[Symbol.dispose]() {}};
    return this.#values(spec.type ?? 'gauge', spec).observe(read);
  }

  histogram(spec: HistogramSpec): Histogram {
    if (this.#isOff(spec)) return noop;
    const {clock = systemClock} = this.#options;
    return this.#own(spec.name, HistogramSeries, 'histogram', () => new HistogramSeries(spec, this.#limits(spec), () => clock.monotonic()));
  }

  /**
   * Returns all series in the text format of Prometheus, merged with those of other components of the process: each
   * name is one family and each series one line. Counters and histograms of the same series are summed; of gauges this
   * registry's value is taken.
   */
  async exposition(others: readonly MetricsRegistry[] = []): Promise<{readonly contentType: string; readonly body: string}> {
    const {contentType, bytes} = await this.encoded(others);
    return {contentType, body: bytes.toString()};
  }

  /** Returns the bytes of the exposition, which are made in pieces. */
  async encoded(others: readonly MetricsRegistry[] = []): Promise<Exposition> {
    const prom = await import('prom-client');
    await yieldInTurn(); // Loading it takes 30 ms.
    const families = new Map<string, Metric[]>();
    for (const metric of [this, ...others].flatMap(each => [...each.#metrics.values()])) {
      const family = families.get(metric.spec.name);
      if (!family) families.set(metric.spec.name, [metric]);
      else if (family[0]!.type === metric.type) family.push(metric);
    }
    const format = new Formatter(prom);
    for (const [first, ...rest] of families.values()) await format.family(first!, rest, annotatedHelp(first!.spec, this.#release));
    await yieldInTurn();
    const ofProcess = this.#options.process ? await this.#ofProcess(prom) : '';
    const bytes = Buffer.concat([Buffer.from(ofProcess), ...format.pieces, Buffer.from('\n')]);
    return {contentType: prom.Registry.PROMETHEUS_CONTENT_TYPE, bytes};
  }

  /** Returns the value of one series, or a histogram's count; undefined if absent. */
  value(name: string, labels: Labels = {}): number | undefined {
    const matches = ({labels: own, sharedLabels}: Sample) =>
      Object.entries(labels).every(([label, value]) => (sharedLabels ?? own)[label] === value);
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
    if (this.#isOff(spec)) return silentSeries;
    return this.#own(spec.name, ValueSeries, type, () => new ValueSeries(type, spec, this.#limits(spec)));
  }

  /** Whether a metric is disabled, or hidden by the release. */
  #isOff(spec: MetricSpec): boolean {
    if (!this.#options.showsHidden && isHidden(spec, this.#release)) {
      this.#hidden.add(spec.name);
      return true;
    }
    return this.#disabled.has(spec.name);
  }

  #limits({name}: MetricSpec): LabelLimits {
    return {allowed: this.#options.allowedLabels?.get(name), onUnexpected: () => this.#onUnexpected()};
  }

  /** Adds the metrics about the metrics. Returns the counter of replaced label values. */
  #observeItself(): Counter {
    this.observed(
      {
        name: 'registered_metrics_total',
        help: 'The count of registered metrics broken by stability level and deprecation version.',
        labels: ['stability_level', 'deprecated_version'],
        type: 'counter',
      },
      () =>
        Array.from(this.#metrics.values(), ({spec}) => [
          {stability_level: stabilityOf(spec), deprecated_version: spec.deprecatedSince ?? ''},
          1,
        ]),
    );
    const disabled = this.#options.disabled?.length ?? 0;
    this.observed({name: 'disabled_metrics_total', help: 'The count of disabled metrics.', type: 'counter'}, () => [[{}, disabled]]);
    this.observed({name: 'hidden_metrics_total', help: 'The count of hidden metrics.', type: 'counter'}, () => [[{}, this.#hidden.size]]);
    return this.counter({
      name: 'cardinality_enforcement_unexpected_categorizations_total',
      help: 'The count of unexpected categorizations during cardinality enforcement.',
    });
  }

  #own<M extends Metric>(name: string, of: abstract new (...options: never[]) => M, type: Metric['type'], make: () => M): M {
    const known = this.#metrics.get(name);
    if (known instanceof of && known.type === type) return known;
    if (known) throw new Error(`metric ${name} is a ${known.type} already`);
    const metric = make();
    this.#metrics.set(name, metric);
    return metric;
  }

  async #ofProcess({Registry, collectDefaultMetrics}: Prometheus): Promise<string> {
    if (!this.#process) collectDefaultMetrics({register: (this.#process = new Registry())});
    return `${await this.#process.metrics()}\n`;
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

/** How many lines are formatted in one turn of the event loop. */
const linesPerTurn = 500;

/**
 * Formats families, a piece in each turn of the event loop: a server with many resources has tens of thousands of
 * lines.
 */
class Formatter {
  /** The text so far. */
  readonly pieces: Buffer[] = [];
  readonly #prom: Prometheus;
  #lines = 0;

  constructor(prom: Prometheus) {
    this.#prom = prom;
  }

  async family(first: Metric, rest: readonly Metric[], help: string): Promise<void> {
    let values: Sample[] = [];
    let isBegun = false;
    const write = async () => {
      const text = await this.#formatted(first, values, help);
      // Each piece begins with the two lines about the family.
      const piece = isBegun
        ? `\n${text.slice(text.indexOf('\n', text.indexOf('\n') + 1) + 1)}`
        : `${this.pieces.length > 0 ? '\n\n' : ''}${text}`;
      this.pieces.push(Buffer.from(piece));
      isBegun = true;
      values = [];
    };
    for (const sample of first.samples(rest)) {
      values.push(sample);
      if (++this.#lines < linesPerTurn) continue;
      await write();
      this.#lines = 0;
      await yieldInTurn();
    }
    if (values.length > 0 || !isBegun) await write();
  }

  #formatted({spec: {name}, type}: Metric, values: readonly Sample[], help: string): Promise<string> {
    const registry = new this.#prom.Registry();
    const getForPromString = () => Promise.resolve({name, help, type, values});
    registry.registerMetric({name, getForPromString} as unknown as import('prom-client').Metric);
    return registry.getSingleMetricAsString(name);
  }
}
