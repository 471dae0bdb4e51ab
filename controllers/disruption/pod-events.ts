import {isResync, type Change} from '#informers/change.js';
import type {Lister} from '#informers/lister.js';
import {sameContent} from '#src/api/equal.js';
import {keyOf, type Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod, PodDisruptionBudget} from '#src/api/pod.js';
import type {KeyedContext} from '#src/runtime/controller.js';
import {budgetsForPod} from './budget.js';

/** Queues the budget of each pod that changes, and the former one when its labels change. */
export const watchPods = (
  {listen, enqueue, events}: Pick<KeyedContext, 'listen' | 'enqueue' | 'events'>,
  budgets: Lister<PodDisruptionBudget>,
): void => {
  const enqueueBudgetOf = (pod: Frozen<Pod>) => {
    const found = budgetsForPod(budgets, pod);
    const [first] = found.sort((a, b) => ((a.metadata?.name ?? '') < (b.metadata?.name ?? '') ? -1 : 1));
    if (!first) return;
    if (found.length > 1) {
      const {namespace, name} = keyOf(pod);
      events.warning(
        pod,
        'MultiplePodDisruptionBudgets',
        `Pod "${namespace}"/"${name}" matches multiple PodDisruptionBudgets.  Chose "${first.metadata?.name}" arbitrarily.`,
      );
    }
    enqueue(keyOf(first), {loop: 'disruption'});
  };
  listen(kinds.pods, (change: Change<Pod>) => {
    if (isResync(change)) return;
    enqueueBudgetOf(change.object);
    const labelsChanged = change.type === 'updated' && !sameContent(change.old.metadata?.labels, change.object.metadata?.labels);
    if (labelsChanged) enqueueBudgetOf(change.old);
  });
};
