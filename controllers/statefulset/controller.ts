import {selecting} from '#informers/selecting.js';
import {watchPods} from '#controllers/shared/pods/pod-events.js';
import {keyOf} from '#src/api/key.js';
import type {WaitingPodsOptions} from '#controllers/shared/pods/waiting-pods.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {ControllerManagerOptions} from '#src/options/programs/controller-manager.js';
import {defineController, type KeyedContext} from '#src/runtime/controller.js';
import {statefulSetReconciler} from './reconcile.js';

type Options = Pick<ControllerManagerOptions, 'concurrentStatefulsetSyncs'> & WaitingPodsOptions;

const statefulSets = selecting<ObjectOf<typeof kinds.statefulSets>>(({spec}) => spec?.selector);

/**
 * A deleted claim may have to be recreated, or unblock a pod. Differs from upstream, where sets notice it only at
 * another event.
 */
const watchClaims = ({listen, lister, enqueue}: KeyedContext): void => {
  const sets = lister(kinds.statefulSets);
  listen(kinds.persistentVolumeClaims, ({type, object}) => {
    if (type !== 'deleted') return;
    for (const set of statefulSets.parentsOf(sets, object)) enqueue(keyOf(set));
  });
};

/**
 * Maintains the pods of stateful sets: each has an ordinal, a name and claims of its own and keeps them when it is
 * recreated. Pods are created in order and deleted in reverse, unless pod management is parallel, and updated from the
 * last one when the template changes.
 */
export default defineController<Options>({
  doc: 'Maintains the ordinal pods of each stateful set and their claims, and rolls out template changes.',
  name: 'statefulset-controller',
  serviceAccount: 'statefulset-controller',
  configuration: {StatefulSetController: {ConcurrentStatefulSetSyncs: 'concurrent-statefulset-syncs'}},
  flags: ['max-waiting-pods'],
  queue: {name: 'statefulset'},
  workers: options => options.concurrentStatefulsetSyncs,
  primary: kinds.statefulSets,
  reads: [kinds.persistentVolumeClaims, kinds.controllerRevisions],
  create(context) {
    watchPods(context, {parents: kinds.statefulSets, selecting: statefulSets, minReadySecondsOf: ({spec}) => spec?.minReadySeconds});
    watchClaims(context);
    return statefulSetReconciler(context, statefulSets);
  },
});
