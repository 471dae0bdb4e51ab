// Equality and order of CEL values, across the numeric types and recursively for lists and maps, as cel-go defines
// them.

import {
  Bytes,
  Duration,
  Failure,
  ListValue,
  MapValue,
  noSuchOverload,
  OpaqueValue,
  Optional,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from './values.js';
import {spend} from './work.js';

const notOrdered = new Failure('NaN values cannot be ordered');

const order = <T extends bigint | number | boolean>(left: T, right: T): number => (left < right ? -1 : left > right ? 1 : 0);

/** Compares a bigint with a double without losing precision when the double is out of range. */
const orderNumbers = (left: bigint | number, right: bigint | number): number => {
  if (typeof left === typeof right) return order(left, right);
  if (typeof left === 'bigint') return -orderNumbers(right, left);
  const double = left as number;
  const whole = right as bigint;
  if (double < -(2 ** 63) || double > 2 ** 64) return double < 0 ? -1 : 1;
  return order(double, Number(whole));
};

const numberOf = (value: Value): bigint | number | undefined => {
  if (typeof value === 'bigint' || typeof value === 'number') return value;
  return value instanceof Uint ? value.value : undefined;
};

/** Compares strings by code point. UTF-16 order differs where surrogate pairs are involved. */
const orderStrings = (left: string, right: string): number => {
  if (left === right) return 0;
  const length = Math.min(left.length, right.length);
  let at = 0;
  while (at < length && left.charCodeAt(at) === right.charCodeAt(at)) at += 1;
  if (at === length) return order(left.length, right.length);
  const [a, b] = [left.charCodeAt(at), right.charCodeAt(at)];
  const isSurrogate = (unit: number): boolean => unit >= 0xd8_00 && unit <= 0xdf_ff;
  return isSurrogate(a) === isSurrogate(b) ? order(a, b) : isSurrogate(a) ? 1 : -1;
};

/** Returns a negative number, zero or a positive number, or a failure for values that have no order. */
export const compare = (left: Value, right: Value): number | Failure => {
  if (typeof left === 'string') return typeof right === 'string' ? orderStrings(left, right) : noSuchOverload;
  const number = numberOf(left);
  if (number !== undefined) {
    const other = numberOf(right);
    if (other === undefined) return noSuchOverload;
    return Number.isNaN(number) || Number.isNaN(other) ? notOrdered : orderNumbers(number, other);
  }
  if (typeof left === 'boolean') return typeof right === 'boolean' ? order(left, right) : noSuchOverload;
  if (left instanceof Timestamp && right instanceof Timestamp) return order(left.nanos, right.nanos);
  if (left instanceof Duration && right instanceof Duration) return order(left.nanos, right.nanos);
  if (left instanceof Bytes && right instanceof Bytes) return Buffer.compare(left.data, right.data);
  return noSuchOverload;
};

/**
 * Returns whether two values are equal, or a failure when one of them is a failure. Values of different types are
 * unequal, except numbers.
 */
export const equal = (left: Value, right: Value): Value => {
  if (left === null || right === null) return left === right;
  if (typeof left === 'string' || typeof left === 'boolean') return left === right;
  const number = numberOf(left);
  if (number !== undefined) {
    const other = numberOf(right);
    return other !== undefined && !Number.isNaN(number) && !Number.isNaN(other) && orderNumbers(number, other) === 0;
  }
  if (left instanceof ListValue || left instanceof MapValue || left instanceof OpaqueValue) return left.equals(right);
  if (left instanceof Timestamp) return right instanceof Timestamp && left.nanos === right.nanos;
  if (left instanceof Duration) return right instanceof Duration && left.nanos === right.nanos;
  if (left instanceof Bytes) return right instanceof Bytes && Buffer.compare(left.data, right.data) === 0;
  if (left instanceof TypeValue) return right instanceof TypeValue && left.type.name === right.type.name;
  if (left instanceof Optional) {
    if (!(right instanceof Optional)) return false;
    if (left.value === undefined || right.value === undefined) return left.value === right.value;
    return equal(left.value, right.value);
  }
  return left;
};

/** Returns whether two lists have equal elements in the same order. */
export const equalLists = (left: ListValue, right: ListValue): Value => {
  if (left.size !== right.size) return false;
  spend(1);
  for (let index = 0; index < left.size; index += 1) {
    spend(1);
    const same = equal(left.at(index), right.at(index));
    if (same !== true) return same;
  }
  return true;
};

/** Returns whether two maps have equal values under the same keys. */
export const equalMaps = (left: MapValue, right: MapValue): Value => {
  if (left.size !== right.size) return false;
  for (const key of left.keys()) {
    spend(1);
    const [mine, other] = [left.find(key), right.find(key)];
    if (mine === undefined || other === undefined) return false;
    const same = equal(mine, other);
    if (same !== true) return same;
  }
  return true;
};

/** Returns whether a list contains a value, or the first failure met if it was not found. */
export const contains = (list: ListValue, value: Value): Value => {
  let failure: Failure | undefined;
  for (let index = 0; index < list.size; index += 1) {
    spend(1);
    const same = equal(value, list.at(index));
    if (same === true) return true;
    if (same instanceof Failure) failure ??= same;
  }
  return failure ?? false;
};
