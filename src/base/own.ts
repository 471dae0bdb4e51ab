/** The value under a key that came from outside: only what was put there counts, never what every object inherits. */
export const own = <T>(table: Readonly<Record<string, T>> | undefined, key: string): T | undefined => (table !== undefined && Object.hasOwn(table, key) ? table[key] : undefined);
