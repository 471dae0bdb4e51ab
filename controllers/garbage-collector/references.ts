import {sameJson} from '#src/api/equal.js';
import {compareIdentities, identityOf, refersTo, sameIdentity, type Identity, type Owner} from './identity.js';
import type {Node} from './node.js';

/** What became of an object's owners. */
export interface OwnerChanges {
  readonly added: readonly Owner[];
  readonly removed: readonly Owner[];
  readonly changed: readonly {readonly old: Owner; readonly now: Owner}[];
}

const none: OwnerChanges = {added: [], removed: [], changed: []};

/** Compares owners by their uids. */
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

/** The owners that an object no longer holds up: dropped, or told that they need not wait. */
export const unblocked = ({removed, changed}: OwnerChanges): string[] => [
  ...removed.filter(({blockOwnerDeletion}) => blockOwnerDeletion).map(({uid}) => uid),
  ...changed.filter(({old, now}) => old.blockOwnerDeletion && !now.blockOwnerDeletion).map(({now}) => now.uid),
];

/**
 * Who else the object of that uid might be, as those dependents see it that do not mean `absent`, which is known not to exist. Of several the one that
 * comes after it, and after the last the first, so that each is tried in turn.
 */
export const alternativeTo = (absent: Identity, dependents: readonly Node[]): Identity | undefined => {
  let first: Identity | undefined;
  let following: Identity | undefined;
  for (const {identity, owners} of dependents) {
    for (const owner of owners) {
      if (owner.uid !== absent.uid) continue;
      const isClusterScoped = absent.namespace === '';
      if (refersTo(owner, absent) && (isClusterScoped || absent.namespace === identity.namespace)) continue;
      // A kind that was found to have no namespaces has none for anybody.
      const sameKind = owner.apiVersion === absent.apiVersion && owner.kind === absent.kind;
      const candidate = identityOf(owner, isClusterScoped && sameKind ? '' : identity.namespace);
      if (sameIdentity(candidate, absent)) continue;
      if (!first || compareIdentities(candidate, first) < 0) first = candidate;
      if (compareIdentities(candidate, absent) > 0 && (!following || compareIdentities(candidate, following) < 0)) following = candidate;
    }
  }
  return following ?? first;
};
