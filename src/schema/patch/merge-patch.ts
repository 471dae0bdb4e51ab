import {jsonText} from '#src/base/json/json.js';
import {copied, isPlainObject, put, type PlainObject} from '#src/schema/decode/plain.js';

/** Returns the value a patch sets where none exists: nulls are removed, also within lists. */
const withoutNulls = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isPlainObject(value)) return value;
  const kept: PlainObject = {};
  for (const key of Object.keys(value)) if (value[key] !== null) put(kept, key, withoutNulls(value[key]));
  return kept;
};

const merged = (current: unknown, patch: unknown): unknown => {
  if (!isPlainObject(current) || !isPlainObject(patch)) return withoutNulls(patch);
  const result: PlainObject = {};
  for (const key of Object.keys(current)) if (!Object.hasOwn(patch, key)) put(result, key, copied(current[key]));
  for (const key of Object.keys(patch)) {
    const value = patch[key];
    if (value !== null) put(result, key, merged(Object.hasOwn(current, key) ? current[key] : undefined, value));
  }
  return result;
};

/** Applies a merge patch (RFC 7386): null deletes, objects merge, everything else replaces. The input is not changed. */
export const applyMergePatch = (document: PlainObject, patch: PlainObject): PlainObject => merged(document, patch) as PlainObject;

/** Returns a merge patch that turns `from` into `to`. Nulls in `to` cannot be expressed and are omitted. */
export const createMergePatch = (from: PlainObject, to: PlainObject): PlainObject => {
  const patch: PlainObject = {};
  for (const key of Object.keys(from)) if (!Object.hasOwn(to, key)) put(patch, key, null);
  for (const key of Object.keys(to)) {
    const [old, value] = [Object.hasOwn(from, key) ? from[key] : undefined, to[key]];
    if (isPlainObject(old) && isPlainObject(value)) {
      const inner = createMergePatch(old, value);
      if (Object.keys(inner).length > 0) put(patch, key, inner);
    } else if (jsonText(old) !== jsonText(value)) {
      put(patch, key, copied(value));
    }
  }
  return patch;
};
