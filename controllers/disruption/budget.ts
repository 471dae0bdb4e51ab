// What a PodDisruptionBudget covers and demands, and the status that follows. Pure; the reconciler reads the pods and
// writes the status.

import {selectedPods} from '#controllers/shared/children/selected.js';
import {selecting} from '#informers/selecting.js';
import type {Index, Lister} from '#informers/lister.js';
import type {Frozen} from '#src/api/key.js';
import type {Pod, PodDisruptionBudget} from '#src/api/pod.js';
import type {LabelSelectorObject} from '#src/api/selectors/label-selector.js';
import {parseTime, wireTime} from '#src/api/time.js';
import {percentOf, resolveIntOrPercent} from '#src/model/int-or-percent.js';
import {isReady} from '#src/model/pod/state.js';

export type BudgetStatus = NonNullable<PodDisruptionBudget['status']>;
type BudgetCondition = NonNullable<BudgetStatus['conditions']>[number];

/** How long a granted eviction counts as a disruption while the pod still exists. */
const evictionMs = 120_000;

/** Budgets by their selectors. */
const budgetSelection = selecting<PodDisruptionBudget>(({spec}) => spec?.selector as LabelSelectorObject | undefined);

/** Returns the pods that a budget covers: an empty selector covers the namespace, an absent or invalid one nothing. */
export const podsCoveredBy = (budget: Frozen<PodDisruptionBudget>, pods: Lister<Pod>): readonly Frozen<Pod>[] => {
  const selector = budgetSelection.selectorOf(budget);
  return selector ? selectedPods(pods, budget.metadata?.namespace ?? '', selector) : [];
};

/** Budgets that cover their whole namespace. */
const unbounded: Index<PodDisruptionBudget> = {
  name: 'whole namespace',
  values: budget => (budget.spec?.selector && budgetSelection.selectorOf(budget)?.empty ? [budget.metadata?.namespace ?? ''] : []),
};

/** The indexes that `budgetsForPod` uses. */
export const budgetIndexes = [budgetSelection.index, unbounded];

/** Returns the budgets that cover a pod. */
export const budgetsForPod = (budgets: Lister<PodDisruptionBudget>, pod: Frozen<Pod>): Frozen<PodDisruptionBudget>[] => [
  ...budgetSelection.parentsOf(budgets, pod),
  ...budgets.by(unbounded, pod.metadata?.namespace ?? ''),
];

/** Whether the budget is relative to the scale of the pods' owners. */
export const needsScale = ({spec}: Frozen<PodDisruptionBudget>): boolean =>
  spec?.maxUnavailable !== undefined || typeof spec?.minAvailable === 'string';

/** How many pods are expected, and how many of them must be healthy. */
interface Demand {
  readonly expected: number;
  readonly desired: number;
}

/** Returns the demand of a budget. `scale` is the total scale of the pods' owners. */
export const demandOf = ({spec}: Frozen<PodDisruptionBudget>, pods: number, scale: number): Demand => {
  if (spec?.maxUnavailable !== undefined)
    return {expected: scale, desired: Math.max(0, scale - resolveIntOrPercent(spec.maxUnavailable, scale, 'up'))};
  if (spec?.minAvailable === undefined) return {expected: 0, desired: 0};
  if (percentOf(spec.minAvailable) === undefined) return {expected: pods, desired: Number(spec.minAvailable)};
  return {expected: scale, desired: resolveIntOrPercent(spec.minAvailable, scale, 'up')};
};

export interface Evictions {
  /** Pending evictions, by pod. */
  readonly waiting: Readonly<Record<string, string>>;
  /** Pods that should have been deleted by now. */
  readonly overdue: readonly Frozen<Pod>[];
  /** When the first pending eviction expires, in ms since the epoch. */
  readonly nextAt: number | undefined;
}

/** Returns the state of the granted evictions. */
export const evictionsOf = (pods: readonly Frozen<Pod>[], granted: Readonly<Record<string, string>>, now: number): Evictions => {
  const waiting: Record<string, string> = {};
  const overdue: Frozen<Pod>[] = [];
  let nextAt: number | undefined;
  for (const pod of pods) {
    const name = pod.metadata?.name ?? '';
    const since = Object.hasOwn(granted, name) ? granted[name] : undefined;
    if (since === undefined || pod.metadata?.deletionTimestamp) continue;
    const until = (parseTime(since) ?? 0) + evictionMs;
    if (until < now) {
      overdue.push(pod);
      continue;
    }
    waiting[name] = since;
    nextAt = Math.min(nextAt ?? until, until);
  }
  return {waiting, overdue, nextAt};
};

/** Returns the number of healthy pods: ready, not being deleted, and not about to be evicted. */
export const healthyAmong = (pods: readonly Frozen<Pod>[], {waiting}: Pick<Evictions, 'waiting'>, now: number): number =>
  pods.filter(pod => {
    if (pod.metadata?.deletionTimestamp || !isReady(pod)) return false;
    const since = parseTime(waiting[pod.metadata?.name ?? '']);
    return since === undefined || since + evictionMs <= now;
  }).length;

/** Returns the conditions with `DisruptionAllowed` set; its time changes with its status. */
export const withDisruptionAllowed = (
  conditions: readonly Frozen<BudgetCondition>[],
  result: {readonly isAllowed: boolean; readonly reason: string; readonly message?: string},
  generation: number | undefined,
  now: number,
): BudgetCondition[] => {
  const status = result.isAllowed ? 'True' : 'False';
  const former = conditions.find(({type}) => type === 'DisruptionAllowed');
  const next: BudgetCondition = {
    type: 'DisruptionAllowed',
    status,
    reason: result.reason,
    message: result.message ?? '',
    lastTransitionTime: former?.status === status ? former.lastTransitionTime : wireTime(now),
    ...(generation === undefined ? {} : {observedGeneration: generation}),
  };
  return former
    ? conditions.map(condition => (condition === former ? next : (condition as BudgetCondition)))
    : [...(conditions as BudgetCondition[]), next];
};

/** What the status of a budget reports. */
interface BudgetState {
  readonly demand: Demand;
  readonly evictions: Pick<Evictions, 'waiting'>;
  readonly currentHealthy: number;
  readonly now: number;
}

/** Returns the status: as many disruptions are allowed as there are more healthy pods than needed. */
export const statusOf = (
  {metadata, status}: Frozen<PodDisruptionBudget>,
  {demand, evictions, currentHealthy, now}: BudgetState,
): BudgetStatus => {
  const disruptionsAllowed = demand.expected <= 0 ? 0 : Math.max(0, currentHealthy - demand.desired);
  const isAllowed = disruptionsAllowed > 0;
  return {
    currentHealthy,
    desiredHealthy: demand.desired,
    expectedPods: demand.expected,
    disruptionsAllowed,
    disruptedPods: {...evictions.waiting},
    ...(metadata?.generation === undefined ? {} : {observedGeneration: metadata.generation}),
    conditions: withDisruptionAllowed(
      status?.conditions ?? [],
      {isAllowed, reason: isAllowed ? 'SufficientPods' : 'InsufficientPods'},
      metadata?.generation,
      now,
    ),
  };
};
