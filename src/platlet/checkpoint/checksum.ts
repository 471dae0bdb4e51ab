// The checksum of the state files of the resource managers: that of the original, which hashes the text that the Go
// library spew prints. Pure.

const offset = 0x811c9dc5;
const prime = 0x01000193;

/** Returns the 32-bit FNV-1a hash of a text. */
export const fnv1a = (text: string): number => {
  let hash = offset;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, prime);
  return hash >>> 0;
};

/** Returns a map as Go prints it. */
export const goMap = <T>(entries: Iterable<readonly [string, T]>, print: (value: T) => string): string =>
  `map[${[...entries]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}:${print(value)}`)
    .join(' ')}]`;

/** Returns a map with numeric keys as Go prints it. */
export const goNumberMap = <T>(entries: Iterable<readonly [number, T]>, print: (value: T) => string): string =>
  `map[${[...entries]
    .sort(([a], [b]) => a - b)
    .map(([key, value]) => `${key}:${print(value)}`)
    .join(' ')}]`;
