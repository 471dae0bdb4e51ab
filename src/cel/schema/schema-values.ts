import {sameContent} from '#src/api/equal.js';
import type {SchemaNode} from '#src/schema/node.js';
import {equal, equalLists} from '#src/cel/values/compare.js';
import {escaped, isReserved, unescaped} from '#src/cel/values/escape.js';
import {fromJson} from '#src/cel/values/native.js';
import {asRoot} from './schema-types.js';
import {parseCelDuration, parseTimestamp} from '#src/cel/values/time.js';
import {keysOfJson, spend} from '#src/cel/values/work.js';
import {Bytes, Duration, Failure, keyOf, ListValue, MapValue, noSuchOverload, type Value} from '#src/cel/values/values.js';

const typeError = (expected: string, raw: unknown): Failure =>
  new Failure(`invalid data, expected ${expected}, got ${raw === null ? 'null' : typeof raw}`);

/** Converts a string of a format that has a CEL type of its own. */
const formattedValue = (format: string | undefined, raw: string): Value => {
  switch (format) {
    case 'byte':
      return new Bytes(Buffer.from(raw, 'base64'));
    case 'duration': {
      const nanos = parseCelDuration(raw);
      return nanos === undefined ? new Failure(`Invalid duration ${raw}`) : new Duration(nanos);
    }
    case 'date':
      return parseTimestamp(`${raw}T00:00:00Z`) ?? new Failure(`Invalid date formatted string ${raw}`);
    case 'date-time':
    case 'date-time-micro':
      return parseTimestamp(raw) ?? new Failure(`Invalid date-time formatted string ${raw}`);
    default:
      return raw;
  }
};

/**
 * Returns plain JSON as a value typed by its schema. Nothing is copied; nested values are converted on access. CEL
 * values, which occur in concatenated lists, are returned as they are.
 */
export const view = (raw: unknown, node: SchemaNode, isRoot = node.embedded === true): Value => {
  if (raw === null || raw === undefined) return node.nullable ? null : new Failure('invalid data, got null for schema with nullable=false');
  if (node.format === 'int-or-string')
    return typeof raw === 'string' || typeof raw === 'number' || typeof raw === 'bigint'
      ? fromJson(raw)
      : typeError('XIntOrString value to be either a string or integer', raw);
  switch (node.type) {
    case 'string':
      return typeof raw === 'string'
        ? formattedValue(node.format, raw)
        : typeof raw === 'object'
          ? (raw as Value)
          : typeError('string', raw);
    case 'integer':
      if (typeof raw === 'bigint') return raw;
      return typeof raw === 'number' && Number.isInteger(raw) ? BigInt(raw) : typeError('int', raw);
    case 'number':
      return typeof raw === 'number' ? raw : typeof raw === 'bigint' ? Number(raw) : typeError('float', raw);
    case 'boolean':
      return typeof raw === 'boolean' ? raw : typeError('bool', raw);
    case 'array':
      if (raw instanceof ListValue) return raw;
      return Array.isArray(raw) && node.items
        ? new ListView(raw, node)
        : new Failure('invalid data, expected an array for the provided schema with type=array');
    case 'object':
    case 'map':
      if (raw instanceof MapValue) return raw;
      return typeof raw === 'object' && !Array.isArray(raw)
        ? new MapView(raw as Readonly<Record<string, unknown>>, isRoot ? asRoot(node) : node)
        : new Failure('invalid data, expected a map for the provided schema with type=object');
    default:
      return new UntypedValue(raw);
  }
};

/** A value that no schema describes. It can only be compared. */
class UntypedValue extends MapValue {
  readonly raw: unknown;
  readonly size = 0;

  constructor(raw: unknown) {
    super();
    this.raw = raw;
  }

  find(): undefined {
    return undefined;
  }

  keys(): Iterable<Value> {
    return [];
  }

  equals(other: Value): Value {
    return other instanceof UntypedValue && sameContent(this.raw, other.raw);
  }
}

/** An object or a map over JSON. */
class MapView extends MapValue {
  readonly raw: Readonly<Record<string, unknown>>;
  readonly #node: SchemaNode;

  constructor(raw: Readonly<Record<string, unknown>>, node: SchemaNode) {
    super();
    this.raw = raw;
    this.#node = node;
  }

  get size(): number {
    return keysOfJson(this.raw).length;
  }

  #nodeOf(name: string): SchemaNode | undefined {
    return this.#node.type === 'map' ? this.#node.items : this.#node.properties?.get(name);
  }

  find(key: Value): Value | undefined {
    if (typeof key !== 'string') return noSuchOverload;
    const isObject = this.#node.properties !== undefined;
    const name = isObject && !isReserved(key) ? unescaped(key) : key;
    if (name === undefined || !Object.hasOwn(this.raw, name)) return undefined;
    const raw = this.raw[name];
    if (raw === undefined || (isObject && raw === null)) return undefined;
    const node = this.#nodeOf(name);
    return node && view(raw, node);
  }

  *keys(): Generator<Value> {
    const isObject = this.#node.properties !== undefined;
    for (const name of keysOfJson(this.raw)) if (this.#nodeOf(name)) yield isObject ? (escaped(name) ?? name) : name;
  }

  equals(other: Value): Value {
    if (!(other instanceof MapValue)) return noSuchOverload;
    if (this.size !== other.size) return false;
    for (const name of keysOfJson(this.raw)) {
      spend(1);
      if (this.#nodeOf(name)) {
        const [mine, theirs] = [this.find(name), other.find(name)];
        if ((mine === undefined) !== (theirs === undefined)) return false;
        if (mine === undefined || theirs === undefined) continue;
        const same = equal(mine, theirs);
        if (same !== true) return same;
      } else {
        if (!(other instanceof MapView)) return noSuchOverload;
        if (name in other.raw && !sameContent(this.raw[name], other.raw[name])) return false;
      }
    }
    return true;
  }
}

/**
 * A list over JSON. Lists of type set and map compare regardless of order, and concatenation does not add duplicates.
 */
class ListView extends ListValue {
  readonly #elements: readonly unknown[];
  readonly #node: SchemaNode;

  constructor(elements: readonly unknown[], node: SchemaNode) {
    super();
    this.#elements = elements;
    this.#node = node;
  }

  get size(): number {
    return this.#elements.length;
  }

  at(index: number): Value {
    return view(this.#elements[index], this.#node.items!);
  }

  /** Returns the identity of an element: its keys in a list of type map, itself in a set. */
  #identity(element: Value): unknown {
    if (this.#node.listType === 'set') return keyOf(element) ?? element;
    const keys = (this.#node.listMapKeys ?? []).map(key =>
      element instanceof MapValue ? keyOf(element.find(escaped(key) ?? key) ?? null) : undefined,
    );
    return keys.length === 1 ? keys[0] : JSON.stringify(keys.map(String));
  }

  get #isOrdered(): boolean {
    return this.#node.listType !== 'set' && this.#node.listType !== 'map';
  }

  equals(other: Value): Value {
    if (!(other instanceof ListValue)) return noSuchOverload;
    if (this.#isOrdered) return equalLists(this, other);
    if (this.size !== other.size) return false;
    spend(this.size + other.size);
    const mine = new Map([...this].map(element => [this.#identity(element), element]));
    for (const element of other) {
      const own = mine.get(this.#identity(element));
      if (own === undefined) return false;
      const same = this.#node.listType === 'set' || equal(own, element);
      if (same !== true) return same;
    }
    return true;
  }

  concat(other: ListValue): Value {
    spend(this.size + other.size);
    if (this.#isOrdered) return new ListView([...this.#elements, ...other], this.#node);
    const elements = new Map([...this].map(element => [this.#identity(element), element]));
    for (const element of other) {
      const identity = this.#identity(element);
      if (this.#node.listType === 'map' || !elements.has(identity)) elements.set(identity, element);
    }
    return new ListView([...elements.values()], this.#node);
  }
}
