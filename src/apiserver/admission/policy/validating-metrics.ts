import type {Meter} from '#src/base/meter.js';

/** The metric label of an expression's error, derived from its message as upstream does. */
export const errorTypeOf = (message: string | undefined): string => {
  if (message === undefined) return 'no_error';
  if (message.startsWith('compilation')) return 'compile_error';
  return message.startsWith('validation failed due to running out of cost budget') ? 'out_of_budget' : 'invalid_error';
};

/** The buckets of evaluation times, in seconds. */
export const checkBuckets = [0.000_000_5, 0.001, 0.01, 0.1, 1];

/** The result of a validation. */
export interface Check {
  readonly policy: string;
  readonly binding: string;
  readonly message: string;
  readonly tookMs: number;
}

/** Counts enforced validations. */
export type CountCheck = (action: 'allow' | 'deny' | 'audit' | 'warn', check: Check) => void;

export const validatingMetrics = (meter: Meter): CountCheck => {
  const labels = ['policy', 'policy_binding', 'error_type', 'enforcement_action'];
  const prefix = 'apiserver_validating_admission_policy_check';
  const checks = meter.counter({
    name: `${prefix}_total`,
    help: 'Checks by validating admission policies, by policy, binding, error and what was enforced.',
    labels,
  });
  const durations = meter.histogram({
    name: `${prefix}_duration_seconds`,
    help: 'How long expressions of validating admission policies took, in seconds, by policy, binding, error and what was enforced.',
    labels,
    buckets: checkBuckets,
  });
  return (action, {policy, binding, message, tookMs}) => {
    const series = {policy, policy_binding: binding, error_type: errorTypeOf(message), enforcement_action: action};
    checks.add(series);
    durations.observe(tookMs / 1000, series);
  };
};
