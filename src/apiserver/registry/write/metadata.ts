import {sameJson} from '#src/api/equal.js';
import type {KubeObject, ObjectMeta, OwnerReference} from '#src/api/types.js';
import type {Endpoint, HookContext, MetadataValidation} from '#src/resources/definition.js';
import type {ObjectMetaRules} from '#src/resources/validation/object-meta.js';
import type {Resource} from '#src/apiserver/registry/resource.js';

// What the pipeline does to the metadata of written objects by the rules of their kind: validation, duplicate owners,
// and the generation.

/** Returns how an endpoint validates the metadata of an object. */
export const metadataValidationOf = ({metadata = 'change'}: Endpoint<KubeObject>, hooks: HookContext): MetadataValidation =>
  typeof metadata === 'function' ? metadata(hooks) : metadata;

/** Returns the validation rules for the metadata of a kind's objects. */
export const metadataRules = ({kind, definition, settings}: Resource, hooks: HookContext): ObjectMetaRules => ({
  namespaced: kind.namespaced,
  nameProblems: (name, prefix) => definition.metadata.nameProblems(name, prefix, hooks),
  ...(definition.metadata.anyFinalizers ? {} : {naming: settings.naming}),
});

const duplicateWarnings = {
  sent: 'contains duplicate entries',
  admitted: 'contains duplicate entries after mutating admission happens',
} as const;

/** Removes owner references that equal an earlier one in every field, and warns of them. */
export const dropDuplicateOwners = (meta: ObjectMeta, warn: (text: string) => void, at: keyof typeof duplicateWarnings): void => {
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
    `.metadata.ownerReferences ${duplicateWarnings[at]}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${dropped.join(', ')}`,
  );
};

/**
 * Raises the generation of an updated object whose desired state changes. Writing through a view of another kind is
 * writing the object.
 */
export const raiseGeneration = ({definition}: Resource, object: KubeObject, old: Readonly<KubeObject>, subresource: string): void => {
  const {generation, generationCountsEmptied} = definition.metadata;
  if (!generation || (subresource && !definition.subresources?.[subresource]?.view)) return;
  const changes = typeof generation === 'function' ? generation : changesDesiredState;
  if (changes(object, old) || generationCountsEmptied?.(object)) object.metadata!.generation = (old.metadata!.generation ?? 0) + 1;
};

/** Whether anything outside metadata and status differs. */
const changesDesiredState = (object: Readonly<KubeObject>, old: Readonly<KubeObject>): boolean => {
  const {metadata: _, status: __, ...now} = object as KubeObject & {status?: unknown};
  const {metadata: ___, status: ____, ...before} = old as KubeObject & {status?: unknown};
  return !sameJson(now, before);
};
