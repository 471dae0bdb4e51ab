import type {Lister} from '#informers/lister.js';
import {selecting} from '#informers/selecting.js';
import type {Frozen} from '#src/api/key.js';
import type {PodDisruptionBudget} from '#src/api/pod.js';
import type {LabelSelectorObject} from '#src/api/selectors/label-selector.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';

type Budget = Frozen<PodDisruptionBudget>;

/**
 * Returns the disruption budgets that protect a pod. A budget without a selector, or with an empty one, protects
 * nothing here.
 */
export type Budgets = (pod: PodInfo) => readonly Budget[];

const selection = selecting<PodDisruptionBudget>(({spec}) => spec?.selector as LabelSelectorObject | undefined);

export const budgetsOf =
  (all: Lister<PodDisruptionBudget>): Budgets =>
  ({pod}) =>
    selection.parentsOf(all, pod);

/**
 * Splits pods, in order, into those whose eviction would violate a budget if those before them are evicted too, and the
 * others.
 */
export const splitByBudgets = (pods: readonly PodInfo[], budgets: Budgets): {readonly violating: PodInfo[]; readonly others: PodInfo[]} => {
  const used = new Map<Budget, number>();
  const violating: PodInfo[] = [];
  const others: PodInfo[] = [];
  for (const info of pods) {
    let isViolating = false;
    for (const budget of budgets(info)) {
      // Its disruption may be counted already.
      if (Object.hasOwn(budget.status?.disruptedPods ?? {}, info.pod.metadata?.name ?? '')) continue;
      const now = (used.get(budget) ?? 0) + 1;
      used.set(budget, now);
      isViolating ||= now > (budget.status?.disruptionsAllowed ?? 0);
    }
    (isViolating ? violating : others).push(info);
  }
  return {violating, others};
};
