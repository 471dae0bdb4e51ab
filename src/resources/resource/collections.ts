import {duplicate, tooMany, type FieldError} from '#src/api/field-error.js';

// Validation of lists, sets and maps with a size limit. The items of a collection that is too long are not validated.

/** Yields errors; some also undefined, where they may pause. */
type ItemValidator<T, E extends FieldError | undefined = FieldError> = (item: T, path: string) => Iterable<E>;

/** Validates the items of a list, unless it is too long. */
export function* list<T, E extends FieldError | undefined>(
  path: string,
  items: readonly T[] | undefined,
  max: number,
  validate: ItemValidator<T, E>,
): Iterable<E | FieldError> {
  if (!items) return; // Null counts as absent.
  if (items.length > max) return yield tooMany(path, items.length, max);
  for (const [i, item] of items.entries()) yield* validate(item, `${path}[${i}]`);
}

/** Validates a list whose items have unique keys. */
export function* set<T, E extends FieldError | undefined>(
  path: string,
  items: readonly T[] | undefined,
  max: number,
  validate: ItemValidator<T, E>,
  keyOf: (item: T) => string,
): Iterable<E | FieldError> {
  yield* list(path, items, max, validate);
  if (!items || items.length > max) return;
  const seen = new Set<string>();
  for (const [i, item] of items.entries()) {
    const key = keyOf(item);
    if (seen.has(key)) yield duplicate(`${path}[${i}]`, key);
    seen.add(key);
  }
}

/** Shortens a text for paths by removing its middle. */
const shortened = (text: string, max: number): string => {
  if (text.length <= max) return text;
  const rest = max - '...'.length;
  return `${text.slice(0, Math.ceil(rest / 2))}...${text.slice(text.length - Math.floor(rest / 2))}`;
};

export interface MapRules<T> {
  readonly max: number;
  readonly longestKey: number;
  readonly key: (path: string, key: string) => Iterable<FieldError>;
  readonly validate?: ItemValidator<T>;
}

export function* map<T>(
  path: string,
  items: Readonly<Record<string, T>> | undefined,
  {max, longestKey, key, validate}: MapRules<T>,
): Iterable<FieldError> {
  const entries = Object.entries(items ?? {});
  if (entries.length > max) return yield tooMany(path, entries.length, max);
  for (const [name, item] of entries) {
    const at = `${path}[${shortened(name, longestKey)}]`;
    yield* key(at, name);
    if (validate) yield* validate(item, at);
  }
}

export const identity = (text: string): string => text;
