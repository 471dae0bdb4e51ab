import {withoutFinalizer} from '#controllers/shared/finalizers.js';
import {unlessMissing} from '#src/client/missing.js';
import type {Frozen, ObjectKey} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {controllerOf} from '#src/model/owners.js';
import type {ClaimKeys, DeviceClaim} from '#src/model/devices/pod-claims.js';
import type {KeyedContext} from '#src/runtime/controller.js';
import {isDone} from './pods.js';

type Consumer = NonNullable<NonNullable<Frozen<DeviceClaim>['status']>['reservedFor']>[number];

export interface ClaimSyncerParts extends Pick<KeyedContext, 'client' | 'lister' | 'writer'> {
  readonly keys: ClaimKeys;
  /** Whether a pod with this UID is known to be deleted. */
  isDeleted(uid: string): boolean;
}

/**
 * Returns the function that removes reservations of finished pods, deallocates unused claims, and deletes those
 * generated for finished pods.
 */
export const claimSyncer = ({client, lister, writer, keys, isDeleted}: ClaimSyncerParts): ((key: ObjectKey) => Promise<void>) => {
  const claims = lister(kinds.resourceClaims);
  const pods = lister(kinds.pods);
  const writes = writer(kinds.resourceClaims);

  const isInUse = async ({name, uid}: Consumer, namespace: string): Promise<boolean> => {
    if (isDeleted(uid)) return false;
    const pod = pods.get({namespace, name});
    if (pod) return pod.metadata?.uid === uid && !isDone(pod);
    // The cache may lack a pod that the scheduler has just reserved the claim for.
    const live = await unlessMissing(client.resource(kinds.pods).get(name, {namespace}));
    return live?.metadata?.uid === uid;
  };

  const inUse = async ({metadata, status}: Frozen<DeviceClaim>): Promise<Consumer[]> => {
    const valid: Consumer[] = [];
    for (const consumer of status?.reservedFor ?? []) {
      const {apiGroup = '', resource, name, uid} = consumer;
      if (apiGroup || resource !== 'pods') throw new Error(`unsupported ReservedFor entry: {${apiGroup} ${resource} ${name} ${uid}}`);
      if (await isInUse(consumer, metadata?.namespace ?? '')) valid.push(consumer);
    }
    return valid;
  };

  const hasFinalizer = ({metadata}: Frozen<DeviceClaim>): boolean => metadata?.finalizers?.includes(keys.finalizer) ?? false;

  /** Writes the status. Updates fail if anything has changed meanwhile. */
  const writeStatus = (claim: Frozen<DeviceClaim>, status: object) =>
    unlessMissing(writes.updateStatus({...claim, status: {...claim.status, ...status}} as DeviceClaim));

  const release = async (claim: Frozen<DeviceClaim>, valid: readonly Consumer[]): Promise<void> => {
    const isProtected = hasFinalizer(claim);
    const {metadata, status} = claim;
    let current: Frozen<DeviceClaim> | undefined = claim;
    if (valid.length < (status?.reservedFor?.length ?? 0)) {
      // The next consumer may need another node.
      const deallocates = valid.length === 0 && isProtected;
      current = await writeStatus(claim, {reservedFor: valid, ...(deallocates ? {allocation: undefined} : {})});
      if (current?.status?.allocation) return;
    } else {
      if (!isProtected || !metadata?.deletionTimestamp || valid.length > 0) return;
      if (status?.allocation) current = await writeStatus(claim, {allocation: undefined});
    }
    if (current && hasFinalizer(current)) await unlessMissing(writes.update(withoutFinalizer<DeviceClaim>(current, keys.finalizer)));
  };

  return async key => {
    const claim = claims.get(key);
    if (!claim) return;
    const valid = await inUse(claim);
    await release(claim, valid);
    if (valid.length > 0) return;
    const owner = controllerOf(claim);
    if (!owner || owner.apiVersion !== 'v1' || owner.kind !== 'Pod') return;
    const pod = pods.get({namespace: key.namespace, name: owner.name});
    // If the pod is unknown, the garbage collector finds out whether it is gone.
    if (pod && (pod.metadata?.uid !== owner.uid || isDone(pod))) await unlessMissing(writes.delete(claim));
  };
};
