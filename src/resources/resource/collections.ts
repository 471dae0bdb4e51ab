import {duplicate, tooMany, type FieldError} from '#src/api/field-error.js';

type Judge<T> = (item: T, path: string) => Iterable<FieldError>;

/** A list that is only looked at while it is not too long. */
export function* list<T>(path: string, items: readonly T[] | undefined, most: number, judge: Judge<T>): Iterable<FieldError> {
  if (!items) return; // Null is absent too.
  if (items.length > most) return yield tooMany(path, items.length, most);
  for (const [i, item] of items.entries()) yield* judge(item, `${path}[${i}]`);
}

/** A list in which no key comes twice. */
export function* set<T>(path: string, items: readonly T[] | undefined, most: number, judge: Judge<T>, keyOf: (item: T) => string): Iterable<FieldError> {
  yield* list(path, items, most, judge);
  if (!items || items.length > most) return;
  const seen = new Set<string>();
  for (const [i, item] of items.entries()) {
    const key = keyOf(item);
    if (seen.has(key)) yield duplicate(`${path}[${i}]`, key);
    seen.add(key);
  }
}

/** A text for paths: what is longer than allowed loses its middle. */
const shortened = (text: string, most: number): string => {
  if (text.length <= most) return text;
  const rest = most - '...'.length;
  return `${text.slice(0, Math.ceil(rest / 2))}...${text.slice(text.length - Math.floor(rest / 2))}`;
};

export interface MapRules<T> {
  readonly most: number;
  readonly longestKey: number;
  readonly key: (path: string, key: string) => Iterable<FieldError>;
  readonly judge?: Judge<T>;
}

export function* map<T>(path: string, items: Readonly<Record<string, T>> | undefined, {most, longestKey, key, judge}: MapRules<T>): Iterable<FieldError> {
  const entries = Object.entries(items ?? {});
  if (entries.length > most) return yield tooMany(path, entries.length, most);
  for (const [name, item] of entries) {
    const at = `${path}[${shortened(name, longestKey)}]`;
    yield* key(at, name);
    if (judge) yield* judge(item, at);
  }
}

export const itself = (text: string): string => text;
