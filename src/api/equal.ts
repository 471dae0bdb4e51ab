import {weightLeft} from '#src/base/json/json-weight.js';
import {ownValue} from '#src/base/own.js';
import type {Steps} from '#src/base/steps.js';

/** Returns whether two JSON values are equal, regardless of key order; an absent key equals an undefined one. */
export const sameJson = (a: unknown, b: unknown): boolean => {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    for (let index = 0; index < a.length; index++) if (!sameJson(a[index], b[index])) return false;
    return true;
  }
  const left = a as Record<string, unknown>;
  const right = b as Record<string, unknown>;
  for (const key in left) if (!sameJson(left[key], ownValue(right, key))) return false;
  for (const key in right) if (right[key] !== undefined && !Object.hasOwn(left, key)) return false;
  return true;
};

/** Returns whether two JSON objects have equal fields apart from the ignored ones, as `sameJson` compares them. */
export const sameFieldsBut = (a: object, b: object, ignored: ReadonlySet<string>): boolean => {
  const left = a as Record<string, unknown>;
  const right = b as Record<string, unknown>;
  for (const key in left) if (!ignored.has(key) && !sameJson(left[key], ownValue(right, key))) return false;
  for (const key in right) if (!ignored.has(key) && right[key] !== undefined && !Object.hasOwn(left, key)) return false;
  return true;
};

type Fields = Readonly<Record<string, unknown>>;

const isNothing = (value: unknown): boolean => value === undefined || value === null || (Array.isArray(value) && value.length === 0);

const isEmpty = (value: unknown): boolean => isNothing(value) || (typeof value === 'object' && Object.keys(value as object).length === 0);

const equal = (a: unknown, b: unknown, isNone: (value: unknown) => boolean): boolean => {
  if (a === b) return true;
  if (typeof a !== 'object' && typeof b !== 'object') return false;
  if (isNone(a) || isNone(b)) return isNone(a) && isNone(b);
  if (Array.isArray(a) || Array.isArray(b)) {
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, i) => equal(item, b[i], isNone));
  }
  if (typeof a !== 'object' || typeof b !== 'object') return false;
  const [left, right] = [a as Fields, b as Fields];
  for (const key in left) if (!equal(left[key], ownValue(right, key), isNone)) return false;
  for (const key in right) if (!Object.hasOwn(left, key) && !equal(undefined, right[key], isNone)) return false;
  return true;
};

/** Whether two values mean the same: nothing, null, the empty list and the empty map are one. */
export const sameContent = (a: unknown, b: unknown): boolean => equal(a, b, isEmpty);

/**
 * Whether two decoded values are equal as the original compares objects: nothing, null and the empty list are one,
 * while an empty struct is something.
 */
export const semanticallyEqual = (a: unknown, b: unknown): boolean => equal(a, b, isNothing);

/** Values up to this weight are compared in one step. */
const weightAtOnce = 500;

const isLight = (value: unknown): boolean => weightLeft(value, weightAtOnce) >= 0;

/** Whether two values are the same, as `same` says of their parts (`sameJson`, `sameContent`), in steps. */
export const sameInSteps = function* (a: unknown, b: unknown, same: (a: unknown, b: unknown) => boolean): Steps<boolean> {
  if (a === b) return true;
  if (isLight(a) || isLight(b)) return same(a, b);
  yield;
  if (Array.isArray(a) && Array.isArray(b)) {
    if (a.length !== b.length) return false;
    for (const [index, item] of a.entries()) {
      if (!(yield* sameInSteps(item, b[index], same))) return false;
      yield;
    }
    return true;
  }
  if (typeof a !== 'object' || typeof b !== 'object' || Array.isArray(a) || Array.isArray(b)) return false;
  const [left, right] = [a as Fields, b as Fields];
  for (const key of new Set([...Object.keys(left), ...Object.keys(right)])) {
    if (!(yield* sameInSteps(ownValue(left, key), ownValue(right, key), same))) return false;
    yield;
  }
  return true;
};
