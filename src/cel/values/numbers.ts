// Numbers of CEL: 64-bit overflow checks, conversions between int, uint and double, and the text form of doubles.

import {Failure, Uint, type Value} from './values.js';

const int64 = {least: -(2n ** 63n), most: 2n ** 63n - 1n};
const uint64 = {least: 0n, most: 2n ** 64n - 1n};

export const intOverflow = new Failure('integer overflow');
const uintOverflow = new Failure('unsigned integer overflow');
export const divisionByZero = new Failure('division by zero');
export const modulusByZero = new Failure('modulus by zero');

/** Returns the int, or a failure on overflow of 64 bits. */
export const checkedInt = (value: bigint): Value => (value < int64.least || value > int64.most ? intOverflow : value);

/** Returns the uint, or a failure on overflow of 64 bits. */
export const checkedUint = (value: bigint): Value => (value < uint64.least || value > uint64.most ? uintOverflow : new Uint(value));

/** Truncates a double to an int. */
export const intOfDouble = (value: number): Value =>
  Number.isNaN(value) || value <= -(2 ** 63) || value >= 2 ** 63 ? intOverflow : BigInt(Math.trunc(value));

export const uintOfDouble = (value: number): Value =>
  Number.isNaN(value) || value < 0 || value >= 2 ** 64 ? uintOverflow : new Uint(BigInt(Math.trunc(value)));

const decimal = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const infinite = /^([+-]?)(?:inf|infinity)$/i;

/** Parses a double; undefined for other texts. */
export const parseDouble = (text: string): number | undefined => {
  if (decimal.test(text)) {
    const value = Number(text);
    return Number.isFinite(value) ? value : undefined;
  }
  if (/^nan$/i.test(text)) return Number.NaN;
  const [, sign] = infinite.exec(text) ?? [];
  if (sign === undefined) return undefined;
  return sign === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
};
