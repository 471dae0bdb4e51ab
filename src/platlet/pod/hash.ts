import type {Frozen} from '#src/api/key.js';
import type {AnyContainer} from '#src/api/pod.js';

const offset = 0x811c9dc5;
const prime = 0x01000193;

/** The container annotation with the hash of its definition. */
export const hashAnnotation = 'io.kubernetes.container.hash';

/**
 * Returns the hash of the container fields whose change requires a restart: name and image (32-bit FNV-1a,
 * hexadecimal).
 */
export const containerHash = ({name, image = ''}: Pick<Frozen<AnyContainer>, 'name' | 'image'>): string => {
  let hash = offset;
  for (const byte of Buffer.from(`${name}\0${image}`)) hash = Math.imul(hash ^ byte, prime);
  return (hash >>> 0).toString(16);
};
