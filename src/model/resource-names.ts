import {labelKeyProblems} from '#src/api/names.js';
import type {Naming} from '#src/api/naming.js';

/** How the names of huge pages begin; the size of a page follows. */
export const hugePages = 'hugepages-';

export const isHugePages = (name: string): boolean => name.startsWith(hugePages);

/** Whether the platform defines the resource: without a domain, or in the platform's. */
export const isNativeResource = (name: string, naming: Naming): boolean => !name.includes('/') || name.includes(naming.key(''));
export const isExtendedResource = (name: string, naming: Naming): boolean =>
  !isNativeResource(name, naming) && !name.startsWith('requests.') && labelKeyProblems(`requests.${name}`).length === 0;

/** What a pod as a whole may ask for. */
export const isPodLevelResource = (name: string): boolean => name === 'cpu' || name === 'memory' || isHugePages(name);
