/** A JSON object. Keys are data: never read one without `Object.hasOwn`, never write one but with `put`. */
export type PlainObject = Record<string, unknown>;

export const isPlainObject = (value: unknown): value is PlainObject => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Sets a key of an object. A key named `__proto__` becomes data like any other. */
export const put = (object: PlainObject, key: string, value: unknown): void => {
  if (key === '__proto__') Object.defineProperty(object, key, {value, writable: true, enumerable: true, configurable: true});
  else object[key] = value;
};

/** The object's own value of a key. */
export const own = (object: PlainObject, key: string): unknown => (Object.hasOwn(object, key) ? object[key] : undefined);

/** How deep a value may be nested before it is refused. */
export const maxDepth = 1000;

/** Whether objects and arrays are nested deeper than `limit`. Never recurses. */
export const isNestedDeeper = (value: unknown, limit: number): boolean => {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > limit) return true;
    const next: unknown[] = [];
    for (const item of level) {
      if (typeof item !== 'object' || item === null) continue;
      for (const child of Array.isArray(item) ? item : Object.values(item)) if (typeof child === 'object' && child !== null) next.push(child);
    }
    level = next;
  }
  return false;
};

/** An escape that may be half of a surrogate pair. */
const surrogateEscape = /\\u[dD][89a-fA-F]/;

const wellFormedCopy = (value: unknown): unknown => {
  if (typeof value === 'string') return Buffer.from(value).toString();
  if (Array.isArray(value)) return value.map(wellFormedCopy);
  if (!isPlainObject(value)) return value;
  const copy: PlainObject = {};
  for (const key of Object.keys(value)) put(copy, wellFormedCopy(key) as string, wellFormedCopy(value[key]));
  return copy;
};

/**
 * What was read from a text, with U+FFFD for halves of surrogate pairs, as in the original: they have no bytes of their own. The value itself where the
 * text escapes none. It must not be nested deeper than `deepest`.
 */
export const wellFormed = (value: unknown, text: string): unknown => (surrogateEscape.test(text) ? wellFormedCopy(value) : value);

/** A copy that shares nothing with the original. The value must not be nested deeper than `deepest`. */
export const copied = <T>(value: T): T => {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copied) as T;
  const copy: PlainObject = {};
  for (const key of Object.keys(value)) put(copy, key, copied((value as PlainObject)[key]));
  return copy as T;
};
