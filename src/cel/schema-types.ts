import type {SchemaNode} from '#src/schema/node.js';
import type {TypeSource} from './declarations.js';
import {escaped, isReserved} from './escape.js';
import {bool, bytes, double, duration, dyn, int, listOf, mapOf, objectType, string, timestamp, type Type} from './types.js';

/** A field of an object that a schema describes. */
export interface SchemaField {
  /** Its name as the object has it. */
  readonly name: string;
  readonly type: Type;
  readonly node: SchemaNode;
}

const stringFormats: Readonly<Record<string, Type>> = {byte: bytes, duration, date: timestamp, 'date-time': timestamp, 'date-time-micro': timestamp};
const scalars: Readonly<Record<string, Type>> = {boolean: bool, integer: int, number: double};

const text: SchemaNode = {type: 'string'};
const names = ['name', 'generateName'];
const metadata: SchemaNode = {type: 'object', properties: new Map(names.map(name => [name, text]))};

/** Whether a schema says all that is asked of a whole object. A custom resource's says less than its metadata holds. */
const isWhole = ({properties, source}: SchemaNode): boolean =>
  !source &&
  ['apiVersion', 'kind'].every(name => properties?.get(name)?.type === 'string') &&
  names.every(name => properties?.get('metadata')?.properties?.get(name)?.type === 'string');

const roots = new WeakMap<SchemaNode, SchemaNode>();

/** The schema of a whole object, whose apiVersion, kind and names can be asked for even where it does not say so; of its metadata nothing else. */
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
 * The types of objects that schemas describe. Fields without a type that is known are left out, as are those whose names cannot be written.
 * Types are found when they are asked for, so that schemas may contain themselves.
 */
export class SchemaTypes implements TypeSource {
  readonly #objects = new Map<string, {readonly node: SchemaNode; fields?: ReadonlyMap<string, SchemaField>}>();

  /** The type of values that a schema describes, known by that name where they are objects; `isRoot` for whole objects. Undefined where expressions cannot see them. */
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

  /** The fields of an object type by the names that expressions write. */
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
