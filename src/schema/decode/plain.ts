// JSON objects as plain JavaScript objects whose keys are data, `__proto__` included.

import {copyJson} from '#src/base/json/json-copy.js';
import {setProperty} from '#src/base/json/set-property.js';
import {keepNotes} from '#src/schema/emptied.js';

/** A JSON object. Keys are data: read them with `Object.hasOwn` or `own`, write them with `put`. */
export type PlainObject = Record<string, unknown>;

export const isPlainObject = (value: unknown): value is PlainObject => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the object's own value of a key. */
export const ownField = (object: PlainObject, key: string): unknown => (Object.hasOwn(object, key) ? object[key] : undefined);

/** The nesting limit of values. */
export const maxDepth = 1000;

/** Reports whether objects and arrays are nested deeper than `limit`. Recurses no deeper than that. */
export const isNestedDeeper = (value: unknown, limit: number): boolean => {
  if (limit < 0) return true;
  if (Array.isArray(value)) {
    for (const item of value) if (isNested(item) && isNestedDeeper(item, limit - 1)) return true;
  } else if (isNested(value)) {
    for (const key in value) {
      const child = (value as PlainObject)[key];
      if (isNested(child) && isNestedDeeper(child, limit - 1)) return true;
    }
  }
  return false;
};

const isNested = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** An escape that may be half of a surrogate pair. */
const surrogateEscape = /\\u[dD][89a-fA-F]/;

const wellFormedCopy = (value: unknown): unknown => {
  if (typeof value === 'string') return Buffer.from(value).toString();
  if (Array.isArray(value)) return value.map(wellFormedCopy);
  if (!isPlainObject(value)) return value;
  const copy: PlainObject = {};
  for (const key of Object.keys(value)) setProperty(copy, wellFormedCopy(key) as string, wellFormedCopy(value[key]));
  return copy;
};

/**
 * Replaces unpaired surrogates by U+FFFD, as the original does: they have no UTF-8 encoding. Returns the value itself
 * if the text has no such escape. The value must not be nested deeper than `maxDepth`.
 */
export const wellFormed = (value: unknown, text: string): unknown => (surrogateEscape.test(text) ? wellFormedCopy(value) : value);

/** Returns a deep copy. The value must not be nested deeper than `maxDepth`. */
export const copied = <T>(value: T): T => copyJson(value, keepNotes);
