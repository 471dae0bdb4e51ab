import type {Frozen} from '#src/api/key.js';
import type {Conditions} from './conditions.js';
import type {Demand} from './demand.js';
import type {Failed} from './failure.js';
import type {History} from './history.js';
import {scaleByBehavior, scaleWithoutBehavior, type Autoscaler} from './limits.js';

/** The decision on a target, with its reason. */
export interface Decision {
  readonly replicas: number;
  readonly reason: string;
  /** Why some metrics could not be computed, while others could. */
  readonly error?: Failed | undefined;
}

/**
 * Returns the decision that needs no metrics: a target without replicas is left alone, one outside the bounds is
 * brought to the nearest.
 */
export const decideWithoutMetrics = (hpa: Frozen<Autoscaler>, current: number, conditions: Conditions): Decision | undefined => {
  const {minReplicas: min = 1, maxReplicas: max} = hpa.spec!;
  if (current === 0 && min !== 0) {
    conditions.set('ScalingActive', 'False', {
      reason: 'ScalingDisabled',
      message: 'scaling is disabled since the replica count of the target is zero',
    });
    return {replicas: 0, reason: ''};
  }
  if (current > max) return {replicas: max, reason: 'Current number of replicas above Spec.MaxReplicas'};
  return current < min ? {replicas: min, reason: 'Current number of replicas below Spec.MinReplicas'} : undefined;
};

interface DecisionInput {
  readonly current: number;
  readonly conditions: Conditions;
  readonly history: History;
  /** The default of the scale-down window. */
  readonly windowMs: number;
  /** Monotonic. */
  readonly now: number;
}

/** Limits what the metrics ask for, and records it in the history. */
export const decideByDemand = (
  hpa: Frozen<Autoscaler>,
  demand: Demand,
  {current, conditions, history, windowMs, now}: DecisionInput,
): Decision => {
  const {minReplicas: min = 1, maxReplicas: max, behavior} = hpa.spec!;
  const request = {current, desired: demand.replicas, min, max};
  const {replicas, able, limited} = behavior
    ? scaleByBehavior(request, behavior, history, windowMs, now)
    : scaleWithoutBehavior(request, history, windowMs, now);
  conditions.set('AbleToScale', 'True', able);
  conditions.set('ScalingLimited', limited.status, limited);
  const reason = demand.replicas > current ? `${demand.name} above target` : demand.replicas < current ? 'All metrics below target' : '';
  return {replicas, reason, error: demand.error};
};
