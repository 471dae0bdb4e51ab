import {keyOf} from '#src/api/key.js';
import {kinds} from '#src/api/kinds.js';
import {defineController, forLoop, mapped, sameKey} from '#src/runtime/controller.js';
import {budgetReconciler} from './reconcile.js';
import {expiryOf} from './targets.js';

/**
 * Tells in the status of each disruption budget how many of its pods are well and how many may be evicted now, which is what evictions are judged by.
 * It also takes back the mark of pods that were said to be disrupted soon and were not.
 */
export default defineController({
  doc: 'Reckons how many pods of each disruption budget may be evicted.',
  name: 'disruption-controller',
  serviceAccount: 'disruption-controller',
  eventSource: 'controllermanager',
  reads: [kinds.pods, kinds.podDisruptionBudgets, kinds.replicationControllers, kinds.replicaSets, kinds.deployments, kinds.statefulSets],
  watches: [
    forLoop('disruption', sameKey(kinds.podDisruptionBudgets)),
    forLoop('stale-pod-disruption', mapped(kinds.pods, ({type, object}) => (type !== 'deleted' && expiryOf(object) !== undefined ? [keyOf(object)] : []))),
  ],
  create: budgetReconciler,
});
