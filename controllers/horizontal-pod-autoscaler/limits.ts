// Limits the replicas that the metrics ask for: by minimum and maximum, by the scale-up limit or the policies of a
// behavior, and by the stabilization windows. Pure, except that it records the request in the history.

import type {Frozen} from '#src/api/key.js';
import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import type {History} from './history.js';

export type Autoscaler = ObjectOf<typeof kinds.horizontalPodAutoscalers>;
export type Behavior = Frozen<NonNullable<NonNullable<Autoscaler['spec']>['behavior']>>;
type Rules = NonNullable<Behavior['scaleUp']>;
type Policy = NonNullable<Rules['policies']>[number];

/** The reason and message of a condition. */
export interface ConditionText {
  readonly reason: string;
  readonly message: string;
}

export interface Bounds {
  readonly min: number;
  readonly max: number;
}

/** The desired and the current replicas. */
export interface ScaleRequest extends Bounds {
  readonly current: number;
  readonly desired: number;
}

/** The result: the replicas to scale to, and the conditions. */
export interface LimitedScale {
  readonly replicas: number;
  readonly able: ConditionText;
  readonly limited: ConditionText & {readonly status: 'True' | 'False'};
}

const readyForNewScale: ConditionText = {reason: 'ReadyForNewScale', message: 'recommended size matches current size'};
const heldHigh: ConditionText = {
  reason: 'ScaleDownStabilized',
  message: 'recent recommendations were higher than current one, applying the highest recent recommendation',
};
const heldLow: ConditionText = {
  reason: 'ScaleUpStabilized',
  message: 'recent recommendations were lower than current one, applying the lowest recent recommendation',
};
const withinRange: ConditionText = {reason: 'DesiredWithinRange', message: 'the desired count is within the acceptable range'};
const tooMany: ConditionText = {reason: 'TooManyReplicas', message: 'the desired replica count is more than the maximum replica count'};
const tooFew: ConditionText = {reason: 'TooFewReplicas', message: 'the desired replica count is less than the minimum replica count'};
const growsTooFast: ConditionText = {
  reason: 'ScaleUpLimit',
  message: 'the desired replica count is increasing faster than the maximum scale rate',
};
const shrinksTooFast: ConditionText = {
  reason: 'ScaleDownLimit',
  message: 'the desired replica count is decreasing faster than the maximum scale rate',
};

interface LimitedReplicas {
  readonly replicas: number;
  readonly condition: ConditionText;
}

const limitedScale = (
  {desired}: ScaleRequest,
  stable: number,
  held: ConditionText,
  {replicas, condition}: LimitedReplicas,
): LimitedScale => ({
  replicas,
  able: stable === desired ? readyForNewScale : held,
  limited: {...condition, status: replicas === stable ? 'False' : 'True'},
});

/** Returns the scale-up limit without a behavior. */
const defaultScaleUpLimit = (current: number): number => Math.max(2 * current, 4);

const limitWithoutBehavior = ({current, desired, min, max}: ScaleRequest): LimitedReplicas => {
  const most = defaultScaleUpLimit(current);
  if (desired < min) return {replicas: min, condition: tooFew};
  if (desired > Math.min(max, most)) return max > most ? {replicas: most, condition: growsTooFast} : {replicas: max, condition: tooMany};
  return {replicas: desired, condition: withinRange};
};

/** Limits a request without a behavior: the highest recommendation within the window applies. Records the request. */
export const scaleWithoutBehavior = (request: ScaleRequest, history: History, windowMs: number, now: number): LimitedScale => {
  const since = now - windowMs;
  const stable = Math.max(request.desired, ...history.recommendedFrom(since));
  history.recommend(request.desired, now, since);
  return limitedScale(request, stable, heldHigh, limitWithoutBehavior({...request, desired: stable}));
};

const stabilize = ({current, desired}: ScaleRequest, history: History, up: number, down: number): number => {
  const least = Math.min(desired, ...history.recommendedAfter(up));
  const most = Math.max(desired, ...history.recommendedAfter(down));
  return Math.min(Math.max(current, least), most);
};

/**
 * Returns the size that the policies allow, each relative to the size at the start of its period. `Disabled` allows no
 * change.
 */
const allowedByPolicies = (
  {policies = [], selectPolicy}: Rules,
  current: number,
  history: History,
  now: number,
  to: (policy: Policy, start: number) => number,
  largest: (...counts: number[]) => number,
  smallest: (...counts: number[]) => number,
): number => {
  if (selectPolicy === 'Disabled') return current;
  const counts = policies.map(policy => to(policy, current - history.grownAfter(now - policy.periodSeconds * 1000)));
  return selectPolicy === 'Min' ? smallest(...counts) : largest(...counts);
};

const scaledUp = ({type, value}: Policy, start: number): number => (type === 'Pods' ? start + value : Math.ceil(start * (1 + value / 100)));
const scaledDown = ({type, value}: Policy, start: number): number =>
  type === 'Pods' ? start - value : Math.trunc(start * (1 - value / 100));

const limitByBehavior = (
  {current, desired, min, max}: ScaleRequest,
  {scaleUp = {}, scaleDown = {}}: Behavior,
  history: History,
  now: number,
): LimitedReplicas => {
  if (desired > current) {
    const rate = Math.max(current, allowedByPolicies(scaleUp, current, history, now, scaledUp, Math.max, Math.min));
    if (desired > Math.min(max, rate)) return max > rate ? {replicas: rate, condition: growsTooFast} : {replicas: max, condition: tooMany};
  } else if (desired < current) {
    const rate = Math.min(current, allowedByPolicies(scaleDown, current, history, now, scaledDown, Math.min, Math.max));
    if (desired < Math.max(min, rate)) return min < rate ? {replicas: rate, condition: shrinksTooFast} : {replicas: min, condition: tooFew};
  }
  return {replicas: desired, condition: withinRange};
};

/** Limits a request by a behavior; `windowMs` is the default of the scale-down window. Records the request. */
export const scaleByBehavior = (
  request: ScaleRequest,
  behavior: Behavior,
  history: History,
  windowMs: number,
  now: number,
): LimitedScale => {
  const up = now - (behavior.scaleUp?.stabilizationWindowSeconds ?? 0) * 1000;
  const downSeconds = behavior.scaleDown?.stabilizationWindowSeconds;
  const down = now - (downSeconds === undefined ? windowMs : downSeconds * 1000);
  const stable = stabilize(request, history, up, down);
  history.recommend(request.desired, now, Math.min(up, down));
  return limitedScale(
    request,
    stable,
    request.desired >= request.current ? heldLow : heldHigh,
    limitByBehavior({...request, desired: stable}, behavior, history, now),
  );
};

/** Returns the longest policy period in the direction of a change, in ms: older scale events are not needed. */
export const longestPeriodMs = ({scaleUp, scaleDown}: Behavior, change: number): number =>
  1000 * Math.max(0, ...((change > 0 ? scaleUp : scaleDown)?.policies ?? []).map(({periodSeconds}) => periodSeconds));
