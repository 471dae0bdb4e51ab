import type {Frozen} from '#src/api/key.js';
import type {PodDisruptionBudget} from '#src/api/pod.js';
import {labelSelectorOf, type LabelSelector} from '#src/api/selectors/label-selector.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';

interface Budget {
  readonly selector: LabelSelector;
  /** Pods whose disruption is accounted for already. */
  readonly disrupted: Readonly<Record<string, string>>;
  readonly allowed: number;
}

/** The budgets of each namespace. One without a selector, or with one that selects everything, protects nothing here. */
export type Budgets = ReadonlyMap<string, readonly Budget[]>;

export const budgetsOf = (all: readonly Frozen<PodDisruptionBudget>[]): Budgets => {
  const byNamespace = new Map<string, Budget[]>();
  for (const {metadata, spec, status} of all) {
    const selector = labelSelectorOf(spec?.selector);
    if (selector.requirements.length === 0) continue;
    const budget = {selector, disrupted: status?.disruptedPods ?? {}, allowed: status?.disruptionsAllowed ?? 0};
    const namespace = metadata?.namespace ?? '';
    byNamespace.set(namespace, [...(byNamespace.get(namespace) ?? []), budget]);
  }
  return byNamespace;
};

/** The pods, in their order, whose loss a budget does not allow if those before them are lost too, and the others. */
export const partByBudgets = (pods: readonly PodInfo[], budgets: Budgets): {readonly violating: PodInfo[]; readonly others: PodInfo[]} => {
  const used = new Map<Budget, number>();
  const violating: PodInfo[] = [];
  const others: PodInfo[] = [];
  for (const info of pods) {
    let isViolating = false;
    for (const budget of budgets.get(info.namespace) ?? []) {
      if (!budget.selector.matches(info.labels) || Object.hasOwn(budget.disrupted, info.pod.metadata?.name ?? '')) continue;
      const now = (used.get(budget) ?? 0) + 1;
      used.set(budget, now);
      isViolating ||= now > budget.allowed;
    }
    (isViolating ? violating : others).push(info);
  }
  return {violating, others};
};
