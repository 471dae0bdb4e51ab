import type {Frozen} from '#src/api/key.js';
import type {AnyContainer} from '#src/api/pod.js';

const offset = 0x811c9dc5;
const prime = 0x01000193;

/** The annotation of a container with the hash of what it was created from. */
export const hashAnnotation = 'io.kubernetes.container.hash';

/**
 * Returns the hash of what makes a container another one when it changes: name and image (32-bit FNV-1a, hexadecimal).
 */
export const containerHash = ({name, image = ''}: Pick<Frozen<AnyContainer>, 'name' | 'image'>): string => {
  let hash = offset;
  for (const byte of Buffer.from(`${name}\0${image}`)) hash = Math.imul(hash ^ byte, prime);
  return (hash >>> 0).toString(16);
};
