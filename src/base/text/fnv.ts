const offset = 0x811c9dc5;
const prime = 0x01000193;

/** Returns the 32-bit FNV-1a hash of a text. */
export const fnv1a = (text: string): number => {
  let hash = offset;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, prime);
  return hash >>> 0;
};
