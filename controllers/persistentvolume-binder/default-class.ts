import {parseTime} from '#src/api/time.js';
import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {StorageClass} from '#src/model/volumes.js';

const createdAt = ({metadata}: Frozen<StorageClass>): number => parseTime(metadata?.creationTimestamp) ?? 0;

/**
 * Returns the class of claims that state none: of those marked as default the newest, and of these the first by name.
 */
export const defaultClass = (classes: readonly Frozen<StorageClass>[], naming: Naming): Frozen<StorageClass> | undefined => {
  const keys = [naming.subKey('storageclass', 'is-default-class'), naming.subKey('storageclass.beta', 'is-default-class')];
  const [first] = classes
    .filter(({metadata}) => keys.some(key => metadata?.annotations?.[key] === 'true'))
    .sort((a, b) => createdAt(b) - createdAt(a) || ((a.metadata?.name ?? '') < (b.metadata?.name ?? '') ? -1 : 1));
  return first;
};
