import type {Naming} from '#src/api/naming.js';
import type {ResourceDefinition} from './definition.js';

/** Returns where the objects of a kind are stored, below the prefix of all keys: without slashes around it. */
export const storagePath = ({kind, storage}: Pick<ResourceDefinition, 'kind' | 'storage'>, naming: Naming): string => {
  const {path = kind.plural, isUnderGroup = false} = storage ?? {};
  return isUnderGroup ? `${naming.group(kind.group)}/${path}` : path;
};
