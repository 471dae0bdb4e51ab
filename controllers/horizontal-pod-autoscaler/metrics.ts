// The metrics of the autoscaler under upstream's names, with the bounded values of their labels.

import type {Clock} from '#src/base/clock.js';
import {exponentialBuckets, type Meter} from '#src/base/meter.js';
import type {ObjectKey} from '#src/api/key.js';

export type Action = 'scale_up' | 'scale_down' | 'none';
/** The cause of a failure. */
export type Fault = 'spec' | 'internal' | 'none';

const prefix = 'horizontal_pod_autoscaler_controller';
const buckets = exponentialBuckets(0.001, 2, 15);

/** Returns the direction of a change. */
export const actionOf = (from: number, to: number): Action => (to > from ? 'scale_up' : to < from ? 'scale_down' : 'none');

/** The controller's metrics. */
export const autoscalerMetrics = (meter: Meter, clock: Clock, autoscalers: () => number) => {
  const reconciliations = {
    total: meter.counter({
      name: `${prefix}_reconciliations_total`,
      help: 'How often autoscalers were looked at, by what was done and whose fault a failure was.',
      labels: ['action', 'error'],
    }),
    duration: meter.histogram({
      name: `${prefix}_reconciliation_duration_seconds`,
      help: 'How long a look at an autoscaler takes, by what was done and whose fault a failure was.',
      labels: ['action', 'error'],
      buckets,
    }),
  };
  const computations = {
    total: meter.counter({
      name: `${prefix}_metric_computation_total`,
      help: 'How often metrics were reckoned with, by what they ask for, whose fault a failure was, and their type.',
      labels: ['action', 'error', 'metric_type'],
    }),
    duration: meter.histogram({
      name: `${prefix}_metric_computation_duration_seconds`,
      help: 'How long reckoning with a metric takes, by what it asks for, whose fault a failure was, and its type.',
      labels: ['action', 'error', 'metric_type'],
      buckets,
    }),
  };
  const desired = meter.gauge({
    name: `${prefix}_desired_replicas`,
    help: 'How many replicas an autoscaler asks for.',
    labels: ['namespace', 'hpa_name'],
  });
  meter.observed({name: `${prefix}_num_horizontal_pod_autoscalers`, help: 'How many autoscalers there are.'}, () => [[{}, autoscalers()]]);
  const seconds = (since: number) => (clock.monotonic() - since) / 1000;
  return {
    countReconciliation(action: Action, error: Fault, since: number) {
      reconciliations.total.add({action, error});
      reconciliations.duration.observe(seconds(since), {action, error});
    },
    countComputation(action: Action, error: Fault, type: string, since: number) {
      computations.total.add({action, error, metric_type: type});
      computations.duration.observe(seconds(since), {action, error, metric_type: type});
    },
    setDesired: ({namespace, name}: ObjectKey, replicas: number) => desired.set(replicas, {namespace, hpa_name: name}),
    forget: ({namespace, name}: ObjectKey) => desired.remove({namespace, hpa_name: name}),
  };
};

export type AutoscalerMetrics = ReturnType<typeof autoscalerMetrics>;
