import {weightLeft} from '#src/base/json/json-weight.js';
import type {Steps} from '#src/base/steps.js';

/** Values up to this weight are compared in one step. */
const weightAtOnce = 500;

const isLight = (value: unknown): boolean => weightLeft(value, weightAtOnce) >= 0;

type Fields = Readonly<Record<string, unknown>>;

const field = (fields: Fields, key: string): unknown => (Object.hasOwn(fields, key) ? fields[key] : undefined);

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
    if (!(yield* sameInSteps(field(left, key), field(right, key), same))) return false;
    yield;
  }
  return true;
};
