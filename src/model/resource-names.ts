import {labelKeyProblems} from '#src/api/names.js';
import type {Naming} from '#src/api/naming.js';

/** The prefix of huge page resources; the page size follows. */
export const hugePages = 'hugepages-';

export const isHugePages = (name: string): boolean => name.startsWith(hugePages);

/** Whether a resource is native: it has no domain, or the platform's. */
export const isNativeResource = (name: string, naming: Naming): boolean => !name.includes('/') || name.includes(naming.key(''));
export const isExtendedResource = (name: string, naming: Naming): boolean =>
  !isNativeResource(name, naming) && !name.startsWith('requests.') && labelKeyProblems(`requests.${name}`).length === 0;

/** Whether a resource may be set at the pod level. */
export const isPodLevelResource = (name: string): boolean => name === 'cpu' || name === 'memory' || isHugePages(name);
