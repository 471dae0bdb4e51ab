import {aggregate} from '#controllers/shared/aggregate.js';
import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {hasCause, isAlreadyExists} from '#src/api/status.js';
import type {KeyedContext} from '#src/runtime/controller.js';
import {messageOf} from '#src/base/message.js';
import {claimsAt} from './claims.js';
import type {Claim, StatefulSet} from './kinds.js';
import {ordinalOf} from './ordinals.js';
import {isDeletedWithPods, hasForeignController, hasRightOwners, isStaleForPod, rightOwners, type ClaimOwnership} from './retention.js';

/** Manages the claims of a pod. */
export interface Storage {
  /** Creates missing claims. Rejects when one could not be created, or is being deleted. */
  create(set: StatefulSet, pod: Frozen<Pod>): Promise<void>;
  /** Whether a claim is deleted with an earlier pod of that name: the new one must wait. */
  isStale(set: StatefulSet, pod: Frozen<Pod>): boolean;
  /** Whether the existing claims have the owners that the retention policy requires. */
  hasRightOwners(set: StatefulSet, pod: Frozen<Pod>): boolean;
  /** Sets the required owners. */
  setOwners(set: StatefulSet, pod: Frozen<Pod>): Promise<void>;
}

export const storage = ({lister, writer, events, naming}: KeyedContext): Storage => {
  const claims = lister(kinds.persistentVolumeClaims);
  const claimWriter = writer(kinds.persistentVolumeClaims);

  const desiredClaims = (set: StatefulSet, pod: Frozen<Pod>): Claim[] => {
    const ordinal = ordinalOf(pod.metadata?.name ?? '');
    return ordinal === undefined ? [] : claimsAt(set, ordinal);
  };
  const cached = ({metadata}: Claim) => claims.get({namespace: metadata?.namespace ?? '', name: metadata?.name ?? ''});
  const claimOwnershipsOf = (set: StatefulSet, pod: Frozen<Pod>): ClaimOwnership[] =>
    desiredClaims(set, pod).flatMap(each => {
      const claim = cached(each);
      return claim ? [{claim, set, pod, naming}] : [];
    });

  const createOne = async (set: StatefulSet, pod: Frozen<Pod>, claim: Claim): Promise<void> => {
    const {name} = claim.metadata!;
    try {
      await claimWriter.create(claim);
    } catch (error) {
      // In a terminating namespace neither claims nor pods can be created.
      if (hasCause(error, 'NamespaceTerminating')) throw error;
      if (!isAlreadyExists(error)) {
        events.warning(
          set,
          'FailedCreate',
          `Create Claim ${name} for Pod ${pod.metadata?.name} in StatefulSet ${set.metadata?.name} failed error: ${messageOf(error)}`,
        );
      }
      throw new Error(`failed to create PVC ${name}: ${messageOf(error)}`, {cause: error});
    }
    events.normal(set, 'SuccessfulCreate', `Create Claim ${name} Pod ${pod.metadata?.name} in StatefulSet ${set.metadata?.name} success`);
  };

  return {
    async create(set, pod) {
      const errors: unknown[] = [];
      for (const claim of desiredClaims(set, pod)) {
        const existing = cached(claim);
        if (existing?.metadata?.deletionTimestamp) errors.push(new Error(`pvc ${claim.metadata?.name} is being deleted`));
        else if (!existing) {
          await createOne(set, pod, claim).catch((error: unknown) => {
            if (hasCause(error, 'NamespaceTerminating')) throw error;
            errors.push(error);
          });
        }
      }
      const failure = aggregate(errors);
      if (failure) throw failure;
    },
    isStale: (set, pod) => isDeletedWithPods(set) && claimOwnershipsOf(set, pod).some(isStaleForPod),
    hasRightOwners: (set, pod) => claimOwnershipsOf(set, pod).every(hasRightOwners),
    async setOwners(set, pod) {
      for (const ownership of claimOwnershipsOf(set, pod)) {
        const {claim} = ownership;
        const {name} = claim.metadata!;
        if (hasForeignController(ownership)) {
          const message = `PersistentVolumeClaim ${name} has a conflicting OwnerReference that acts as a manging controller, the retention policy is ignored for this claim`;
          events.warning(set, 'ConflictingController', message);
        }
        if (hasRightOwners(ownership)) continue;
        try {
          await claimWriter.update({...claim, metadata: {...claim.metadata, ownerReferences: rightOwners(ownership)}} as Claim);
        } catch (error) {
          throw new Error(`could not update claim ${name} for delete policy ownerRefs: ${messageOf(error)}`, {cause: error});
        }
      }
    },
  };
};
