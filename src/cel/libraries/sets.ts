import {contains} from '#src/cel/values/compare.js';
import {declare, overload, type CostOf, type FunctionDeclaration, type Library} from '#src/cel/check/declarations.js';
import {bool, listOf, param} from '#src/cel/values/types.js';
import {sizeOf, type ListValue, type Value} from '#src/cel/values/values.js';

const list = listOf(param('T'));

const containsAll = (holder: ListValue, wanted: ListValue): Value => {
  for (const value of wanted) {
    const held = contains(holder, value);
    if (held !== true) return held;
  }
  return true;
};

const intersects = (left: ListValue, right: ListValue): Value => {
  for (const value of left) if (contains(right, value) === true) return true;
  return false;
};

const equivalent = (left: ListValue, right: ListValue): Value => {
  const held = containsAll(left, right);
  return held === true ? containsAll(right, left) : held;
};

/** The cost of comparing every element with every other, `times` times. */
const pairwise =
  (times: number): CostOf =>
  ([left, right]) =>
    1 + sizeOf(left!) * sizeOf(right!) * times;

const setFunction = (name: string, times: number, run: (left: ListValue, right: ListValue) => Value): FunctionDeclaration =>
  declare(`sets.${name}`, overload(`list_sets_${name}_list`, [list, list], bool, run, pairwise(times)));

/** The set library. */
export const sets: Library = {
  name: 'sets',
  functions: [setFunction('contains', 1, containsAll), setFunction('equivalent', 2, equivalent), setFunction('intersects', 1, intersects)],
};
