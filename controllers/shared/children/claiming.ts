// Adoption and release of children by their selector and owner references. A parent adopts only after a read from the
// server, since the cache may be stale.

import type {Frozen} from '#src/api/key.js';
import type {Kind} from '#src/api/kinds/index.js';
import type {LabelSelector} from '#src/api/selectors/label-selector.js';
import {isInvalid, isNotFound} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {Client} from '#src/client/client.js';
import {controllerOf, controllerRefTo} from '#src/model/owners.js';
import {messageOf} from '#src/base/message.js';
import {aggregate} from '#controllers/shared/aggregate.js';

/** The kinds of parents and children. */
export interface ClaimerOptions<T extends KubeObject> {
  readonly client: Client;
  readonly parents: Kind;
  readonly children: Kind<T>;
}

export interface ClaimOptions<T extends KubeObject> {
  readonly selector: LabelSelector;
  /** A further condition besides the selector. */
  also?(child: Frozen<T>): boolean;
  /** Finalizers that are set with the owner reference and removed with it. */
  readonly finalizers?: readonly string[];
}

/**
 * Determines which of `children` belong to the parent: adopts orphans that it selects, releases children that it no
 * longer selects. Returns the parent's children. Rejects, after all were processed, if some could not be adopted or
 * released.
 */
export type Claim<T extends KubeObject> = (
  parent: Frozen<KubeObject>,
  children: readonly Frozen<T>[],
  how: ClaimOptions<T>,
) => Promise<Frozen<T>[]>;

const pathOf = ({metadata}: Frozen<KubeObject>): string => `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`;

/**
 * Returns a check that throws unless the parent exists on the server and is not being deleted: the cache may be stale.
 * Reads once, however often it is called.
 */
export const mayAdopt = (client: Client, kind: Kind, parent: Frozen<KubeObject>): (() => Promise<void>) => {
  const getLive = async () => {
    const {namespace, name = '', uid} = parent.metadata ?? {};
    const live = await client.resource(kind).get(name, namespace ? {namespace} : {});
    if (live.metadata?.uid !== uid)
      throw new Error(`original ${kind.kind} ${pathOf(parent)} is gone: got uid ${live.metadata?.uid}, wanted ${uid}`);
    return live;
  };
  const check = async () => {
    const live = await getLive().catch((error: unknown) => {
      throw new Error(`can't recheck DeletionTimestamp: ${messageOf(error)}`, {cause: error});
    });
    if (live.metadata?.deletionTimestamp) throw new Error(`${pathOf(live)} has just been deleted at ${live.metadata.deletionTimestamp}`);
  };
  let checked: Promise<void> | undefined;
  return () => (checked ??= check());
};

/** Claims children of one kind for parents of another, by the rules of controller references (adopt, keep, release). */
export const claimer = <T extends KubeObject>({client, parents, children: childKind}: ClaimerOptions<T>): Claim<T> => {
  const {naming} = client;
  const resource = client.resource(childKind);
  const patch = ({metadata}: Frozen<T>, change: object) => {
    const {namespace, name = '', uid} = metadata ?? {};
    // The UID makes the patch conditional on this object.
    return resource.patch(name, 'strategic', {metadata: {uid, ...change}}, namespace ? {namespace} : {});
  };

  return async (parent, children, {selector, also = () => true, finalizers = []}) => {
    const {uid, deletionTimestamp, namespace} = parent.metadata ?? {};
    const adoptable = mayAdopt(client, parents, parent);
    const isSelected = (child: Frozen<T>) => selector.matches(child.metadata?.labels) && also(child);

    const adopt = async (child: Frozen<T>) => {
      try {
        await adoptable();
      } catch (error) {
        throw new Error(`can't adopt ${childKind.kind} ${pathOf(child)} (${child.metadata?.uid}): ${messageOf(error)}`, {cause: error});
      }
      await patch(child, {ownerReferences: [controllerRefTo(parent, parents, naming)], ...(finalizers.length > 0 ? {finalizers} : {})});
    };

    const release = async (child: Frozen<T>) => {
      const own = {
        ownerReferences: [{$patch: 'delete', uid}],
        ...(finalizers.length > 0 ? {'$deleteFromPrimitiveList/finalizers': finalizers} : {}),
      };
      try {
        await patch(child, own);
      } catch (error) {
        // It has no owners any more, or was recreated: in both cases it does not belong to the parent.
        if (!isInvalid(error)) throw error;
      }
    };

    /** Returns what to do with the child. Synchronous, as most are kept. */
    const actionFor = (child: Frozen<T>): 'keep' | 'ignore' | 'adopt' | 'release' => {
      const owner = controllerOf(child);
      if (owner) {
        if (owner.uid !== uid) return 'ignore';
        if (isSelected(child)) return 'keep';
        return deletionTimestamp ? 'ignore' : 'release';
      }
      if (deletionTimestamp || child.metadata?.deletionTimestamp || namespace !== child.metadata?.namespace) return 'ignore';
      return isSelected(child) ? 'adopt' : 'ignore';
    };

    const claimed: Frozen<T>[] = [];
    const errors: unknown[] = [];
    for (const child of children) {
      const action = actionFor(child);
      if (action === 'ignore') continue;
      try {
        if (action === 'adopt') await adopt(child);
        if (action === 'release') await release(child);
        else claimed.push(child);
      } catch (error) {
        if (!isNotFound(error)) errors.push(error);
      }
    }
    const failure = aggregate(errors);
    if (failure) throw failure;
    return claimed;
  };
};
