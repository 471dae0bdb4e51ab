import {selecting} from '#controllers/shared/parents.js';
import {followPods} from '#controllers/shared/pod-events.js';
import {kinds, type ObjectOf} from '#src/api/kinds.js';
import type {ControllerManagerOptions} from '#src/options/controller-manager.js';
import {defineController} from '#src/runtime/controller.js';
import {rowKeeper} from './reconcile.js';

type Options = Pick<ControllerManagerOptions, 'concurrentStatefulsetSyncs'>;

const statefulSets = selecting<ObjectOf<typeof kinds.statefulSets>>(({spec}) => spec?.selector);

/**
 * Keeps a row of pods for each stateful set: each has a number, a name and claims of its own and gets them back when it is made anew. They come in order and go in
 * reverse, unless the set wants them all at once, and are replaced from the last on when the template changes.
 */
export default defineController<Options>({
  doc: 'Keeps the numbered pods of each stateful set and their claims, and rolls out its template.',
  name: 'statefulset-controller',
  serviceAccount: 'statefulset-controller',
  flags: ['concurrent-statefulset-syncs'],
  queue: {name: 'statefulset'},
  workers: options => options.concurrentStatefulsetSyncs,
  primary: kinds.statefulSets,
  reads: [kinds.persistentVolumeClaims, kinds.controllerRevisions],
  create(context) {
    followPods(context, {parents: kinds.statefulSets, selecting: statefulSets, minReadySecondsOf: ({spec}) => spec?.minReadySeconds});
    return rowKeeper(context, statefulSets);
  },
});
