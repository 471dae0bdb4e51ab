import {sameJson} from '#src/api/equal.js';
import {isConflict, isNotFound, StatusError} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {jittered, type Random} from '#src/base/random.js';
import {identityText, type Identity, type Owner} from './identity.js';
import {OwnerNeedsNamespace, type KindMap} from './kind-map.js';

/** How often a finalizer is tried to be taken from an object that others write to. */
const maxAttempts = 5;
const firstWaitMs = 10;

export interface LiveParts {
  readonly kinds: KindMap;
  readonly random: Random;
  /** Waits within the work on one object. */
  pause(ms: number): Promise<void>;
}

/** What becomes of the owners of an object. */
export interface OwnerPatch {
  /** In the words of a strategic merge: what changes, by uid. */
  readonly changed: readonly object[];
  /** All that are left, of those there are. */
  remaining(owners: readonly Owner[]): readonly object[];
}

/** The server's own view of objects, and the writes to them. Every write is for that very object and no other that took its name. */
export class Live {
  readonly #parts: LiveParts;

  constructor(parts: LiveParts) {
    this.#parts = parts;
  }

  /** The metadata of an object as the server has it now. Rejects with `NotFound`, `UnknownKind` or `OwnerNeedsNamespace`. */
  async get(identity: Identity): Promise<KubeObject> {
    const {objects, namespaceOption} = this.#at(identity);
    return objects.get(identity.name, namespaceOption);
  }

  /**
   * Deletes an object whose owners are still those of `seen`: one that got an owner meanwhile is a conflict, one that changed in any other way is deleted
   * all the same, so that nobody keeps it by writing to it often.
   */
  async delete(identity: Identity, seen: KubeObject, propagationPolicy: 'Orphan' | 'Foreground' | 'Background'): Promise<void> {
    const {objects, namespaceOption} = this.#at(identity);
    const {name, uid} = identity;
    const {resourceVersion, ownerReferences = []} = seen.metadata ?? {};
    try {
      await objects.delete(name, {...namespaceOption, propagationPolicy, preconditions: {uid, ...(resourceVersion ? {resourceVersion} : {})}});
    } catch (error) {
      if (!isConflict(error) || !resourceVersion) throw error;
      const now = await objects.get(name, namespaceOption).catch((again: unknown) => Promise.reject(isNotFound(again) ? again : error));
      const {metadata} = now as KubeObject;
      const isSame = metadata?.uid === uid && metadata.resourceVersion !== resourceVersion && sameJson(metadata.ownerReferences ?? [], ownerReferences);
      if (!isSame) throw error;
      await objects.delete(name, {...namespaceOption, propagationPolicy, preconditions: {uid}});
    }
  }

  /** Changes the owners of an object. Custom resources know no strategic merge: there it takes the version that the whole list was read from. */
  async patchOwners(identity: Identity, {changed, remaining}: OwnerPatch): Promise<void> {
    const {objects, namespaceOption} = this.#at(identity);
    const {name, uid} = identity;
    try {
      await objects.patch(name, 'strategic', {metadata: {uid, ownerReferences: changed}}, namespaceOption);
    } catch (error) {
      if (!(error instanceof StatusError) || error.code !== 415) throw error;
      const {metadata} = await objects.get(name, namespaceOption);
      const ownerReferences = remaining(metadata?.ownerReferences ?? []);
      await objects.patch(name, 'merge', {metadata: {uid, resourceVersion: metadata?.resourceVersion, ownerReferences: ownerReferences.length > 0 ? ownerReferences : null}}, namespaceOption);
    }
  }

  /** Takes a finalizer from an object, if both are still there. Rejects when others wrote to it too often meanwhile. */
  async removeFinalizer(identity: Identity, finalizer: string): Promise<void> {
    const {objects, namespaceOption} = this.#at(identity);
    const {pause, random} = this.#parts;
    for (let attempt = 1, waitMs = firstWaitMs; ; attempt++, waitMs *= 5) {
      try {
        const {metadata} = await objects.get(identity.name, namespaceOption);
        const finalizers = metadata?.finalizers ?? [];
        if (metadata?.uid !== identity.uid || !finalizers.includes(finalizer)) return;
        const kept = finalizers.filter(each => each !== finalizer);
        await objects.patch(identity.name, 'merge', {metadata: {uid: identity.uid, resourceVersion: metadata.resourceVersion, finalizers: kept.length > 0 ? kept : null}}, namespaceOption);
        return;
      } catch (error) {
        if (isNotFound(error)) return;
        if (!isConflict(error)) throw new Error(`cannot finalize owner ${identityText(identity)}: ${(error as Error).message}`, {cause: error});
        if (attempt === maxAttempts) throw new Error(`updateMaxRetries(${maxAttempts}) has reached. The garbage collector will retry later for owner ${identityText(identity)}`, {cause: error});
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

/** The patch that parts an object from these owners. */
export const withoutOwners = (uids: readonly string[]): OwnerPatch => ({
  changed: uids.map(uid => ({$patch: 'delete', uid})),
  remaining: owners => owners.filter(({uid}) => !uids.includes(uid)),
});

/** The patch after which no owner waits for the object. */
export const unblockingOwners = (owners: readonly Owner[]): OwnerPatch => {
  const free = (owner: Owner) => (owner.blockOwnerDeletion ? {...owner, blockOwnerDeletion: false} : owner);
  return {changed: owners.filter(({blockOwnerDeletion}) => blockOwnerDeletion).map(free), remaining: now => now.map(free)};
};
