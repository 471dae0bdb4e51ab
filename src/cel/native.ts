import {equalLists, equalMaps} from './compare.js';
import {Failure, keyOf, ListValue, MapValue, noSuchOverload, type Value} from './values.js';

/** A list that an expression made. */
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
    return new NativeList([...this.items, ...other]);
  }

  equals(other: Value): Value {
    return other instanceof ListValue && equalLists(this, other);
  }
}

/** The list in which a fold gathers. Nothing but the fold sees it while it grows, so it grows in place. */
export class GrowingList extends NativeList {
  declare readonly items: Value[];

  constructor() {
    super([]);
  }

  override concat(other: ListValue): Value {
    for (const item of other) this.items.push(item);
    return this;
  }
}

/** A map that an expression made. Its entries go by what their keys are equal by. */
export class NativeMap extends MapValue {
  readonly entries: Map<string | boolean | bigint | number, {readonly key: Value; readonly value: Value}>;

  constructor(entries: NativeMap['entries'] = new Map()) {
    super();
    this.entries = entries;
  }

  get size(): number {
    return this.entries.size;
  }

  /** Puts an entry in while the map is made; a failure where the key can be none. */
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

/** The map in which a fold gathers, which grows in place as the list does. */
export class GrowingMap extends NativeMap {}

/** Plain JSON as it came, of which no schema says more. */
export type Json = null | boolean | number | string | readonly unknown[] | Readonly<Record<string, unknown>>;

/** A list in plain JSON. Its elements become values when they are asked for. */
export class JsonList extends ListValue {
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
    return new NativeList([...this, ...other]);
  }

  equals(other: Value): Value {
    return other instanceof ListValue && equalLists(this, other);
  }
}

/** An object in plain JSON. */
export class JsonMap extends MapValue {
  readonly raw: Readonly<Record<string, unknown>>;

  constructor(raw: Readonly<Record<string, unknown>>) {
    super();
    this.raw = raw;
  }

  get size(): number {
    return Object.keys(this.raw).length;
  }

  find(key: Value): Value | undefined {
    return typeof key === 'string' && Object.hasOwn(this.raw, key) ? fromJson(this.raw[key]) : undefined;
  }

  keys(): Iterable<Value> {
    return Object.keys(this.raw);
  }

  equals(other: Value): Value {
    return other instanceof MapValue && equalMaps(this, other);
  }
}

/** The value that plain JSON is. Whole numbers are ints: JSON has no way to tell. Values of the language are themselves. */
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
