import {parseTime} from '#src/api/time.js';
import {leastOf} from '#src/base/extremes.js';
import type {Steps} from '#src/base/steps.js';
import type {NodeInfo} from '#src/scheduler/cache/node-info.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import {removePod, runFiltersWithNominatedPods, addPod, type FilterSet, type NominatedPods} from '#src/scheduler/framework/filter-set.js';
import {unschedulable, unresolvable, type Rejection} from '#src/scheduler/framework/plugin.js';
import {splitByBudgets, type Budgets} from './budgets.js';

/** A node with the victims to preempt, the most important first. */
export interface Candidate {
  readonly node: string;
  readonly victims: readonly PodInfo[];
  /** How many of them violate a budget. */
  readonly violations: number;
}

/** When a pod started; a pod that has not started counts as the youngest. */
const startOf = ({pod}: PodInfo): number => parseTime(pod.status?.startTime) ?? Infinity;

/** The more important pod first: by priority, then the one that has run longer. */
const byImportance = (a: PodInfo, b: PodInfo): number =>
  b.priority - a.priority || (startOf(a) === startOf(b) ? 0 : startOf(a) - startOf(b));

/**
 * Selects the victims on a node for a pod to fit: removes all pods of lower priority, then reprieves those that can
 * stay, beginning with those that budgets protect. Returns a rejection if the pod does not fit even then.
 */
export const selectVictims = (
  node: NodeInfo,
  filterSet: FilterSet,
  {budgets, nominatedPods}: {readonly budgets: Budgets; readonly nominatedPods: NominatedPods},
): Candidate | Rejection => {
  const {pod} = filterSet;
  const lowerPriority = [...node.pods.values()].filter(({priority}) => priority < pod.priority).sort(byImportance);
  if (lowerPriority.length === 0) return unresolvable('No preemption victims found for incoming pod');
  const nodeCopy = node.copy();
  const removed = new Set<PodInfo>();
  const remove = (other: PodInfo) => {
    removePod(filterSet, other, nodeCopy);
    removed.add(other);
  };
  const reprieve = (other: PodInfo) => {
    addPod(filterSet, other, nodeCopy);
    removed.delete(other);
  };
  try {
    for (const other of lowerPriority) remove(other);
    const rejection = runFiltersWithNominatedPods(filterSet, nodeCopy, nominatedPods);
    if (rejection) return rejection;
    const {violating, others} = splitByBudgets(lowerPriority, budgets);
    let violations = 0;
    for (const other of [...violating, ...others]) {
      reprieve(other);
      if (!runFiltersWithNominatedPods(filterSet, nodeCopy, nominatedPods)) continue;
      remove(other);
      if (violating.includes(other)) violations++;
    }
    const victims = lowerPriority.filter(other => removed.has(other));
    return victims.length > 0
      ? {node: node.name, victims, violations}
      : unschedulable(`expected at least one victim pod on node "${node.name}"`);
  } finally {
    for (const other of removed) reprieve(other); // The prepared filters are shared: removed pods are added again.
  }
};

export const isCandidate = (outcome: Candidate | object): outcome is Candidate => 'victims' in outcome;

/** Subtracted from priorities in sums, so that fewer victims always give a smaller sum. */
const lowestPriority = -(2 ** 31);

/** The criteria for comparing candidates, the most significant first. Less is better. */
const losses: readonly ((candidate: Candidate) => number)[] = [
  ({violations}) => violations,
  ({victims}) => victims[0]!.priority,
  ({victims}) => victims.reduce((sum, {priority}) => sum + priority - lowestPriority, 0),
  ({victims}) => victims.length,
  // Among the victims of the highest priority, the latest earliest start time is best.
  ({victims}) => -leastOf(victims.filter(({priority}) => priority === victims[0]!.priority).map(startOf)),
];

/**
 * Returns the best candidate by these criteria, the first of equal ones; undefined without candidates. Looks at one
 * candidate in each step.
 */
export const leastLoss = function* (candidates: readonly Candidate[]): Steps<Candidate | undefined> {
  let left = candidates;
  for (const loss of losses) {
    let least = Infinity;
    let best: Candidate[] = [];
    for (const candidate of left) {
      const lost = loss(candidate);
      if (lost < least) [least, best] = [lost, []];
      if (lost === least) best.push(candidate);
      yield;
    }
    left = best;
    if (left.length <= 1) break;
  }
  return left[0];
};
