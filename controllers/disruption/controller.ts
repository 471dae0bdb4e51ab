import {keyOf} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {defineController, forLoop, mapped, sameKey} from '#src/runtime/controller.js';
import {budgetReconciler} from './reconcile.js';
import {expiryOf} from './targets.js';

/**
 * Maintains the status of disruption budgets: the healthy pods and the allowed disruptions, by which evictions are
 * admitted. Also removes stale DisruptionTarget conditions of pods that were not disrupted.
 */
export default defineController({
  doc: 'Computes how many pods of each pod disruption budget may be evicted.',
  name: 'disruption-controller',
  serviceAccount: 'disruption-controller',
  eventSource: 'controllermanager',
  reads: [kinds.pods, kinds.podDisruptionBudgets, kinds.replicationControllers, kinds.replicaSets, kinds.deployments, kinds.statefulSets],
  watches: [
    forLoop('disruption', sameKey(kinds.podDisruptionBudgets)),
    forLoop(
      'stale-pod-disruption',
      mapped(kinds.pods, ({type, object}) => (type !== 'deleted' && expiryOf(object) !== undefined ? [keyOf(object)] : [])),
    ),
  ],
  create: budgetReconciler,
});
