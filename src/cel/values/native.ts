// Lists and maps of CEL: those that an expression creates, and views of plain JSON whose elements are converted on
// access.

import {equalLists, equalMaps} from './compare.js';
import {keysOfJson, spend} from './work.js';
import {Failure, keyOf, ListValue, MapValue, noSuchOverload, type Value} from './values.js';

/** A list created by an expression. */
export class NativeList extends ListValue {
  readonly items: readonly Value[];

  constructor(items: readonly Value[]) {
    super();
    this.items = items;
  }

  get size(): number {
    return this.items.length;
  }

  at(index: number): Value {
    return this.items[index]!;
  }

  concat(other: ListValue): Value {
    return joined(this, other);
  }

  equals(other: Value): Value {
    return other instanceof ListValue && equalLists(this, other);
  }
}

/** A list of others, which are not copied. */
class JoinedList extends ListValue {
  readonly size: number;
  readonly parts: readonly ListValue[];
  /** Where each part ends. */
  readonly #ends: readonly number[];

  constructor(parts: readonly ListValue[]) {
    super();
    let size = 0;
    this.#ends = parts.map(part => (size += part.size));
    this.parts = parts;
    this.size = size;
  }

  at(index: number): Value {
    let [first, last] = [0, this.parts.length - 1];
    while (first < last) {
      const middle = (first + last) >> 1;
      if (index < this.#ends[middle]!) last = middle;
      else first = middle + 1;
    }
    return this.parts[first]!.at(index - (first === 0 ? 0 : this.#ends[first - 1]!));
  }

  concat(other: ListValue): Value {
    return joined(this, other);
  }

  equals(other: Value): Value {
    return other instanceof ListValue && equalLists(this, other);
  }
}

/** Lists up to this size are copied when they are joined. */
const shortList = 32;

/** A list of more parts is copied: elements are found in few steps, however often lists were joined. */
const maxParts = 64;

const partsOf = (list: ListValue): readonly ListValue[] => (list instanceof JoinedList ? list.parts : [list]);

/** Returns a list with the elements of both. */
export const joined = (first: ListValue, second: ListValue): ListValue => {
  const size = first.size + second.size;
  const parts = [...partsOf(first), ...partsOf(second)];
  if (size > shortList && parts.length <= maxParts) return new JoinedList(parts);
  if (size > shortList) spend(size);
  return new NativeList([...first, ...second]);
};

/** The accumulator list of a comprehension. Only the comprehension sees it, so it grows in place. */
export class GrowingList extends NativeList {
  declare readonly items: Value[];

  constructor() {
    super([]);
  }

  override concat(other: ListValue): Value {
    spend(other.size);
    for (const item of other) this.items.push(item);
    return this;
  }
}

/** A map created by an expression. Entries are keyed by `keyOf`. */
export class NativeMap extends MapValue {
  readonly entries: Map<string | boolean | bigint | number, {readonly key: Value; readonly value: Value}>;

  constructor(entries: NativeMap['entries'] = new Map()) {
    super();
    this.entries = entries;
  }

  get size(): number {
    return this.entries.size;
  }

  /** Adds an entry while the map is built. Returns a failure for an unsupported key type. */
  put(key: Value, value: Value): Failure | undefined {
    const id = keyOf(key);
    if (id === undefined) return new Failure('unsupported key type');
    this.entries.set(id, {key, value});
    return undefined;
  }

  find(key: Value): Value | undefined {
    const id = keyOf(key);
    return id === undefined ? undefined : this.entries.get(id)?.value;
  }

  *keys(): Generator<Value> {
    for (const {key} of this.entries.values()) yield key;
  }

  equals(other: Value): Value {
    return other instanceof MapValue && equalMaps(this, other);
  }
}

/** The accumulator map of a comprehension, which grows in place. */
export class GrowingMap extends NativeMap {}

/** A list over plain JSON. Elements are converted on access. */
class JsonList extends ListValue {
  readonly raw: readonly unknown[];

  constructor(raw: readonly unknown[]) {
    super();
    this.raw = raw;
  }

  get size(): number {
    return this.raw.length;
  }

  at(index: number): Value {
    return fromJson(this.raw[index]);
  }

  concat(other: ListValue): Value {
    return joined(this, other);
  }

  equals(other: Value): Value {
    return other instanceof ListValue && equalLists(this, other);
  }
}

/** A map over a JSON object. Values are converted on access. */
class JsonMap extends MapValue {
  readonly raw: Readonly<Record<string, unknown>>;

  constructor(raw: Readonly<Record<string, unknown>>) {
    super();
    this.raw = raw;
  }

  get size(): number {
    return keysOfJson(this.raw).length;
  }

  find(key: Value): Value | undefined {
    return typeof key === 'string' && Object.hasOwn(this.raw, key) ? fromJson(this.raw[key]) : undefined;
  }

  keys(): Iterable<Value> {
    return keysOfJson(this.raw);
  }

  equals(other: Value): Value {
    return other instanceof MapValue && equalMaps(this, other);
  }
}

/** Returns the value of plain JSON. Integral numbers become ints. CEL values are returned as they are. */
export const fromJson = (raw: unknown): Value => {
  switch (typeof raw) {
    case 'string':
    case 'boolean':
    case 'bigint':
      return raw;
    case 'number':
      return Number.isSafeInteger(raw) ? BigInt(raw) : raw;
    case 'undefined':
      return null;
    case 'object':
      if (raw === null) return null;
      if (Array.isArray(raw)) return new JsonList(raw);
      return isPlain(raw) ? new JsonMap(raw as Readonly<Record<string, unknown>>) : (raw as Value);
    default:
      return noSuchOverload;
  }
};

const isPlain = (raw: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(raw);
  return prototype === Object.prototype || prototype === null;
};
