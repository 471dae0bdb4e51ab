import {jsonText} from '#src/base/json.js';
import type {SchemaNode} from '#src/schema/node.js';
import {isPlainObject} from '#src/schema/decode/plain.js';
import {keyElement, valueElement} from './path-element.js';

/** One field of a struct, prepared. */
export interface StructField {
  readonly node: SchemaNode;
  /** Its path element. */
  readonly element: string;
  /** What the field holds when nobody has set it: fields that are always written have a value even then. Undefined for all others. */
  readonly zero: unknown;
}

/** A value without structure of its own: its lists are owned as a whole, its maps key by key. */
export const deduced: SchemaNode = {type: 'any'};

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

const structs = new WeakMap<ReadonlyMap<string, SchemaNode>, ReadonlyMap<string, StructField>>();

/** The fields of a struct. Those of built-in types that are always written have a zero value; custom resources have none. */
export const structFields = (node: SchemaNode): ReadonlyMap<string, StructField> | undefined => {
  const {properties, required, ref} = node;
  if (!properties) return undefined;
  const known = structs.get(properties);
  if (known) return known;
  const fields = new Map<string, StructField>();
  for (const [name, field] of properties) {
    // A struct that is required but not held by value is absent until somebody sets it.
    const written = ref && (field.type === 'object' ? isEmptyStruct(field.default) : required?.has(name));
    fields.set(name, {node: field, element: `f:${name}`, zero: written ? zeroOf(field) : undefined});
  }
  structs.set(properties, fields);
  return fields;
};

/** How a value is owned: as one leaf, by its fields or keys, or by its items. */
export type MergeType = 'leaf' | 'map' | 'list';

/** The shape that a schema gives, for a value of which `samples` are the versions at hand (null and undefined tell nothing). */
export const mergeTypeOf = (node: SchemaNode, ...samples: readonly unknown[]): MergeType => {
  switch (node.type) {
    case 'object':
    case 'map':
      return node.mapType === 'atomic' ? 'leaf' : 'map';
    case 'array':
      return node.listType === 'set' || node.listType === 'map' ? 'list' : 'leaf';
    case 'any':
      return node.mapType !== 'atomic' && node.format !== 'raw' && samples.some(isPlainObject) && samples.every(sample => sample === null || sample === undefined || isPlainObject(sample)) ? 'map' : 'leaf';
    default:
      return 'leaf';
  }
};

/** The schema of a key of a map or struct; undefined for a field the struct does not have. */
export const fieldNode = (node: SchemaNode, key: string): SchemaNode | undefined => {
  if (node.type === 'any') return deduced;
  const named = node.properties?.get(key);
  if (named) return named;
  if (node.items && node.type === 'map') return node.items;
  return node.preservesUnknown || (node.type === 'object' && !node.properties) || (node.type === 'map' && !node.items) ? deduced : undefined;
};

/** Whether a key of the value is a field of a struct rather than a key of a map. */
export const isNamedField = (node: SchemaNode, key: string): boolean => node.type === 'object' && (node.properties?.has(key) ?? false);

const sortedKeys = new WeakMap<SchemaNode, readonly string[]>();

const keysOf = (node: SchemaNode): readonly string[] => {
  let keys = sortedKeys.get(node);
  if (!keys) sortedKeys.set(node, (keys = [...(node.listMapKeys ?? [])].sort()));
  return keys;
};

/** The path element of an item of a set or keyed list. Throws, in the field's own words, for an item that cannot have one. */
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
    throw new Error(`associative list with keys has an element that omits all key fields [${listed}] (and doesn't have default values for any key fields)`);
  }
  return keyElement(found);
};

/** A key left out stands for its default. */
const keyValue = (node: SchemaNode, item: Record<string, unknown>, name: string): unknown =>
  Object.hasOwn(item, name) ? item[name] : node.items?.properties?.get(name)?.default;
