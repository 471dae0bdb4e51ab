import type {Clock} from '#src/base/clock.js';
import type {Meter} from '#src/base/meter.js';

/** The metrics of match conditions, by the name of their owner. */
export interface ConditionMetrics {
  /** Records a request that conditions excluded. */
  excluded(name: string, operation: string): void;
  /** Records a condition whose evaluation failed. */
  failed(name: string, operation: string): void;
  evaluated(name: string, operation: string, startedAt: number): void;
}

/** The owner of match conditions, and the phase of their evaluation. */
export interface ConditionOwner {
  readonly kind: 'webhook' | 'policy';
  readonly type: string;
}

export const conditionMetrics = (meter: Meter, clock: Clock, {kind, type}: ConditionOwner): ConditionMetrics => {
  const prefix = 'apiserver_admission_match_condition';
  const labels = ['name', 'kind', 'type', 'operation'];
  const exclusions = meter.counter({
    name: `${prefix}_exclusions_total`,
    help: 'Requests that match conditions excluded, by the name of the webhook or policy.',
    labels,
  });
  const errors = meter.counter({
    name: `${prefix}_evaluation_errors_total`,
    help: 'Match conditions whose evaluation failed, by the name of the webhook or policy.',
    labels,
  });
  const evaluations = meter.histogram({
    name: `${prefix}_evaluation_seconds`,
    help: 'Evaluation time of match conditions in seconds, by the name of the webhook or policy.',
    labels,
    buckets: [0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25],
  });
  return {
    excluded: (name, operation) => exclusions.add({name, kind, type, operation}),
    failed: (name, operation) => errors.add({name, kind, type, operation}),
    evaluated: (name, operation, startedAt) => evaluations.observe((clock.monotonic() - startedAt) / 1000, {name, kind, type, operation}),
  };
};
