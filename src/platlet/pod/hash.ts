import type {Frozen} from '#src/api/key.js';
import type {AnyContainer} from '#src/api/pod.js';
import {fnv1a} from '#src/base/text/fnv.js';

/** The container annotation with the hash of its definition. */
export const hashAnnotation = 'io.kubernetes.container.hash';

/**
 * Returns the hash of the container fields whose change requires a restart: name and image (32-bit FNV-1a,
 * hexadecimal).
 */
export const containerHash = ({name, image = ''}: Pick<Frozen<AnyContainer>, 'name' | 'image'>): string =>
  fnv1a(`${name}\0${image}`).toString(16);
