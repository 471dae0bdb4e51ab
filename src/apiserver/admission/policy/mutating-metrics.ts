import type {Meter} from '#src/base/meter.js';
import {checkBuckets, errorTypeOf} from './validating-metrics.js';

/** Counts a mutation and its error, if any. */
export type CountMutation = (by: {readonly policy: string; readonly binding: string}, tookMs: number, failure?: string) => void;

export const mutatingMetrics = (meter: Meter): CountMutation => {
  const labels = ['policy', 'policy_binding', 'error_type'];
  const prefix = 'apiserver_mutating_admission_policy_check';
  const checks = meter.counter({
    name: `${prefix}_total`,
    help: 'Mutations by mutating admission policies, by policy, binding and error.',
    labels,
  });
  const durations = meter.histogram({
    name: `${prefix}_duration_seconds`,
    help: 'How long mutations of mutating admission policies took, in seconds, by policy, binding and error.',
    labels,
    buckets: checkBuckets,
  });
  return ({policy, binding}, tookMs, failure) => {
    const series = {policy, policy_binding: binding, error_type: errorTypeOf(failure)};
    checks.add(series);
    durations.observe(tookMs / 1000, series);
  };
};
