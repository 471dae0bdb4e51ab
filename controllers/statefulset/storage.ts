import {aggregate} from '#controllers/shared/aggregate.js';
import type {Lister} from '#informers/lister.js';
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

/** Manages the claims of pods. */
export class Storage {
  readonly #claims: Lister<Claim>;
  readonly #context: Pick<KeyedContext, 'writer' | 'events' | 'naming'>;

  constructor(context: Pick<KeyedContext, 'lister' | 'writer' | 'events' | 'naming'>) {
    this.#claims = context.lister(kinds.persistentVolumeClaims);
    this.#context = context;
  }

  /** Creates missing claims. Rejects when one could not be created, or is being deleted. */
  async create(set: StatefulSet, pod: Frozen<Pod>): Promise<void> {
    const errors: unknown[] = [];
    for (const claim of desiredClaims(set, pod)) {
      const existing = this.#cached(claim);
      if (existing?.metadata?.deletionTimestamp) errors.push(new Error(`pvc ${claim.metadata?.name} is being deleted`));
      else if (!existing) {
        await this.#createOne(set, pod, claim).catch((error: unknown) => {
          if (hasCause(error, 'NamespaceTerminating')) throw error;
          errors.push(error);
        });
      }
    }
    const failure = aggregate(errors);
    if (failure) throw failure;
  }

  /** Whether a claim is deleted with an earlier pod of that name: the new one must wait. */
  isStale(set: StatefulSet, pod: Frozen<Pod>): boolean {
    return isDeletedWithPods(set) && this.#ownershipsOf(set, pod).some(isStaleForPod);
  }

  /** Whether the existing claims have the owners that the retention policy requires. */
  hasRightOwners(set: StatefulSet, pod: Frozen<Pod>): boolean {
    return this.#ownershipsOf(set, pod).every(hasRightOwners);
  }

  /** Sets the required owners. */
  async setOwners(set: StatefulSet, pod: Frozen<Pod>): Promise<void> {
    const {events, writer} = this.#context;
    for (const ownership of this.#ownershipsOf(set, pod)) {
      const {claim} = ownership;
      const {name} = claim.metadata!;
      if (hasForeignController(ownership)) {
        const message = `PersistentVolumeClaim ${name} has a conflicting OwnerReference that acts as a manging controller, the retention policy is ignored for this claim`;
        events.warning(set, 'ConflictingController', message);
      }
      if (hasRightOwners(ownership)) continue;
      const owned = {...claim, metadata: {...claim.metadata, ownerReferences: rightOwners(ownership)}} as Claim;
      try {
        await writer(kinds.persistentVolumeClaims).update(owned);
      } catch (error) {
        throw new Error(`could not update claim ${name} for delete policy ownerRefs: ${messageOf(error)}`, {cause: error});
      }
    }
  }

  #cached({metadata}: Claim): Frozen<Claim> | undefined {
    return this.#claims.get({namespace: metadata?.namespace ?? '', name: metadata?.name ?? ''});
  }

  #ownershipsOf(set: StatefulSet, pod: Frozen<Pod>): ClaimOwnership[] {
    return desiredClaims(set, pod).flatMap(each => {
      const claim = this.#cached(each);
      return claim ? [{claim, set, pod, naming: this.#context.naming}] : [];
    });
  }

  async #createOne(set: StatefulSet, pod: Frozen<Pod>, claim: Claim): Promise<void> {
    const {events, writer} = this.#context;
    const {name} = claim.metadata!;
    try {
      await writer(kinds.persistentVolumeClaims).create(claim);
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
  }
}

const desiredClaims = (set: StatefulSet, pod: Frozen<Pod>): Claim[] => {
  const ordinal = ordinalOf(pod.metadata?.name ?? '');
  return ordinal === undefined ? [] : claimsAt(set, ordinal);
};
