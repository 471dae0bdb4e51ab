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

/** Returns what tells which reservations of claims are of pods that still run. */
const consumers = ({client, lister, isDeleted}: ClaimSyncerParts) => {
  const pods = lister(kinds.pods);
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
  return inUse;
};

const hasFinalizer = ({metadata}: Frozen<DeviceClaim>, {finalizer}: ClaimKeys): boolean =>
  metadata?.finalizers?.includes(finalizer) ?? false;

/**
 * Returns the change of the status: fewer reservations, and no allocation once nobody uses the claim, since the next
 * consumer may need another node; undefined if it stays.
 */
const releasedStatus = (claim: Frozen<DeviceClaim>, inUse: readonly Consumer[], isProtected: boolean): object | 'same' | undefined => {
  const {metadata, status} = claim;
  if (inUse.length < (status?.reservedFor?.length ?? 0))
    return {reservedFor: inUse, ...(inUse.length === 0 && isProtected ? {allocation: undefined} : {})};
  if (!isProtected || !metadata?.deletionTimestamp || inUse.length > 0) return undefined;
  return status?.allocation ? {allocation: undefined} : 'same';
};

/**
 * Returns the function that removes reservations of finished pods, deallocates unused claims, and deletes those
 * generated for finished pods.
 */
export const claimSyncer = (parts: ClaimSyncerParts): ((key: ObjectKey) => Promise<void>) => {
  const {lister, writer, keys} = parts;
  const claims = lister(kinds.resourceClaims);
  const pods = lister(kinds.pods);
  const writes = writer(kinds.resourceClaims);
  const consumersOf = consumers(parts);

  const release = async (claim: Frozen<DeviceClaim>, inUse: readonly Consumer[]): Promise<void> => {
    const status = releasedStatus(claim, inUse, hasFinalizer(claim, keys));
    if (!status) return;
    // Updates fail if anything has changed meanwhile.
    const current =
      status === 'same' ? claim : await unlessMissing(writes.updateStatus({...claim, status: {...claim.status, ...status}} as DeviceClaim));
    if (!current || current.status?.allocation || !hasFinalizer(current, keys)) return;
    await unlessMissing(writes.update(withoutFinalizer<DeviceClaim>(current, keys.finalizer)));
  };

  return async key => {
    const claim = claims.get(key);
    if (!claim) return;
    const inUse = await consumersOf(claim);
    await release(claim, inUse);
    if (inUse.length > 0) return;
    const owner = controllerOf(claim);
    if (!owner || owner.apiVersion !== 'v1' || owner.kind !== 'Pod') return;
    const pod = pods.get({namespace: key.namespace, name: owner.name});
    // If the pod is unknown, the garbage collector finds out whether it is gone.
    if (pod && (pod.metadata?.uid !== owner.uid || isDone(pod))) await unlessMissing(writes.delete(claim));
  };
};
