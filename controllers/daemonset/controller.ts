import {watchChildren} from '#controllers/shared/children/child-events.js';
import {trackingExpectations} from '#controllers/shared/children/expectations.js';
import {selecting} from '#informers/selecting.js';
import {watchPods} from '#controllers/shared/pods/pod-events.js';
import {keyOf, keyText} from '#src/api/key.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {ControllerManagerOptions} from '#src/options/programs/controller-manager.js';
import {defineController} from '#src/runtime/controller.js';
import {watchNodes} from './node-events.js';
import {daemonSetReconciler} from './reconcile.js';

type Options = Pick<ControllerManagerOptions, 'concurrentDaemonsetSyncs'>;

const daemonSets = selecting<ObjectOf<typeof kinds.daemonSets>>(({spec}) => spec?.selector);

/**
 * Runs one pod of each daemon set on every node that its template fits, and rolls out its template within the limits of
 * the strategy: old pods are deleted first, or new ones are created first.
 */
export default defineController<Options>({
  doc: 'Runs a pod of each daemon set on every eligible node, and rolls out template changes.',
  name: 'daemonset-controller',
  serviceAccount: 'daemon-set-controller',
  configuration: {DaemonSetController: {ConcurrentDaemonSetSyncs: 'concurrent-daemonset-syncs'}},
  queue: {name: 'daemonset'},
  workers: options => options.concurrentDaemonsetSyncs,
  primary: kinds.daemonSets,
  create(context) {
    const expected = trackingExpectations(context.clock);
    context.listen(kinds.daemonSets, change => {
      const isAnother = change.type === 'updated' && change.old.metadata?.uid !== change.object.metadata?.uid;
      if (change.type === 'deleted' || isAnother) expected.forget(keyText(keyOf(change.object)));
    });
    watchChildren(context, {parents: kinds.daemonSets, children: kinds.controllerRevisions, selecting: daemonSets});
    watchPods(context, {
      parents: kinds.daemonSets,
      selecting: daemonSets,
      created: (key, pod) => expected.created(key, keyText(keyOf(pod))),
      deleted: (key, pod) => expected.deleted(key, keyText(keyOf(pod))),
      minReadySecondsOf: ({spec}) => spec?.minReadySeconds,
    });
    watchNodes(context);
    return daemonSetReconciler(context, daemonSets, expected);
  },
});
