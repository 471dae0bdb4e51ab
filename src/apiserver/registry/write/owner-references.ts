import type {ObjectMeta, OwnerReference} from '#src/api/types.js';

const when = {
  sent: 'contains duplicate entries',
  admitted: 'contains duplicate entries after mutating admission happens',
} as const;

/** Removes owner references that equal an earlier one in every field, and warns of them. */
export const dropDuplicateOwners = (meta: ObjectMeta, warn: (text: string) => void, at: keyof typeof when): void => {
  const {ownerReferences} = meta;
  if (!ownerReferences || ownerReferences.length < 2) return;
  const kept = new Map<string, OwnerReference>();
  const dropped: string[] = [];
  for (const owner of ownerReferences) {
    const all = JSON.stringify([owner.apiVersion, owner.kind, owner.name, owner.uid, owner.controller, owner.blockOwnerDeletion]);
    if (kept.has(all)) dropped.push(owner.uid);
    else kept.set(all, owner);
  }
  if (dropped.length === 0) return;
  meta.ownerReferences = [...kept.values()];
  warn(
    `.metadata.ownerReferences ${when[at]}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${dropped.join(', ')}`,
  );
};
