import {sameJson} from '#src/api/equal.js';
import {isPlain, jsonCopy} from '#src/base/json/json-value.js';
import {setProperty} from '#src/base/json/set-property.js';
import {isPlainObject, ownField, type PlainObject} from '#src/schema/decode/plain.js';

/** Returns a deep copy without the fields of objects that are null, also within lists. */
const withoutNulls = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isPlainObject(value)) return value;
  const copy: PlainObject = {};
  for (const key of Object.keys(value)) if (value[key] !== null) setProperty(copy, key, withoutNulls(value[key]));
  return copy;
};

const merged = (current: unknown, patch: unknown): unknown => {
  // Where there was no object, the nulls of the patch have nothing to delete.
  if (!isPlainObject(current) || !isPlainObject(patch)) return withoutNulls(patch);
  const result: PlainObject = {};
  for (const key of Object.keys(current)) if (!Object.hasOwn(patch, key)) setProperty(result, key, current[key]);
  for (const key of Object.keys(patch)) {
    const value = patch[key];
    if (value !== null) setProperty(result, key, merged(Object.hasOwn(current, key) ? current[key] : undefined, value));
  }
  return result;
};

/**
 * Applies a merge patch (RFC 7386): null deletes, objects merge, everything else replaces. The input is not changed;
 * the result shares parts with it.
 */
export const applyMergePatch = (document: PlainObject, patch: PlainObject): PlainObject => merged(document, patch) as PlainObject;

/**
 * Returns a merge patch that turns `from` into `to`, without members if they are equal regardless of key order. An
 * undefined member is an absent one, and a date is its text. Nulls in `to` cannot be expressed: a patch that has them
 * deletes what they name. Throws `NotJson` for values in `to` that JSON does not have.
 */
export const createMergePatch = (from: PlainObject, to: PlainObject, path = ''): PlainObject => {
  const patch: PlainObject = {};
  for (const key of Object.keys(from)) if (from[key] !== undefined && ownField(to, key) === undefined) setProperty(patch, key, null);
  for (const key of Object.keys(to)) {
    const old = ownField(from, key);
    if (to[key] === undefined || to[key] === old) continue;
    const place = path ? `${path}.${key}` : key;
    const value = isPlainObject(old) && isPlainObject(to[key]) && isPlain(to[key]) ? to[key] : jsonCopy(to[key], place);
    if (isPlainObject(old) && isPlainObject(value)) {
      const inner = createMergePatch(old, value, place);
      if (Object.keys(inner).length > 0) setProperty(patch, key, inner);
    } else if (!sameJson(old, value)) {
      setProperty(patch, key, value);
    }
  }
  return patch;
};
