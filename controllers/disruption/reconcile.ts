import {podsByLabel} from '#controllers/shared/children/selected.js';
import {indexing} from '#informers/lister.js';
import {unlessMissing} from '#src/client/missing.js';
import {sameContent} from '#src/api/equal.js';
import {copyOf, type Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod, PodDisruptionBudget} from '#src/api/pod.js';
import type {LabelSelectorObject} from '#src/api/selectors/label-selector.js';
import {isConflict} from '#src/api/status.js';
import {requeueAfter, settled, type KeyedContext, type Loops, type Result} from '#src/runtime/controller.js';
import {messageOf} from '#src/base/message.js';
import {selectorText} from '#src/model/selector-text.js';
import {
  budgetIndexes,
  podsCoveredBy,
  demandOf,
  evictionsOf,
  healthyAmong,
  needsScale,
  statusOf,
  withDisruptionAllowed,
  type BudgetStatus,
} from './budget.js';
import {owners} from './owners.js';
import {watchPods} from './pod-events.js';
import {staleTargetReconciler} from './targets.js';

/** Two loops: of budgets, and of pods with a possibly stale DisruptionTarget condition. */
export const budgetReconciler = (context: KeyedContext): Loops => {
  const {lister, writer, events, clock} = context;
  const budgets = indexing(lister(kinds.podDisruptionBudgets), ...budgetIndexes);
  const cachedPods = indexing(lister(kinds.pods), podsByLabel);
  const writes = writer(kinds.podDisruptionBudgets);
  const expectationOf = owners(context);

  watchPods(context, budgets);

  const write = async (budget: Frozen<PodDisruptionBudget>, status: BudgetStatus): Promise<void> => {
    if (sameContent(budget.status, status)) return;
    await unlessMissing(writes.updateStatus({...copyOf(budget), status}));
  };

  /** On an error no disruption is allowed. */
  const failSafe = (budget: Frozen<PodDisruptionBudget>, error: unknown): Promise<void> => {
    const {status, metadata} = copyOf<PodDisruptionBudget>(budget);
    const result = {isAllowed: false, reason: 'SyncFailed', message: messageOf(error)};
    const base: BudgetStatus = {currentHealthy: 0, desiredHealthy: 0, expectedPods: 0, ...status, disruptionsAllowed: 0};
    return write(budget, {...base, conditions: withDisruptionAllowed(status?.conditions ?? [], result, metadata?.generation, clock.now())});
  };

  const expected = async (budget: Frozen<PodDisruptionBudget>, pods: readonly Frozen<Pod>[]) => {
    if (!needsScale(budget)) return demandOf(budget, pods.length, 0);
    const {scale, unmanaged} = await expectationOf(pods);
    if (unmanaged.length > 0) {
      events.warning(
        budget,
        'UnmanagedPods',
        `Pods selected by this PodDisruptionBudget (selector: ${selectorText(budget.spec?.selector as LabelSelectorObject)}) were found to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.`,
      );
    }
    return demandOf(budget, pods.length, scale);
  };

  const syncBudget = async (budget: Frozen<PodDisruptionBudget>): Promise<Result> => {
    const {metadata, status} = budget;
    const pods = podsCoveredBy(budget, cachedPods);
    if (pods.length === 0) events.normal(budget, 'NoPods', 'No matching pods found');
    const demand = await expected(budget, pods).catch((error: unknown) => {
      events.warning(budget, 'CalculateExpectedPodCountFailed', `Failed to calculate the number of expected pods: ${messageOf(error)}`);
      throw error;
    });
    const now = clock.now();
    const evictions = evictionsOf(pods, (status?.disruptedPods ?? {}) as Record<string, string>, now);
    for (const pod of evictions.overdue)
      events.warning(pod, 'NotDeleted', `Pod was expected by PDB ${metadata?.namespace}/${metadata?.name} to be deleted but it wasn't`);
    await write(budget, statusOf(budget, {demand, evictions, currentHealthy: healthyAmong(pods, evictions, now), now}));
    return evictions.nextAt === undefined ? settled : requeueAfter(evictions.nextAt - now + 1);
  };

  return {
    async disruption(key, {log}) {
      const budget = budgets.get(key);
      if (!budget) return settled;
      try {
        return await syncBudget(budget);
      } catch (error) {
        // A conflict is retried with the latest state. Any other error is reported in the status until the budget or
        // its pods change.
        if (isConflict(error)) throw error;
        await failSafe(budget, error);
        log.error({err: error}, 'the status of a disruption budget could not be computed');
        return settled;
      }
    },
    'stale-pod-disruption': staleTargetReconciler(context, cachedPods),
  };
};
