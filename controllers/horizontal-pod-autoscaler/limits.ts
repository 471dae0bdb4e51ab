import type {Frozen} from '#src/api/key.js';
import type {kinds, ObjectOf} from '#src/api/kinds.js';
import type {History} from './history.js';

export type Autoscaler = ObjectOf<typeof kinds.horizontalPodAutoscalers>;
export type Behavior = Frozen<NonNullable<NonNullable<Autoscaler['spec']>['behavior']>>;
type Rules = NonNullable<Behavior['scaleUp']>;
type Policy = NonNullable<Rules['policies']>[number];

/** A verdict as a condition tells it. */
export interface Verdict {
  readonly reason: string;
  readonly message: string;
}

export interface Bounds {
  readonly min: number;
  readonly max: number;
}

/** What is wanted of a target, and what there is. */
export interface Wish extends Bounds {
  readonly current: number;
  readonly desired: number;
}

/** What becomes of a wish: `stable` is what it came to over time, `replicas` what is done of that now. */
export interface Settlement {
  readonly replicas: number;
  readonly able: Verdict;
  readonly limited: Verdict & {readonly status: 'True' | 'False'};
}

const readyForNewScale: Verdict = {reason: 'ReadyForNewScale', message: 'recommended size matches current size'};
const heldHigh: Verdict = {reason: 'ScaleDownStabilized', message: 'recent recommendations were higher than current one, applying the highest recent recommendation'};
const heldLow: Verdict = {reason: 'ScaleUpStabilized', message: 'recent recommendations were lower than current one, applying the lowest recent recommendation'};
const withinRange: Verdict = {reason: 'DesiredWithinRange', message: 'the desired count is within the acceptable range'};
const tooMany: Verdict = {reason: 'TooManyReplicas', message: 'the desired replica count is more than the maximum replica count'};
const tooFew: Verdict = {reason: 'TooFewReplicas', message: 'the desired replica count is less than the minimum replica count'};
const growsTooFast: Verdict = {reason: 'ScaleUpLimit', message: 'the desired replica count is increasing faster than the maximum scale rate'};
const shrinksTooFast: Verdict = {reason: 'ScaleDownLimit', message: 'the desired replica count is decreasing faster than the maximum scale rate'};

interface Limited {
  readonly replicas: number;
  readonly verdict: Verdict;
}

const settlement = ({desired}: Wish, stable: number, held: Verdict, {replicas, verdict}: Limited): Settlement => ({
  replicas,
  able: stable === desired ? readyForNewScale : held,
  limited: {...verdict, status: replicas === stable ? 'False' : 'True'},
});

/** The most there may be at once, where no behaviour says more. */
const usualMost = (current: number): number => Math.max(2 * current, 4);

const usuallyLimited = ({current, desired, min, max}: Wish): Limited => {
  const most = usualMost(current);
  if (desired < min) return {replicas: min, verdict: tooFew};
  if (desired > Math.min(max, most)) return max > most ? {replicas: most, verdict: growsTooFast} : {replicas: max, verdict: tooMany};
  return {replicas: desired, verdict: withinRange};
};

/** Settles a wish where no behaviour is given: nothing shrinks below what was recommended within the window. Notes the wish. */
export const settledUsually = (wish: Wish, history: History, windowMs: number, now: number): Settlement => {
  const since = now - windowMs;
  const stable = Math.max(wish.desired, ...history.recommendedFrom(since));
  history.recommend(wish.desired, now, since);
  return settlement(wish, stable, heldHigh, usuallyLimited({...wish, desired: stable}));
};

const stabilized = ({current, desired}: Wish, history: History, up: number, down: number): number => {
  const least = Math.min(desired, ...history.recommendedAfter(up));
  const most = Math.max(desired, ...history.recommendedAfter(down));
  return Math.min(Math.max(current, least), most);
};

/** What the policies allow to come to, from what there was at the start of each one's period. `Disabled` allows no change. */
const allowed = ({policies = [], selectPolicy}: Rules, current: number, history: History, now: number, to: (policy: Policy, start: number) => number, largest: (...counts: number[]) => number, smallest: (...counts: number[]) => number): number => {
  if (selectPolicy === 'Disabled') return current;
  const counts = policies.map(policy => to(policy, current - history.grownAfter(now - policy.periodSeconds * 1000)));
  return selectPolicy === 'Min' ? smallest(...counts) : largest(...counts);
};

const grown = ({type, value}: Policy, start: number): number => (type === 'Pods' ? start + value : Math.ceil(start * (1 + value / 100)));
const shrunk = ({type, value}: Policy, start: number): number => (type === 'Pods' ? start - value : Math.trunc(start * (1 - value / 100)));

const rateLimited = ({current, desired, min, max}: Wish, {scaleUp = {}, scaleDown = {}}: Behavior, history: History, now: number): Limited => {
  if (desired > current) {
    const rate = Math.max(current, allowed(scaleUp, current, history, now, grown, Math.max, Math.min));
    if (desired > Math.min(max, rate)) return max > rate ? {replicas: rate, verdict: growsTooFast} : {replicas: max, verdict: tooMany};
  } else if (desired < current) {
    const rate = Math.min(current, allowed(scaleDown, current, history, now, shrunk, Math.min, Math.max));
    if (desired < Math.max(min, rate)) return min < rate ? {replicas: rate, verdict: shrinksTooFast} : {replicas: min, verdict: tooFew};
  }
  return {replicas: desired, verdict: withinRange};
};

/** Settles a wish by the rules of a behaviour; `windowMs` is that of shrinking where the behaviour gives none. Notes the wish. */
export const settledByBehavior = (wish: Wish, behavior: Behavior, history: History, windowMs: number, now: number): Settlement => {
  const up = now - (behavior.scaleUp?.stabilizationWindowSeconds ?? 0) * 1000;
  const downSeconds = behavior.scaleDown?.stabilizationWindowSeconds;
  const down = now - (downSeconds === undefined ? windowMs : downSeconds * 1000);
  const stable = stabilized(wish, history, up, down);
  history.recommend(wish.desired, now, Math.min(up, down));
  return settlement(wish, stable, wish.desired >= wish.current ? heldLow : heldHigh, rateLimited({...wish, desired: stable}, behavior, history, now));
};

/** The longest period of policies in the direction of a change, in ms: changes before it are of no use. */
export const longestPeriodMs = ({scaleUp, scaleDown}: Behavior, change: number): number =>
  1000 * Math.max(0, ...((change > 0 ? scaleUp : scaleDown)?.policies ?? []).map(({periodSeconds}) => periodSeconds));
