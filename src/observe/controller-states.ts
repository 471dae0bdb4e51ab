// What the metrics of the queues of controllers say of them.

import {quantile, type Metrics, type Sample} from './metrics-text.js';

/** A controller, by its queue. */
export interface ControllerState {
  readonly name: string;
  readonly depth: number;
  readonly adds: number;
  readonly retries: number;
  /** The medians and the 99th percentiles, in seconds. */
  readonly waits: number;
  readonly works: number;
  readonly worksMost: number;
  readonly errors: number;
}

const byName = (metrics: Metrics, metric: string, label: string): ReadonlyMap<string, readonly Sample[]> => {
  const groups = new Map<string, Sample[]>();
  for (const sample of metrics.get(metric) ?? []) {
    const name = sample.labels[label] ?? '';
    const known = groups.get(name);
    if (known) known.push(sample);
    else groups.set(name, [sample]);
  }
  return groups;
};

const sum = (samples: readonly Sample[] = []): number => samples.reduce((all, {value}) => all + value, 0);

/** The metrics that `controllersOf` reads. */
export const controllerMetrics = [
  'workqueue_depth',
  'workqueue_adds_total',
  'workqueue_retries_total',
  'workqueue_queue_duration_seconds_bucket',
  'workqueue_work_duration_seconds_bucket',
  'controller_runtime_reconcile_errors_total',
];

/** Returns the controllers with a queue in these metrics; first those in whose queue most waits. */
export const controllersOf = (metrics: Metrics): ControllerState[] => {
  const depth = byName(metrics, 'workqueue_depth', 'name');
  const adds = byName(metrics, 'workqueue_adds_total', 'name');
  const retries = byName(metrics, 'workqueue_retries_total', 'name');
  const waits = byName(metrics, 'workqueue_queue_duration_seconds_bucket', 'name');
  const works = byName(metrics, 'workqueue_work_duration_seconds_bucket', 'name');
  const errors = byName(metrics, 'controller_runtime_reconcile_errors_total', 'controller');
  return [...depth.keys()]
    .map(name => ({
      name,
      depth: sum(depth.get(name)),
      adds: sum(adds.get(name)),
      retries: sum(retries.get(name)),
      waits: quantile(0.5, waits.get(name) ?? []),
      works: quantile(0.5, works.get(name) ?? []),
      worksMost: quantile(0.99, works.get(name) ?? []),
      errors: sum(errors.get(name)),
    }))
    .sort((one, other) => other.depth - one.depth || other.adds - one.adds || one.name.localeCompare(other.name));
};
