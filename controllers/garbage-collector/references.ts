import {sameJson} from '#src/api/equal.js';
import {compareIdentities, identityOf, refersTo, sameIdentity, type Identity, type Owner} from './identity.js';
import type {Node} from './node.js';

/** The changes of an object's owners. */
export interface OwnerChanges {
  readonly added: readonly Owner[];
  readonly removed: readonly Owner[];
  readonly changed: readonly {readonly old: Owner; readonly now: Owner}[];
}

const none: OwnerChanges = {added: [], removed: [], changed: []};

/** Compares owners by uid. */
export const ownerChanges = (before: readonly Owner[], now: readonly Owner[]): OwnerChanges => {
  if (before === now || (before.length === 0 && now.length === 0)) return none;
  const old = new Map(before.map(owner => [owner.uid, owner]));
  const added: Owner[] = [];
  const changed: {old: Owner; now: Owner}[] = [];
  const kept = new Set<string>();
  for (const owner of now) {
    const known = kept.has(owner.uid) ? undefined : old.get(owner.uid);
    if (!known) added.push(owner);
    else if (!sameJson(known, owner)) changed.push({old: known, now: owner});
    if (known) kept.add(owner.uid);
  }
  return {added, removed: [...old.values()].filter(({uid}) => !kept.has(uid)), changed};
};

/** Returns the uids of owners that the object no longer blocks. */
export const unblocked = ({removed, changed}: OwnerChanges): string[] => [
  ...removed.filter(({blockOwnerDeletion}) => blockOwnerDeletion).map(({uid}) => uid),
  ...changed.filter(({old, now}) => old.blockOwnerDeletion && !now.blockOwnerDeletion).map(({now}) => now.uid),
];

/**
 * Returns another identity for that uid, from dependents whose references do not match `absent`, which does not exist.
 * Of several the next one in order, wrapping around, so that each is tried in turn.
 */
export const alternativeTo = (absent: Identity, dependents: readonly Node[]): Identity | undefined => {
  let first: Identity | undefined;
  let following: Identity | undefined;
  for (const {identity, owners} of dependents) {
    for (const owner of owners) {
      if (owner.uid !== absent.uid) continue;
      const isClusterScoped = absent.namespace === '';
      if (refersTo(owner, absent) && (isClusterScoped || absent.namespace === identity.namespace)) continue;
      // A kind found to be cluster-scoped is so for all references.
      const sameKind = owner.apiVersion === absent.apiVersion && owner.kind === absent.kind;
      const candidate = identityOf(owner, isClusterScoped && sameKind ? '' : identity.namespace);
      if (sameIdentity(candidate, absent)) continue;
      if (!first || compareIdentities(candidate, first) < 0) first = candidate;
      if (compareIdentities(candidate, absent) > 0 && (!following || compareIdentities(candidate, following) < 0)) following = candidate;
    }
  }
  return following ?? first;
};
