import type {KubeObject} from '#src/api/types.js';
import type {Endpoint, HookContext, MetadataValidation} from '#src/resources/definition.js';
import type {ObjectMetaRules} from '#src/resources/validation/object-meta.js';
import type {Resource} from '#src/apiserver/registry/registry.js';

/** Returns how an endpoint validates the metadata of an object. */
export const metadataValidationOf = ({metadata = 'change'}: Endpoint<KubeObject>, hooks: HookContext): MetadataValidation =>
  typeof metadata === 'function' ? metadata(hooks) : metadata;

/** Returns the validation rules for the metadata of a kind's objects. */
export const metadataRules = ({kind, definition, settings}: Resource, hooks: HookContext): ObjectMetaRules => ({
  namespaced: kind.namespaced,
  nameProblems: (name, prefix) => definition.metadata.nameProblems(name, prefix, hooks),
  ...(definition.metadata.anyFinalizers ? {} : {naming: settings.naming}),
});
