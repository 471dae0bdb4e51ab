import type {SchemaNode} from '#src/schema/node.js';
import type {TypeSource} from '#src/cel/check/declarations.js';
import {escaped, isReserved} from '#src/cel/values/escape.js';
import {bool, bytes, double, duration, dyn, int, listOf, mapOf, objectType, string, timestamp, type Type} from '#src/cel/values/types.js';

/** A field of an object that a schema describes. */
export interface SchemaField {
  /** The name in the object, unescaped. */
  readonly name: string;
  readonly type: Type;
  readonly node: SchemaNode;
}

const stringFormats: Readonly<Record<string, Type>> = {
  byte: bytes,
  duration,
  date: timestamp,
  'date-time': timestamp,
  'date-time-micro': timestamp,
};
const scalars: Readonly<Record<string, Type>> = {boolean: bool, integer: int, number: double};

const text: SchemaNode = {type: 'string'};
const names = ['name', 'generateName'];
const metadata: SchemaNode = {type: 'object', properties: new Map(names.map(name => [name, text]))};

/** Whether a schema already declares apiVersion, kind and the names in metadata. Schemas of custom resources do not. */
const isWhole = ({properties, source}: SchemaNode): boolean =>
  !source &&
  ['apiVersion', 'kind'].every(name => properties?.get(name)?.type === 'string') &&
  names.every(name => properties?.get('metadata')?.properties?.get(name)?.type === 'string');

const roots = new WeakMap<SchemaNode, SchemaNode>();

/**
 * Returns the schema of a whole object: with apiVersion, kind, metadata.name and metadata.generateName, and no other
 * metadata.
 */
export const asRoot = (node: SchemaNode): SchemaNode => {
  if (isWhole(node)) return node;
  const known = roots.get(node);
  if (known) return known;
  const {nullable = false, source} = node;
  const properties = new Map([...(node.properties ?? []), ['apiVersion', text], ['kind', text], ['metadata', metadata]] as const);
  const root: SchemaNode = {type: 'object', properties, nullable, ...(source && {source})};
  roots.set(node, root);
  return root;
};

/**
 * The CEL types of objects that schemas describe. Fields without a known type and fields whose names cannot be escaped
 * are left out. Types are resolved on demand, so that schemas may be recursive.
 */
export class SchemaTypes implements TypeSource {
  readonly #objects = new Map<string, {readonly node: SchemaNode; fields?: ReadonlyMap<string, SchemaField>}>();

  /**
   * Returns the type of the values that a schema describes; object types get this name. `isRoot` is set for whole
   * objects. Undefined where expressions cannot access them.
   */
  declare(name: string, node: SchemaNode, isRoot = node.embedded === true): Type | undefined {
    if (node.format === 'int-or-string') return dyn;
    const {type, format, items} = isRoot ? asRoot(node) : node;
    switch (type) {
      case 'array': {
        const element = items && this.declare(`${name}.@idx`, items);
        return element && listOf(element);
      }
      case 'map': {
        if (!items) return this.#object(name, node);
        const value = this.declare(`${name}.@elem`, items);
        return value && mapOf(string, value);
      }
      case 'object':
        return this.#object(name, isRoot ? asRoot(node) : node);
      case 'string':
        return stringFormats[format ?? ''] ?? string;
      default:
        return scalars[type];
    }
  }

  #object(name: string, node: SchemaNode): Type {
    if (!this.#objects.has(name)) this.#objects.set(name, {node});
    return objectType(name);
  }

  find(name: string): Type | undefined {
    return this.#objects.has(name) ? objectType(name) : undefined;
  }

  /** Returns the fields of an object type by their escaped names. */
  fields(type: string): ReadonlyMap<string, SchemaField> {
    const object = this.#objects.get(type);
    if (!object) return new Map();
    object.fields ??= new Map(
      [...(object.node.properties ?? [])].flatMap(([name, node]) => {
        const key = escaped(name);
        const declared = key === undefined ? undefined : this.declare(`${type}.${key}`, node);
        return key !== undefined && declared ? [[key, {name, type: declared, node}] as const] : [];
      }),
    );
    return object.fields;
  }

  field(type: string, field: string): Type | undefined {
    const fields = this.fields(type);
    return (fields.get(field) ?? (isReserved(field) ? fields.get(`__${field}__`) : undefined))?.type;
  }
}
