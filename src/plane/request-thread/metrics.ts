import type {Counter, Histogram, HistogramSpec, Labels, Meter, MetricSpec} from '#src/base/meter.js';
import {MetricsRegistry} from '#src/observe/metrics.js';

/** What was added to a counter or observed of a histogram, as a message carries it. */
export type MetricSample =
  | {readonly type: 'counter'; readonly spec: MetricSpec; readonly values: [labels: Labels, amount: number][]}
  | {readonly type: 'histogram'; readonly spec: HistogramSpec; readonly values: [labels: Labels, value: number][]};

/** What the thread that takes a request in counts of it, whoever answers. */
const isCountedAlready = (name: string): boolean => /^(?:apiserver_(?:request|response|current|longrunning|watch)_|authenticat|authorization_)/.test(name);

/** So many values are kept at most until they are taken. */
const mostValues = 10_000;

/** Keeps what is counted until somebody takes it; what is read when somebody looks is the affair of the thread itself. */
export class ForwardedMetrics extends MetricsRegistry {
  #samples = new Map<string, MetricSample>();
  #count = 0;

  override counter(spec: MetricSpec): Counter {
    const add = (labels: Labels = {}, amount = 1): void => this.#note('counter', spec, [labels, amount]);
    return {add, at: labels => ({add: amount => add(labels, amount)})};
  }

  override histogram(spec: HistogramSpec): Histogram {
    const observe = (value: number, labels: Labels = {}): void => this.#note('histogram', spec, [labels, value]);
    return {observe, at: labels => ({observe: value => observe(value, labels)})};
  }

  /** What was counted since the last time. */
  take(): readonly MetricSample[] {
    const samples = [...this.#samples.values()];
    this.#samples = new Map();
    this.#count = 0;
    return samples;
  }

  #note(type: MetricSample['type'], spec: MetricSpec, value: [Labels, number]): void {
    if (this.#count >= mostValues || isCountedAlready(spec.name)) return;
    this.#count++;
    const sample = this.#samples.get(spec.name);
    if (sample) sample.values.push(value);
    else this.#samples.set(spec.name, {type, spec, values: [value]} as MetricSample);
  }
}

/** Counts what another thread has counted. */
export const account = (meter: Meter, samples: readonly MetricSample[]): void => {
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
