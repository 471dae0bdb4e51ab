import {sameJson} from '#src/api/equal.js';
import {isConflict, isNotFound, StatusError} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {jittered, type Random} from '#src/base/random.js';
import {identityText, type Identity, type Owner} from './identity.js';
import {OwnerNeedsNamespace, type KindMap} from './kind-map.js';

/** The most attempts to remove a finalizer on conflicts. */
const maxAttempts = 5;
const firstWaitMs = 10;

export interface LiveParts {
  readonly kinds: KindMap;
  readonly random: Random;
  /** Waits during the processing of one object. */
  pause(ms: number): Promise<void>;
}

/** A change of an object's owner references. */
export interface OwnerPatch {
  /** The strategic merge patch, by uid. */
  readonly changed: readonly object[];
  /** Returns the remaining references. */
  remaining(owners: readonly Owner[]): readonly object[];
}

/** Live reads and writes of objects. Every write is conditional on the uid. */
export class Live {
  readonly #parts: LiveParts;

  constructor(parts: LiveParts) {
    this.#parts = parts;
  }

  /** Reads the metadata of an object. Rejects with `NotFound`, `UnknownKind` or `OwnerNeedsNamespace`. */
  async get(identity: Identity): Promise<KubeObject> {
    const {objects, namespaceOption} = this.#at(identity);
    return objects.get(identity.name, namespaceOption);
  }

  /**
   * Deletes an object if its owners are still those of `seen`: a new owner is a conflict, but other changes are not, so
   * that frequent writes cannot prevent the deletion.
   */
  async delete(identity: Identity, seen: KubeObject, propagationPolicy: 'Orphan' | 'Foreground' | 'Background'): Promise<void> {
    const {objects, namespaceOption} = this.#at(identity);
    const {name, uid} = identity;
    const {resourceVersion, ownerReferences = []} = seen.metadata ?? {};
    try {
      await objects.delete(name, {
        ...namespaceOption,
        propagationPolicy,
        preconditions: {uid, ...(resourceVersion ? {resourceVersion} : {})},
      });
    } catch (error) {
      if (!isConflict(error) || !resourceVersion) throw error;
      const now = await objects.get(name, namespaceOption).catch((again: unknown) => Promise.reject(isNotFound(again) ? again : error));
      const {metadata} = now as KubeObject;
      const isSame =
        metadata?.uid === uid && metadata.resourceVersion !== resourceVersion && sameJson(metadata.ownerReferences ?? [], ownerReferences);
      if (!isSame) throw error;
      await objects.delete(name, {...namespaceOption, propagationPolicy, preconditions: {uid}});
    }
  }

  /**
   * Patches the owners of an object. Custom resources do not support strategic merge: a merge patch with the read
   * version is used there.
   */
  async patchOwners(identity: Identity, {changed, remaining}: OwnerPatch): Promise<void> {
    const {objects, namespaceOption} = this.#at(identity);
    const {name, uid} = identity;
    try {
      await objects.patch(name, 'strategic', {metadata: {uid, ownerReferences: changed}}, namespaceOption);
    } catch (error) {
      if (!(error instanceof StatusError) || error.code !== 415) throw error;
      const {metadata} = await objects.get(name, namespaceOption);
      const ownerReferences = remaining(metadata?.ownerReferences ?? []);
      await objects.patch(
        name,
        'merge',
        {metadata: {uid, resourceVersion: metadata?.resourceVersion, ownerReferences: ownerReferences.length > 0 ? ownerReferences : null}},
        namespaceOption,
      );
    }
  }

  /** Removes a finalizer, if it is still there. Rejects after too many conflicts. */
  async removeFinalizer(identity: Identity, finalizer: string): Promise<void> {
    const {objects, namespaceOption} = this.#at(identity);
    const {pause, random} = this.#parts;
    for (let attempt = 1, waitMs = firstWaitMs; ; attempt++, waitMs *= 5) {
      try {
        const {metadata} = await objects.get(identity.name, namespaceOption);
        const finalizers = metadata?.finalizers ?? [];
        if (metadata?.uid !== identity.uid || !finalizers.includes(finalizer)) return;
        const kept = finalizers.filter(each => each !== finalizer);
        await objects.patch(
          identity.name,
          'merge',
          {metadata: {uid: identity.uid, resourceVersion: metadata.resourceVersion, finalizers: kept.length > 0 ? kept : null}},
          namespaceOption,
        );
        return;
      } catch (error) {
        if (isNotFound(error)) return;
        if (!isConflict(error))
          throw new Error(`cannot finalize owner ${identityText(identity)}: ${(error as Error).message}`, {cause: error});
        if (attempt === maxAttempts)
          throw new Error(
            `updateMaxRetries(${maxAttempts}) has reached. The garbage collector will retry later for owner ${identityText(identity)}`,
            {cause: error},
          );
      }
      await pause(jittered(random, waitMs, 0.1));
    }
  }

  #at(identity: Identity) {
    const {namespaced, objects} = this.#parts.kinds.of(identity);
    if (namespaced && !identity.namespace) throw new OwnerNeedsNamespace(identity);
    return {objects, namespaceOption: namespaced ? {namespace: identity.namespace} : {}};
  }
}

/** Returns the patch that removes these owners. */
export const withoutOwners = (uids: readonly string[]): OwnerPatch => ({
  changed: uids.map(uid => ({$patch: 'delete', uid})),
  remaining: owners => owners.filter(({uid}) => !uids.includes(uid)),
});

/** Returns the patch after which the object does not block its owners. */
export const unblockingOwners = (owners: readonly Owner[]): OwnerPatch => {
  const free = (owner: Owner) => (owner.blockOwnerDeletion ? {...owner, blockOwnerDeletion: false} : owner);
  return {changed: owners.filter(({blockOwnerDeletion}) => blockOwnerDeletion).map(free), remaining: now => now.map(free)};
};
