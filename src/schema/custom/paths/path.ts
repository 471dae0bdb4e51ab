import {formatDouble} from '#src/base/text/double.js';
import {setProperty} from '#src/base/json/set-property.js';
import {type PlainObject} from '#src/schema/decode/plain.js';
import {canonicalJson} from '#src/base/json/canonical-json.js';
import {isWhole} from '#src/schema/custom/numbers.js';

// Dotted paths into custom objects, for the scale subresource.

const unsafe = /[<>&\u2028\u2029]/g;

/** Formats a value without quotes; lists and objects as JSON escaped for HTML. */
export const textOf = (value: unknown): string => {
  if (value === null || value === undefined) return '<no value>';
  if (typeof value === 'object')
    return canonicalJson(value).replace(unsafe, letter => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return typeof value === 'number' ? (isWhole(value) ? String(value) : formatDouble(value)) : String(value as string | boolean);
};

/** Returns the names of a dotted path, with or without a leading dot. */
export const pathNames = (path: string): string[] => path.replace(/^\./, '').split('.');

const typeName = (value: unknown): string => {
  if (value === null) return '<nil>';
  if (Array.isArray(value)) return '[]interface {}';
  if (typeof value === 'object') return 'map[string]interface {}';
  if (typeof value === 'bigint') return 'int64';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64';
  return typeof value === 'boolean' ? 'bool' : 'string';
};

/** Formats a value for the errors of accessors. */
const formatUnquoted = (value: unknown): string => {
  if (value === null) return '<nil>';
  if (Array.isArray(value)) return `[${value.map(formatUnquoted).join(' ')}]`;
  if (typeof value === 'object') {
    const object = value as PlainObject;
    return `map[${Object.keys(object)
      .sort()
      .map(key => `${key}:${formatUnquoted(object[key])}`)
      .join(' ')}]`;
  }
  return textOf(value);
};

export type Reading<T> = {readonly value: T | undefined} | {readonly problem: string};

const misfit = (names: readonly string[], value: unknown, wanted: string): {readonly problem: string} => ({
  problem: `.${names.join('.')} accessor error: ${formatUnquoted(value)} is of the type ${typeName(value)}, expected ${wanted}`,
});

const valueAt = (object: Readonly<PlainObject>, names: readonly string[]): Reading<unknown> => {
  let value: unknown = object;
  for (const [i, name] of names.entries()) {
    if (value === null) return {value: undefined};
    if (typeof value !== 'object' || Array.isArray(value)) return misfit(names.slice(0, i + 1), value, 'map[string]interface{}');
    if (!Object.hasOwn(value as PlainObject, name)) return {value: undefined};
    value = (value as PlainObject)[name];
  }
  return {value};
};

/** Returns the integer at a dotted path, or the problem in the original's text. */
export const integerAt = (object: Readonly<PlainObject>, path: string): Reading<number> => {
  const names = pathNames(path);
  const found = valueAt(object, names);
  if ('problem' in found || found.value === undefined) return found as Reading<number>;
  return Number.isInteger(found.value) ? {value: found.value as number} : misfit(names, found.value, 'int64');
};

/** Returns the text at a dotted path, or the problem. */
export const textAt = (object: Readonly<PlainObject>, path: string): Reading<string> => {
  const names = pathNames(path);
  const found = valueAt(object, names);
  if ('problem' in found || found.value === undefined) return found as Reading<string>;
  return typeof found.value === 'string' ? {value: found.value} : misfit(names, found.value, 'string');
};

/** Sets the value at a dotted path in place, creating missing parents. Returns the problem if a parent is not an object. */
export const setAt = (object: PlainObject, path: string, value: unknown): string | undefined => {
  const names = pathNames(path);
  let place = object;
  for (const [i, name] of names.slice(0, -1).entries()) {
    if (!Object.hasOwn(place, name)) setProperty(place, name, {});
    const next = place[name];
    if (typeof next !== 'object' || next === null || Array.isArray(next))
      return `value cannot be set because .${names.slice(0, i + 1).join('.')} is not a map[string]interface{}`;
    place = next as PlainObject;
  }
  setProperty(place, names.at(-1)!, value);
  return undefined;
};
