import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {labelSelectorOf} from '#src/api/selectors/label-selector.js';
import {conditionOf} from '#src/why/facts/conditions.js';
import {counted} from '#src/base/text/counted.js';
import {subject, type Rule} from '#src/why/facts/finding.js';
import {heldUp, podReference} from './pods-of.js';
import {unseen} from './unseen.js';

type Budget = ObjectOf<typeof kinds.podDisruptionBudgets>;

const budgetText = ({spec}: Budget): string =>
  spec?.maxUnavailable === undefined ? `minAvailable ${spec?.minAvailable ?? 1}` : `maxUnavailable ${spec.maxUnavailable}`;

const unsynced: Rule<Budget> = budget => {
  const allowed = conditionOf(budget, 'DisruptionAllowed');
  if (allowed?.reason !== 'SyncFailed') return undefined;
  return {
    rule: 'budget-unknown',
    sentence: `it allows no eviction, as it cannot be computed: ${allowed.message}`,
    since: allowed.lastTransitionTime,
    ends: 'Pods that a controller with a scale made, or minAvailable as a number.',
  };
};

const exhausted: Rule<Budget> = async (budget, cluster) => {
  const {disruptionsAllowed = 0, currentHealthy = 0, desiredHealthy = 0, expectedPods = 0} = budget.status ?? {};
  if (disruptionsAllowed > 0 || expectedPods === 0) return undefined;
  const labelSelector = labelSelectorOf(budget.spec?.selector).toString();
  const pods = await cluster.list(kinds.pods, {namespace: budget.metadata?.namespace ?? '', ...(labelSelector ? {labelSelector} : {})});
  const pod = heldUp(pods);
  const since = conditionOf(budget, 'DisruptionAllowed')?.lastTransitionTime;
  if (desiredHealthy >= expectedPods)
    return {
      rule: 'budget-of-none',
      sentence: `it never allows an eviction, as ${budgetText(budget)} asks for all of its pods (${expectedPods})`,
      since,
      ends: 'More pods than it asks for, or another budget.',
    };
  return {
    rule: 'budget',
    sentence: `it allows no eviction, as ${currentHealthy} of ${expectedPods} pods are ready and ${budgetText(budget)} asks for ${desiredHealthy}`,
    since,
    ends: 'More pods that are ready.',
    next: podReference(pod),
  };
};

export const budgetSubject = subject<Budget>({
  rules: [unseen('disruption-controller'), unsynced, exhausted],
  rest: ({status}) =>
    (status?.expectedPods ?? 0) === 0
      ? 'it matches no pods'
      : `it allows ${counted(status?.disruptionsAllowed ?? 0, 'eviction')}, with ${counted(status?.currentHealthy ?? 0, 'pod')} ready and ${status?.desiredHealthy} asked for`,
});
