/** An error in a configuration, with the path of the field. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
}

/** Throws a `ConfigurationError` for a field. */
export const invalid = (path: string, what: string): never => {
  throw new ConfigurationError(`${path}: ${what}`);
};

type Fields = Readonly<Record<string, unknown>>;

/** Reads an object with no fields but the known ones; absent is empty. */
export const objectOf = (value: unknown, path: string, known: readonly string[]): Fields => {
  if (value === undefined || value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) return invalid(path, 'must be an object');
  const unknownField = Object.keys(value).find(key => !known.includes(key));
  if (unknownField !== undefined) invalid(path ? `${path}.${unknownField}` : unknownField, 'is not a field that can be set here');
  return value as Fields;
};

/** Reads a list; absent is empty. */
export const listOf = <T>(value: unknown, path: string, read: (item: unknown, path: string) => T): T[] => {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value.map((item, at) => read(item, `${path}[${at}]`)) : invalid(path, 'must be a list');
};

export const textOf = (value: unknown, path: string): string =>
  typeof value === 'string' && value !== '' ? value : invalid(path, 'must be a text that is not empty');

/** Reads an integer within the range, both ends included; absent is `fallback`. */
export const numberOf = (
  value: unknown,
  path: string,
  {min, max, fallback}: {readonly min: number; readonly max: number; readonly fallback: number},
): number => {
  if (value === undefined || value === null) return fallback;
  const isIn = typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max;
  return isIn ? value : invalid(path, `must be a whole number from ${min} to ${max}`);
};

export const boolOf = (value: unknown, path: string): boolean => {
  if (value === undefined || value === null) return false;
  return typeof value === 'boolean' ? value : invalid(path, 'must be true or false');
};

export const oneOf = <const T extends string>(value: unknown, path: string, all: readonly T[]): T =>
  all.includes(value as T) ? (value as T) : invalid(path, `must be one of ${all.join(', ')}`);
