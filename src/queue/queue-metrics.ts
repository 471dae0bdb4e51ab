import type {Clock} from '#src/base/clock.js';
import {exponentialBuckets, type Meter} from '#src/base/meter.js';
import type {Priority, ReadyItems} from './ready-items.js';

/**
 * Whose labels the metrics have: client-go's `name`, or the `controller` too, and the `priority` of waiting items, as
 * controller-runtime has it.
 */
export type QueueLabels = 'client-go' | 'controller-runtime';

/** The priorities of controller-runtime. */
const priorities: ReadonlyMap<Priority, string> = new Map([
  ['normal', '0'],
  ['low', '-100'],
]);

interface QueueMetricsParts {
  readonly clock: Clock;
  readonly meter: Meter;
  readonly name: string;
  readonly labels?: QueueLabels | undefined;
}

const buckets = exponentialBuckets(1e-8, 10, 12);

/** The metrics of a work queue, under the names of client-go. Times are monotonic. */
export class QueueMetrics<T> implements Disposable {
  readonly #clock: Clock;
  readonly #started = new Map<T, number>();
  readonly #adds;
  readonly #retries;
  readonly #queueDuration;
  readonly #workDuration;
  readonly #observed: readonly Disposable[];

  constructor({clock, meter, name, labels: style = 'client-go'}: QueueMetricsParts, ready: Pick<ReadyItems<T>, 'size' | 'sizeOf'>) {
    const byPriority = style === 'controller-runtime';
    const own = byPriority ? {name, controller: name} : {name};
    const labels = Object.keys(own);
    this.#clock = clock;
    this.#adds = meter.counter({name: 'workqueue_adds_total', help: 'Total number of adds handled by workqueue', labels}).at(own);
    this.#retries = meter.counter({name: 'workqueue_retries_total', help: 'Total number of retries handled by workqueue', labels}).at(own);
    this.#queueDuration = meter
      .histogram({
        name: 'workqueue_queue_duration_seconds',
        help: 'How long in seconds an item stays in workqueue before being requested.',
        labels,
        buckets,
      })
      .at(own);
    this.#workDuration = meter
      .histogram({
        name: 'workqueue_work_duration_seconds',
        help: 'How long in seconds processing an item from workqueue takes.',
        labels,
        buckets,
      })
      .at(own);
    const observe = (metric: string, help: string, read: () => number) =>
      meter.observed({name: metric, help, labels}, () => [[own, read()]]);
    const depth = {name: 'workqueue_depth', help: 'Current depth of workqueue'};
    this.#observed = [
      byPriority
        ? meter.observed({...depth, labels: [...labels, 'priority']}, () =>
            [...priorities].map(([each, priority]) => [{...own, priority}, ready.sizeOf(each)] as const),
          )
        : observe(depth.name, depth.help, () => ready.size),
      observe(
        'workqueue_unfinished_work_seconds',
        'How many seconds of work is in progress and not yet counted by work_duration. Large values indicate stuck workers.',
        () => this.#running().reduce((sum, age) => sum + age, 0),
      ),
      observe(
        'workqueue_longest_running_processor_seconds',
        'How many seconds the longest running processor of workqueue has been running.',
        () => Math.max(0, ...this.#running()),
      ),
    ];
    // Series exist from the start, so that rates can be taken over the first event.
    this.#adds.add(0);
    this.#retries.add(0);
  }

  added(count: number): void {
    this.#adds.add(count);
  }

  retried(): void {
    this.#retries.add();
  }

  taken(item: T, since: number): void {
    const now = this.#clock.monotonic();
    this.#queueDuration.observe((now - since) / 1000);
    this.#started.set(item, now);
  }

  done(item: T): void {
    const now = this.#clock.monotonic();
    this.#workDuration.observe((now - (this.#started.get(item) ?? now)) / 1000);
    this.#started.delete(item);
  }

  [Symbol.dispose](): void {
    for (const series of this.#observed) series[Symbol.dispose]();
  }

  #running(): number[] {
    const now = this.#clock.monotonic();
    return [...this.#started.values()].map(since => (now - since) / 1000);
  }
}
