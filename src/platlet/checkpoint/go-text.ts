// The texts of which the original takes the checksum of the resource managers' state files: as the Go library spew
// prints them. Pure.

const printed = <K, T>(entries: readonly (readonly [K, T])[], print: (value: T) => string): string =>
  `map[${entries.map(([key, value]) => `${String(key)}:${print(value)}`).join(' ')}]`;

/** Returns a map as Go prints it. */
export const goMap = <T>(entries: Iterable<readonly [string, T]>, print: (value: T) => string): string =>
  printed(
    [...entries].sort(([a], [b]) => (a < b ? -1 : 1)),
    print,
  );

/** Returns a map with numeric keys as Go prints it. */
export const goNumberMap = <T>(entries: Iterable<readonly [number, T]>, print: (value: T) => string): string =>
  printed(
    [...entries].sort(([a], [b]) => a - b),
    print,
  );
