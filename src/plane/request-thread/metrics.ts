import type {Counter, Histogram, HistogramSpec, Labels, Meter, MetricSpec} from '#src/base/meter.js';
import {MetricsRegistry} from '#src/observe/metrics.js';

/** An increment of a counter or an observation of a histogram, in a message. */
export type MetricSample =
  | {readonly type: 'counter'; readonly spec: MetricSpec; readonly values: [labels: Labels, amount: number][]}
  | {readonly type: 'histogram'; readonly spec: HistogramSpec; readonly values: [labels: Labels, value: number][]};

/** Metrics that the main thread records for all requests. */
const isCountedAlready = (name: string): boolean =>
  /^(?:apiserver_(?:request|response|current|longrunning|watch|authorization(?!_webhook))_|authenticat|authorization_)/.test(name);

/** The number of values that are kept until they are taken. */
const maxValues = 10_000;

/** Collects recorded values until they are taken; gauges that are read on collection are not forwarded. */
export class ForwardedMetrics extends MetricsRegistry {
  #samples = new Map<string, MetricSample>();
  #count = 0;

  override counter(spec: MetricSpec): Counter {
    const add = (labels: Labels = {}, amount = 1): void => this.#record('counter', spec, [labels, amount]);
    return {add, at: labels => ({add: amount => add(labels, amount)})};
  }

  override histogram(spec: HistogramSpec): Histogram {
    const observe = (value: number, labels: Labels = {}): void => this.#record('histogram', spec, [labels, value]);
    return {observe, at: labels => ({observe: value => observe(value, labels)}), beforeScrape: () => ({[Symbol.dispose]() {}})};
  }

  /** Returns the values since the last call. */
  take(): readonly MetricSample[] {
    const samples = [...this.#samples.values()];
    this.#samples = new Map();
    this.#count = 0;
    return samples;
  }

  #record(type: MetricSample['type'], spec: MetricSpec, value: [Labels, number]): void {
    if (this.#count >= maxValues || isCountedAlready(spec.name)) return;
    this.#count++;
    const sample = this.#samples.get(spec.name);
    if (sample) sample.values.push(value);
    else this.#samples.set(spec.name, {type, spec, values: [value]} as MetricSample);
  }
}

/** Records the values of another thread. */
export const recordSamples = (meter: Meter, samples: readonly MetricSample[]): void => {
  for (const sample of samples) {
    if (sample.type === 'counter') {
      const counter = meter.counter(sample.spec);
      for (const [labels, amount] of sample.values) counter.add(labels, amount);
    } else {
      const histogram = meter.histogram(sample.spec);
      for (const [labels, value] of sample.values) histogram.observe(value, labels);
    }
  }
};
