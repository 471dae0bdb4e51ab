// The gate for what people send: values of JavaScript become JSON values, or are refused in words. What is JSON
// already, as nearly everything is, is only walked.

import {setProperty} from './set-property.js';

/** Deeper values are looked at for circles. */
const usualDepth = 500;

/** A value of JavaScript that JSON has no form for. The message has its path. */
export class NotJson extends TypeError {
  override readonly name = 'NotJson';
}

const isFinite = (value: number): boolean => value - value === 0;

/** Whether an object has fields alone: it is of no class, also if it comes from another context. */
export const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null;
};

/** Whether a value is JSON as it is; members that are undefined count as absent. */
export const isJson = (value: unknown, depth = 0): boolean => {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'undefined':
      return true;
    case 'number':
      return isFinite(value);
    case 'object':
      break;
    default:
      return false;
  }
  if (value === null) return true;
  if (depth > usualDepth) return false;
  if (Array.isArray(value)) {
    for (const item of value) if (!isJson(item, depth + 1)) return false;
    return true;
  }
  if (!isPlain(value)) return false;
  for (const key in value) if (!isJson((value as Record<string, unknown>)[key], depth + 1)) return false;
  return true;
};

/** Stands for a value that is not JSON as it is. */
const odd = Symbol('odd');

/** Copies a value that is JSON as it is; returns `odd` for another one. */
const copied = (value: unknown, depth: number): unknown => {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'undefined':
      return value;
    case 'number':
      return isFinite(value) ? value : odd;
    case 'object':
      break;
    default:
      return odd;
  }
  if (value === null) return value;
  if (depth > usualDepth) return odd;
  if (Array.isArray(value)) {
    const list: unknown[] = [];
    for (const each of value) {
      const item = copied(each, depth + 1);
      if (item === odd) return odd;
      list.push(item === undefined ? null : item);
    }
    return list;
  }
  if (!isPlain(value)) return odd;
  const object: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const item = copied((value as Record<string, unknown>)[key], depth + 1);
    if (item === odd) return odd;
    if (item !== undefined) setProperty(object, key, item);
  }
  return object;
};

const article = (word: string): string => (/^[AEIOU]/i.test(word) ? 'an' : 'a');

const classOf = (value: object): string => {
  const {constructor} = value as {readonly constructor?: {readonly name?: unknown}};
  return typeof constructor?.name === 'string' && constructor.name ? constructor.name : 'object';
};

const hints: Readonly<Record<string, string>> = {
  Map: ': use an object',
  Set: ': use a list',
  WeakMap: '',
  WeakSet: '',
  Promise: ': await it',
  RegExp: ': use its text',
  Error: ': use its message',
};

/** Returns what is wrong with a value; undefined if it can become JSON, as far as its fields can. */
const problemOf = (value: unknown, above: ReadonlySet<object>): string | undefined => {
  if (typeof value === 'number') return isFinite(value) ? undefined : `${value} is not valid JSON`;
  if (typeof value === 'bigint') return `the BigInt ${value} is not valid JSON: use a number`;
  if (typeof value === 'function' || typeof value === 'symbol') return `a ${typeof value} is not valid JSON`;
  if (typeof value !== 'object' || value === null) return undefined;
  if (above.has(value)) return 'a value that contains itself is not valid JSON';
  if (value instanceof Date && Number.isNaN(value.getTime())) return 'an invalid Date is not valid JSON';
  const name = classOf(value);
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `${article(name)} ${name} is not valid JSON: use a text in base64`;
  if (Array.isArray(value) || isPlain(value) || hasOwnForm(value)) return undefined;
  return `${article(name)} ${name} is not valid JSON${hints[name] ?? ': use an object, or give it a method toJSON'}`;
};

const hasOwnForm = (value: object): value is {toJSON(key: string): unknown} =>
  'toJSON' in value && typeof (value as {toJSON: unknown}).toJSON === 'function';

const stepTo = (path: string, key: string): string =>
  /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(key) ? (path ? `${path}.${key}` : key) : `${path}[${JSON.stringify(key)}]`;

/** Makes a JSON value of another one. Throws `NotJson` with the path of what has no form. */
const converted = (value: unknown, path: string, above: Set<object>): unknown => {
  const problem = problemOf(value, above);
  if (problem !== undefined) throw new NotJson(path ? `${path}: ${problem}` : problem);
  if (typeof value !== 'object' || value === null) return value;
  above.add(value);
  const result = inner(value, path, above);
  above.delete(value);
  return result;
};

const inner = (value: object, path: string, above: Set<object>): unknown => {
  if (hasOwnForm(value)) return converted(value.toJSON(''), path, above);
  if (Array.isArray(value)) {
    return Array.from(value, (item: unknown, index) => converted(item, `${path}[${index}]`, above) ?? null);
  }
  const object: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const item = converted((value as Record<string, unknown>)[key], stepTo(path, key), above);
    if (item !== undefined) setProperty(object, key, item);
  }
  return object;
};

/**
 * Returns a deep copy of a value as JSON has it: dates and others with `toJSON` are what that returns, members that are
 * undefined vanish. Throws `NotJson` for what JSON would lose or change: NaN, functions, maps, objects of classes.
 * `path` is where the value stands in what is named in the error.
 */
export const jsonCopy = <T>(value: T, path = ''): T => {
  const copy = copied(value, 0);
  return (copy === odd ? converted(value, path, new Set()) : copy) as T;
};

/** Returns a value that is JSON as it is, or a copy that is made as `jsonCopy` does. */
export const jsonOf = <T>(value: T): T => (isJson(value) ? value : (converted(value, '', new Set()) as T));
