import type {Counter, Histogram, HistogramSpec, Labels, Meter, MetricSpec} from '#src/base/meter.js';
import {MetricsRegistry} from '#src/observe/metrics.js';

/** What was added to a counter or observed of a histogram, as a message carries it. */
export type Figure =
  | {readonly type: 'counter'; readonly spec: MetricSpec; readonly values: [labels: Labels, amount: number][]}
  | {readonly type: 'histogram'; readonly spec: HistogramSpec; readonly values: [labels: Labels, value: number][]};

/** What the thread that takes a request in counts of it, whoever answers. */
const isCountedAlready = (name: string): boolean => /^(?:apiserver_(?:request|response|current|longrunning|watch)_|authenticat|authorization_)/.test(name);

/** So many values are kept at most until they are taken. */
const mostValues = 10_000;

/** Keeps what is counted until somebody takes it; what is read when somebody looks is the affair of the thread itself. */
export class PassedFigures extends MetricsRegistry {
  #figures = new Map<string, Figure>();
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
  take(): readonly Figure[] {
    const figures = [...this.#figures.values()];
    this.#figures = new Map();
    this.#count = 0;
    return figures;
  }

  #note(type: Figure['type'], spec: MetricSpec, value: [Labels, number]): void {
    if (this.#count >= mostValues || isCountedAlready(spec.name)) return;
    this.#count++;
    const figure = this.#figures.get(spec.name);
    if (figure) figure.values.push(value);
    else this.#figures.set(spec.name, {type, spec, values: [value]} as Figure);
  }
}

/** Counts what another thread has counted. */
export const account = (meter: Meter, figures: readonly Figure[]): void => {
  for (const figure of figures) {
    if (figure.type === 'counter') {
      const counter = meter.counter(figure.spec);
      for (const [labels, amount] of figure.values) counter.add(labels, amount);
    } else {
      const histogram = meter.histogram(figure.spec);
      for (const [labels, value] of figure.values) histogram.observe(value, labels);
    }
  }
};
