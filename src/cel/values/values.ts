// The values of the expression language at run time. Scalars are JavaScript's own where possible; lists, maps and
// opaque values are classes, so that they can be backed by JSON without copying. Failures are values and propagate
// through calls.

import type {Steps} from '#src/base/steps.js';
import {
  anyType,
  bool,
  bytes,
  double,
  duration,
  int,
  listType,
  mapType,
  nullType,
  opaqueType,
  string,
  timestamp,
  uint,
  dyn,
  type Type,
} from './types.js';

/** A 64-bit unsigned integer. */
export class Uint {
  readonly value: bigint;

  constructor(value: bigint) {
    this.value = value;
  }
}

export class Bytes {
  readonly data: Uint8Array;

  constructor(data: Uint8Array) {
    this.data = data;
  }
}

/** A timestamp in nanoseconds since 1970 UTC, with the zone offset in which it was written. */
export class Timestamp {
  readonly nanos: bigint;
  readonly eastMinutes: number;

  constructor(nanos: bigint, eastMinutes = 0) {
    this.nanos = nanos;
    this.eastMinutes = eastMinutes;
  }
}

export class Duration {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

/** An optional value; absent if `value` is undefined. */
export class Optional {
  readonly value: Value | undefined;

  constructor(value?: Value) {
    this.value = value;
  }
}

/** A type as a value, the result of `type(x)`. */
export class TypeValue {
  readonly type: Type;

  constructor(type: Type) {
    this.type = type;
  }
}

/** An error value. `&&`, `||` and the quantifiers may absorb it; all other calls propagate it. */
export class Failure {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

/** A list value. */
export abstract class ListValue {
  abstract readonly size: number;
  /** Returns the element at a valid index. */
  abstract at(index: number): Value;
  /** Returns this list with the other's elements appended. */
  abstract concat(other: ListValue): Value;
  abstract equals(other: Value): Value;

  *[Symbol.iterator](): Generator<Value> {
    for (let index = 0; index < this.size; index += 1) yield this.at(index);
  }
}

/** A map or an object value. */
export abstract class MapValue {
  abstract readonly size: number;
  /** Returns the value under a key, or undefined. */
  abstract find(key: Value): Value | undefined;
  abstract keys(): Iterable<Value>;
  abstract equals(other: Value): Value;
  /** Computes, in steps, the value under a key that `find` would compute; undefined where nothing is to be computed. */
  compute?(key: Value): Steps<void> | undefined;

  /** The result of `key in map`. */
  holds(key: Value): Value {
    const found = this.find(key);
    return found instanceof Failure ? found : found !== undefined;
  }

  *[Symbol.iterator](): Generator<Value> {
    yield* this.keys();
  }
}

/** A value of a type that a library declares. */
export abstract class OpaqueValue {
  abstract readonly type: Type;
  /** The size used for cost accounting. */
  readonly size: number = 1;
  abstract equals(other: Value): Value;
}

/** Any result of an expression: an int is a bigint, a double a number. */
export type Value =
  | null
  | boolean
  | string
  | bigint
  | number
  | Uint
  | Bytes
  | Timestamp
  | Duration
  | Optional
  | TypeValue
  | ListValue
  | MapValue
  | OpaqueValue
  | Failure;

const optionalType = opaqueType('optional_type', dyn);

/** Returns the run-time type of a value, without element types. */
export const typeOfValue = (value: Value): Type => {
  switch (typeof value) {
    case 'string':
      return string;
    case 'bigint':
      return int;
    case 'boolean':
      return bool;
    case 'number':
      return double;
    default:
  }
  if (value === null) return nullType;
  if (value instanceof MapValue) return mapType;
  if (value instanceof ListValue) return listType;
  if (value instanceof Uint) return uint;
  if (value instanceof Bytes) return bytes;
  if (value instanceof Timestamp) return timestamp;
  if (value instanceof Duration) return duration;
  if (value instanceof Optional) return optionalType;
  if (value instanceof OpaqueValue) return value.type;
  return anyType;
};

/** The failure of a call that no overload accepts. */
export const noSuchOverload = new Failure('no such overload');

const firstSurrogate = /[\ud800-\udbff]/;

/** Returns the number of characters (code points) of a string. */
export const characters = (text: string): number => {
  if (!firstSurrogate.test(text)) return text.length;
  let count = 0;
  for (const _ of text) count += 1;
  return count;
};

/** Returns the size of a value for cost accounting: characters, bytes, elements or entries; one for other values. */
export const sizeOf = (value: Value): number => {
  if (typeof value === 'string') return characters(value);
  if (value instanceof ListValue || value instanceof MapValue || value instanceof OpaqueValue) return value.size;
  if (value instanceof Bytes) return value.data.length;
  if (value instanceof Optional && value.value !== undefined) return sizeOf(value.value);
  return 1;
};

/** Returns the identity of a map key. Numbers of all types are equal. Undefined for values that cannot be keys. */
export const keyOf = (value: Value): string | boolean | bigint | number | undefined => {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'bigint':
      return value;
    case 'number':
      return Number.isInteger(value) ? BigInt(value) : value;
    default:
      return value instanceof Uint ? value.value : undefined;
  }
};
