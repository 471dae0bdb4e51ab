/** Returns the own property under an untrusted key, never an inherited one. */
export const ownValue = <T>(table: Readonly<Record<string, T>> | undefined, key: string): T | undefined =>
  table !== undefined && Object.hasOwn(table, key) ? table[key] : undefined;
