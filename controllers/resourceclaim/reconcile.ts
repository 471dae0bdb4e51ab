import {indexing} from '#informers/lister.js';
import {recentUids} from '#controllers/shared/pods/recent-uids.js';
import {keyOf, keyText, type Frozen, type ObjectKey} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {claimKeys} from '#src/model/devices/pod-claims.js';
import {settled, type KeyedContext, type Reconcile} from '#src/runtime/controller.js';
import {GeneratedClaims} from './generated-claims.js';
import {claimMetrics} from './metrics.js';
import {byDeviceClaim, claimNames, hasClaims, isDone, needsWork} from './pods.js';
import {claimSyncer} from './sync-claim.js';
import {podSyncer} from './sync-pod.js';

/** Pods and claims share the queue: the namespace of a key begins with what it is about. */
const [ofPod, ofClaim] = ['pod:', 'claim:'];

/** Reconciles pods with claims, and claims. */
export const claimReconciler = (context: KeyedContext): Reconcile => {
  const {enqueue, lister, listen, meter, naming, signal} = context;
  const pods = indexing(lister(kinds.pods), byDeviceClaim);
  const claims = lister(kinds.resourceClaims);
  const keys = claimKeys(naming);
  const metrics = claimMetrics(meter, keys, signal);
  const generated = new GeneratedClaims({...context, keys, metrics});
  const deleted = recentUids();
  const syncPod = podSyncer(context, generated);
  const syncClaim = claimSyncer({...context, keys, isDeleted: deleted.has});

  const add = (prefix: string, {namespace, name}: ObjectKey) => enqueue({namespace: `${prefix}${namespace}`, name});
  const podChanged = (pod: Frozen<Pod>, isDeleted: boolean) => {
    if (!hasClaims(pod)) return;
    if (isDeleted) deleted.add(pod.metadata?.uid ?? '');
    const key = keyOf(pod);
    if (isDeleted || isDone(pod)) for (const name of claimNames(pod)) add(ofClaim, {namespace: key.namespace, name});
    if (!isDeleted && needsWork(pod, claims)) add(ofPod, key);
  };
  listen(kinds.pods, change => {
    if (change.type === 'updated' && change.old.metadata?.uid !== change.object.metadata?.uid) podChanged(change.old, true);
    podChanged(change.object, change.type === 'deleted');
  });
  listen(kinds.resourceClaims, change => {
    const {type, object} = change;
    metrics.changed(type === 'added' ? undefined : type === 'updated' ? change.old : object, type === 'deleted' ? undefined : object);
    generated.seen(object);
    const key = keyOf(object);
    if (type !== 'deleted') add(ofClaim, key);
    for (const pod of pods.by(byDeviceClaim, keyText(key))) podChanged(pod, false);
  });

  return async ({namespace, name}) => {
    if (namespace.startsWith(ofPod)) await syncPod({namespace: namespace.slice(ofPod.length), name});
    else await syncClaim({namespace: namespace.slice(ofClaim.length), name});
    return settled;
  };
};
