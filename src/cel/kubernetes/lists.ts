import {compare, equal} from '#src/cel/values/compare.js';
import {declare, member, type FunctionDeclaration, type Library} from '#src/cel/check/declarations.js';
import {checkedInt, checkedUint} from '#src/cel/values/numbers.js';
import {durationOf} from '#src/cel/values/time.js';
import {bool, bytes, double, duration, int, listOf, param, string, timestamp, uint, type Type} from '#src/cel/values/types.js';
import {Duration, Failure, ListValue, noSuchOverload, Uint, type Value} from '#src/cel/values/values.js';

const comparable: readonly (readonly [string, Type])[] = [
  ['int', int],
  ['uint', uint],
  ['double', double],
  ['bool', bool],
  ['duration', duration],
  ['timestamp', timestamp],
  ['string', string],
  ['bytes', bytes],
];
const a = param('A');
const list = listOf(a);

const isSorted = (values: ListValue): Value => {
  let before: Value | undefined;
  for (const value of values) {
    if (value instanceof Failure) return value;
    if (before !== undefined) {
      const order = compare(before, value);
      if (typeof order === 'number' && order > 0) return false;
    }
    before = value;
  }
  return true;
};

const plus = (left: Value, right: Value): Value => {
  if (typeof left === 'bigint' && typeof right === 'bigint') return checkedInt(left + right);
  if (typeof left === 'number' && typeof right === 'number') return left + right;
  if (left instanceof Uint && right instanceof Uint) return checkedUint(left.value + right.value);
  if (left instanceof Duration && right instanceof Duration) return durationOf(left.nanos + right.nanos);
  return right instanceof Failure ? right : noSuchOverload;
};

const summable: readonly (readonly [string, Type, Value])[] = [
  ['int', int, 0n],
  ['uint', uint, new Uint(0n)],
  ['double', double, 0],
  ['duration', duration, new Duration(0n)],
];

const total =
  (zero: Value) =>
  (values: ListValue): Value => {
    let sum = zero;
    for (const value of values) {
      sum = plus(sum, value);
      if (sum instanceof Failure) return sum;
    }
    return sum;
  };

/** `min` and `max`: returns the first of equal elements. */
const minOrMax = (name: string, replaces: (order: number) => boolean): FunctionDeclaration => {
  const find = (values: ListValue): Value => {
    let best: Value | undefined;
    for (const value of values) {
      if (value instanceof Failure) return value;
      const order = best === undefined ? 0 : compare(best, value);
      if (best === undefined || (typeof order === 'number' && replaces(order))) best = value;
    }
    return best ?? new Failure(`${name} called on empty list`);
  };
  return declare(name, ...comparable.map(([word, type]) => member(`list_${word}_${name}_${word}`, [listOf(type)], type, find)));
};

const indexOf = (values: ListValue, sought: Value): Value => {
  for (let index = 0; index < values.size; index += 1) if (equal(values.at(index), sought) === true) return BigInt(index);
  return -1n;
};

const lastIndexOf = (values: ListValue, sought: Value): Value => {
  for (let index = values.size - 1; index >= 0; index -= 1) if (equal(values.at(index), sought) === true) return BigInt(index);
  return -1n;
};

/** The list library of Kubernetes. */
export const lists: Library = {
  name: 'kubernetes.lists',
  functions: [
    declare('isSorted', ...comparable.map(([word, type]) => member(`list_${word}_is_sorted_bool`, [listOf(type)], bool, isSorted))),
    declare('sum', ...summable.map(([word, type, zero]) => member(`list_${word}_sum_${word}`, [listOf(type)], type, total(zero)))),
    minOrMax('max', order => order < 0),
    minOrMax('min', order => order > 0),
    declare('indexOf', member('list_a_index_of_int', [list, a], int, indexOf)),
    declare('lastIndexOf', member('list_a_last_index_of_int', [list, a], int, lastIndexOf)),
  ],
};
