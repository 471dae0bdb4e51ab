import {
  anyType, bool, bytes, double, duration, int, listType, mapType, nullType, opaqueType, string, timestamp, uint, dyn, type Type,
} from './types.js';

/** An unsigned integer of 64 bits. */
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

/** A point in time, in nanoseconds since 1970 in UTC. It is written in the zone it was written in, so many minutes east of Greenwich. */
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

/** A value that may be there. */
export class Optional {
  readonly value: Value | undefined;

  constructor(value?: Value) {
    this.value = value;
  }
}

/** A type as a value: what `type(x)` gives. */
export class TypeValue {
  readonly type: Type;

  constructor(type: Type) {
    this.type = type;
  }
}

/** What went wrong instead of a value. `&&`, `||` and the quantifiers may do without the value; all else passes it on. */
export class Failure {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

/** A list, however it is held. */
export abstract class ListValue {
  abstract readonly size: number;
  /** The element at an index that lies within. */
  abstract at(index: number): Value;
  /** This list with the elements of the other behind. */
  abstract concat(other: ListValue): Value;
  abstract equals(other: Value): Value;

  *[Symbol.iterator](): Generator<Value> {
    for (let index = 0; index < this.size; index += 1) yield this.at(index);
  }
}

/** A map or an object, however it is held. */
export abstract class MapValue {
  abstract readonly size: number;
  /** What stands under a key, or undefined where nothing does. */
  abstract find(key: Value): Value | undefined;
  abstract keys(): Iterable<Value>;
  abstract equals(other: Value): Value;

  *[Symbol.iterator](): Generator<Value> {
    yield* this.keys();
  }
}

/** A value of a library's own type. */
export abstract class OpaqueValue {
  abstract readonly type: Type;
  /** How large it is where costs are counted. */
  readonly size: number = 1;
  abstract equals(other: Value): Value;
}

/** Anything an expression can come to: an int is a bigint, a double a number. */
export type Value =
  | null | boolean | string | bigint | number | Uint | Bytes | Timestamp | Duration | Optional | TypeValue | ListValue | MapValue | OpaqueValue | Failure;

const optionalType = opaqueType('optional_type', dyn);

/** The type of a value at run time. What a list or a map holds is not told. */
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

/** The failure where no function takes such values. */
export const noSuchOverload = new Failure('no such overload');

const firstSurrogate = /[\ud800-\udbff]/;

/** How many characters a string has. */
export const characters = (text: string): number => {
  if (!firstSurrogate.test(text)) return text.length;
  let count = 0;
  for (const _ of text) count += 1;
  return count;
};

/** How large a value is where costs are counted: characters, bytes, elements, entries; one for all else. */
export const sizeOf = (value: Value): number => {
  if (typeof value === 'string') return characters(value);
  if (value instanceof ListValue || value instanceof MapValue || value instanceof OpaqueValue) return value.size;
  if (value instanceof Bytes) return value.data.length;
  if (value instanceof Optional && value.value !== undefined) return sizeOf(value.value);
  return 1;
};

/** What values are equal by where they are keys: numbers of all types are one. Undefined for what can be no key. */
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
