import {followChildren} from '#controllers/shared/child-events.js';
import {trackingExpectations} from '#controllers/shared/expectations.js';
import {selecting} from '#controllers/shared/parents.js';
import {followPods} from '#controllers/shared/pod-events.js';
import {sameContent} from '#src/api/equal.js';
import {keyOf, keyText} from '#src/api/key.js';
import {kinds, type ObjectOf} from '#src/api/kinds.js';
import type {ControllerManagerOptions} from '#src/options/controller-manager.js';
import {defineController, type KeyedContext} from '#src/runtime/controller.js';
import {judgeOf} from './placement.js';
import {nodeKeeper} from './reconcile.js';

type Options = Pick<ControllerManagerOptions, 'concurrentDaemonsetSyncs'>;

const daemonSets = selecting<ObjectOf<typeof kinds.daemonSets>>(({spec}) => spec?.selector);

/** A node that comes, or whose labels or taints change, concerns the sets that think differently of it than before. One that goes takes its pods along. */
const followNodes = ({listen, lister, enqueue, naming}: KeyedContext): void => {
  const sets = lister(kinds.daemonSets);
  listen(kinds.nodes, change => {
    if (change.type === 'deleted') return;
    const {object: node} = change;
    const old = change.type === 'updated' ? change.old : undefined;
    if (old && sameContent(old.metadata?.labels, node.metadata?.labels) && sameContent(old.spec?.taints, node.spec?.taints)) return;
    for (const set of sets.list()) {
      const judge = judgeOf(set, naming);
      const now = judge(node);
      const before = old ? judge(old) : {shouldRun: false, shouldStay: now.shouldStay};
      if (now.shouldRun !== before.shouldRun || now.shouldStay !== before.shouldStay) enqueue(keyOf(set));
    }
  });
};

/**
 * Keeps one pod of each daemon set on every node that its template fits, and rolls out its template within the bounds that the strategy sets: old pods first go, or
 * new ones first come.
 */
export default defineController<Options>({
  doc: 'Keeps a pod of each daemon set on every node that is meant, and rolls out its template.',
  name: 'daemonset-controller',
  serviceAccount: 'daemon-set-controller',
  flags: ['concurrent-daemonset-syncs'],
  queue: {name: 'daemonset'},
  workers: options => options.concurrentDaemonsetSyncs,
  primary: kinds.daemonSets,
  create(context) {
    const expected = trackingExpectations(context.clock);
    context.listen(kinds.daemonSets, change => {
      const isAnother = change.type === 'updated' && change.old.metadata?.uid !== change.object.metadata?.uid;
      if (change.type === 'deleted' || isAnother) expected.forget(keyText(keyOf(change.object)));
    });
    followChildren(context, {parents: kinds.daemonSets, children: kinds.controllerRevisions, selecting: daemonSets});
    followPods(context, {
      parents: kinds.daemonSets,
      selecting: daemonSets,
      created: key => expected.created(key),
      deleted: (key, pod) => expected.deleted(key, keyText(keyOf(pod))),
      minReadySecondsOf: ({spec}) => spec?.minReadySeconds,
    });
    followNodes(context);
    return nodeKeeper(context, daemonSets, expected);
  },
});
