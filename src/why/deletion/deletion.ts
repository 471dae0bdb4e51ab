import type {Kind} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import type {KubeObject} from '#src/api/types.js';
import {isTerminal} from '#src/model/pod/state.js';
import type {Rule} from '#src/why/facts/finding.js';
import {referenceTo} from '#src/why/facts/reference.js';
import {keeperOf} from './finalizers.js';

/** The finalizers with which the garbage collector deletes; what others wait for is looked at before them. */
const collected = new Set(['foregroundDeletion', 'orphan']);

/** Whether an object is a pod whose containers have to end first. */
const mayRun = ({kind}: Kind, object: KubeObject): boolean =>
  kind === 'Pod' && Boolean((object as Pod).spec?.nodeName) && !isTerminal(object);

/** An object that is being deleted stays as long as it has finalizers. */
export const deletionOf =
  (kind: Kind): Rule =>
  async (object, cluster) => {
    const {deletionTimestamp, finalizers = []} = object.metadata ?? {};
    if (!deletionTimestamp || finalizers.length === 0 || mayRun(kind, object)) return undefined;
    const finalizer = finalizers.find(each => !collected.has(each)) ?? finalizers[0]!;
    const {rule = 'finalizer', why, ends, next} = await keeperOf(finalizer, object, cluster, referenceTo(kind, object));
    return {
      rule,
      sentence: collected.has(finalizer) ? why : `it is being deleted, and the finalizer ${finalizer} keeps it: ${why}`,
      since: deletionTimestamp,
      ends,
      ...(finalizers.length > 1 ? {details: [`finalizers: ${finalizers.join(', ')}`]} : {}),
      next,
    };
  };
