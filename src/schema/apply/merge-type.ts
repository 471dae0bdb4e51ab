import {jsonText} from '#src/base/json/json.js';
import type {SchemaNode} from '#src/schema/node.js';
import {isPlainObject} from '#src/schema/decode/plain.js';
import {whenUnset} from '#src/schema/decode/zero-value.js';
import {keyElement, valueElement} from './fields-v1.js';

// How a schema node is merged and owned: as a leaf, a map or a list, with the path elements of its fields and items.

/** One field of a struct, precomputed. */
export interface StructField {
  readonly node: SchemaNode;
  /** The path element of the field. */
  readonly element: string;
  /**
   * The value of the field when it is not set: the zero value of a field that is always written, undefined for all
   * others.
   */
  readonly zero: unknown;
}

/** The schema of a value without a declared structure: lists are atomic, maps granular. */
export const untypedNode: SchemaNode = {type: 'any'};

const emptyStruct = Object.freeze({});

const zeroOf = ({type}: SchemaNode): unknown => {
  switch (type) {
    case 'object':
      return emptyStruct;
    case 'string':
      return '';
    case 'integer':
    case 'number':
      return 0;
    case 'boolean':
      return false;
    default:
      return null;
  }
};

const isEmptyStruct = (value: unknown): boolean => isPlainObject(value) && Object.keys(value).length === 0;

/** The fields of a struct, each made on first access: objects use few fields of a large schema. */
class StructFields {
  readonly #node: SchemaNode;
  readonly #properties: ReadonlyMap<string, SchemaNode>;
  readonly #known = new Map<string, StructField>();

  constructor(node: SchemaNode, properties: ReadonlyMap<string, SchemaNode>) {
    this.#node = node;
    this.#properties = properties;
  }

  get(name: string): StructField | undefined {
    const known = this.#known.get(name);
    if (known) return known;
    const field = this.#properties.get(name);
    if (!field) return undefined;
    const {required, ref} = this.#node;
    // A required struct that is not held by value is absent until it is set.
    const written = ref && (field.type === 'object' ? isEmptyStruct(field.default) : required?.has(name));
    const zero = written ? zeroOf(field) : ref && whenUnset(ref, name, field);
    const made = {node: field, element: `f:${name}`, zero};
    this.#known.set(name, made);
    return made;
  }
}

const structs = new WeakMap<ReadonlyMap<string, SchemaNode>, StructFields>();

/**
 * Returns the fields of a struct. Fields of built-in types that are always written have a zero value; custom resources
 * have none.
 */
export const structFields = (node: SchemaNode): Pick<StructFields, 'get'> | undefined => {
  const {properties} = node;
  if (!properties) return undefined;
  let fields = structs.get(properties);
  if (!fields) structs.set(properties, (fields = new StructFields(node, properties)));
  return fields;
};

/** How ownership of a value is tracked: as one leaf, by field or key, or by item. */
export type MergeType = 'leaf' | 'map' | 'list';

const isNothing = (value: unknown): boolean => value === null || value === undefined;

/** Whether the values of an untyped field are maps, as far as there are any. */
const areMaps = (value: unknown, other: unknown): boolean =>
  isPlainObject(value) ? isPlainObject(other) || isNothing(other) : isNothing(value) && isPlainObject(other);

/**
 * Returns the merge type of a schema; `value` and `other` are the known values of an untyped field (null and undefined
 * are ignored).
 */
export const mergeTypeOf = (node: SchemaNode, value: unknown, other?: unknown): MergeType => {
  switch (node.type) {
    case 'object':
    case 'map':
      return node.mapType === 'atomic' ? 'leaf' : 'map';
    case 'array':
      return node.listType === 'set' || node.listType === 'map' ? 'list' : 'leaf';
    case 'any':
      return node.mapType !== 'atomic' && node.format !== 'raw' && areMaps(value, other) ? 'map' : 'leaf';
    default:
      return 'leaf';
  }
};

/** Returns the schema of a map key or struct field; undefined for an undeclared field. */
export const fieldNode = (node: SchemaNode, key: string): SchemaNode | undefined => {
  if (node.type === 'any') return untypedNode;
  const named = node.properties?.get(key);
  if (named) return named;
  if (node.items && node.type === 'map') return node.items;
  return node.preservesUnknown || (node.type === 'object' && !node.properties) || (node.type === 'map' && !node.items)
    ? untypedNode
    : undefined;
};

/** Reports whether a key is a struct field rather than a map key. */
export const isNamedField = (node: SchemaNode, key: string): boolean => node.type === 'object' && (node.properties?.has(key) ?? false);

const sortedKeys = new WeakMap<SchemaNode, readonly string[]>();

const keysOf = (node: SchemaNode): readonly string[] => {
  let keys = sortedKeys.get(node);
  if (!keys) sortedKeys.set(node, (keys = [...(node.listMapKeys ?? [])].sort()));
  return keys;
};

/**
 * Returns the path element of an item of a set or associative list. Throws, with the original's text, for an item that
 * has none.
 */
export const itemElement = (node: SchemaNode, item: unknown): string => {
  if (node.listType === 'map') return keyedElement(node, item);
  if (item === null || item === undefined) throw new Error("associative list without keys has an element that's an explicit null");
  if (Array.isArray(item)) throw new Error('not supported: associative list with lists as elements');
  if (typeof item === 'object') throw new Error("associative list without keys has an element that's a map type");
  return valueElement(item);
};

const keyedElement = (node: SchemaNode, item: unknown): string => {
  if (item === null || item === undefined) throw new Error('associative list with keys may not have a null element');
  if (!isPlainObject(item)) throw new Error('associative list with keys may not have non-map elements');
  const names = keysOf(node);
  if (names.length === 1) {
    const value = keyValue(node, item, names[0]!);
    if (value !== undefined) return `k:{${JSON.stringify(names[0])}:${jsonText(value)}}`;
  }
  const found = names.flatMap((name): [string, unknown][] => {
    const value = keyValue(node, item, name);
    return value === undefined ? [] : [[name, value]];
  });
  if (found.length === 0) {
    const listed = (node.listMapKeys ?? []).map(name => JSON.stringify(name)).join(' ');
    throw new Error(
      `associative list with keys has an element that omits all key fields [${listed}] (and doesn't have default values for any key fields)`,
    );
  }
  return keyElement(found);
};

/** An omitted key has its default. */
const keyValue = (node: SchemaNode, item: Record<string, unknown>, name: string): unknown =>
  Object.hasOwn(item, name) ? item[name] : node.items?.properties?.get(name)?.default;
