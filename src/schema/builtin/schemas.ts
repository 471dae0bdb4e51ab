import {markers} from '#src/schema/markers/index.js';
import {parseMarkers, type FieldMarkers} from '#src/schema/markers/parse.js';
import type {Variants, NodeFormat, NodeType, SchemaNode, TypeRef} from '#src/schema/node.js';
import {Tables, type TypeDocs} from './tables.js';
import {isMapType, parseType, type ParsedType} from './types.js';

// The schemas of built-in types, resolved lazily from the build's tables and the markers.

/** The shared properties of a named type's nodes, resolved on first access. */
interface NamedType {
  readonly ref: TypeRef;
  readonly properties: ReadonlyMap<string, SchemaNode>;
  readonly required: ReadonlySet<string>;
  readonly filled: readonly (readonly [name: string, field: SchemaNode])[];
  readonly own: Partial<SchemaNode>;
}

const zeroOf = (type: ParsedType): unknown => {
  if (type.kind === 'named') return {};
  if (type.kind !== 'scalar' || type.format === 'byte' || type.format?.startsWith('date-time')) return undefined;
  return {string: '', integer: 0, number: 0, boolean: false, any: undefined, object: undefined, map: undefined, array: undefined}[
    type.type
  ];
};

/** Returns the table's own entry of that name. */
const own = <T>(table: Readonly<Record<string, T>> | undefined, name: string): T | undefined =>
  table && Object.hasOwn(table, name) ? table[name] : undefined;

/** Structs that nearly every kind holds by value. */
const heldByValue = new Set(['metadata', 'spec', 'status']);

const defaultOf = (field: string, type: ParsedType, required: boolean, {default: stated}: FieldMarkers): unknown => {
  if (stated === 'none') return undefined;
  if (stated === 'zero') return zeroOf(type);
  if (stated) return stated.json;
  return required || (heldByValue.has(field) && type.kind === 'named') ? zeroOf(type) : undefined;
};

const mergeMarkers = ({listType, listMapKeys, mapType, patchStrategy, patchMergeKey, bare}: FieldMarkers): Partial<SchemaNode> => ({
  ...(listType ? {listType} : {}),
  ...(listMapKeys ? {listMapKeys} : {}),
  ...(mapType ? {mapType} : {}),
  ...(patchStrategy ? {patchStrategy} : {}),
  ...(patchMergeKey ? {patchMergeKey} : {}),
  ...(bare ? {isBare: true} : {}),
});

/** A node of a named type. Settings of the field take precedence over those of the type. */
class NamedNode implements SchemaNode {
  readonly type: NodeType = 'object';
  readonly ref: TypeRef;
  readonly #named: NamedType;

  constructor(named: NamedType, extra: Partial<SchemaNode>) {
    this.#named = named;
    this.ref = named.ref;
    Object.assign(this, named.own, extra);
  }

  get properties(): ReadonlyMap<string, SchemaNode> {
    return this.#named.properties;
  }

  get required(): ReadonlySet<string> {
    return this.#named.required;
  }

  get filled(): readonly (readonly [name: string, field: SchemaNode])[] {
    return this.#named.filled;
  }
}

/** The source of the kinds' schemas. */
export type SchemaSource = Pick<Schemas, 'of'>;

/** The structural schemas of all built-in types. Nothing is read before it is used. */
export class Schemas {
  readonly #tables: Tables;
  readonly #named = new Map<string, NamedType | undefined>();
  readonly #nodes = new Map<string, SchemaNode>();

  /** `folder` is where the build wrote the tables; located automatically by default. */
  constructor(folder?: string) {
    this.#tables = new Tables(folder);
  }

  /** Returns the schema of a type; undefined if it is not built in. */
  of(group: string, version: string, name: string): SchemaNode | undefined {
    const id = `${group}/${version}.${name}`;
    const known = this.#nodes.get(id);
    if (known) return known;
    const named = this.#namedType({group, version, name});
    if (!named) return undefined;
    const node = new NamedNode(named, {});
    this.#nodes.set(id, node);
    return node;
  }

  /** Returns the names of all types of a group version. */
  typeNames(group: string, version: string): string[] {
    const stated = own(own(markers, group || 'core'), version) ?? {};
    return [...new Set([...Object.keys(this.#tables.types(group, version)), ...Object.keys(stated)])].sort();
  }

  /** Returns the documentation of a type; undefined if there is none. */
  docs({group, version, name}: TypeRef): TypeDocs | undefined {
    const docs = this.#tables.docs(group, version);
    return own(docs, name);
  }

  #namedType(ref: TypeRef): NamedType | undefined {
    const id = `${ref.group}/${ref.version}.${ref.name}`;
    if (!this.#named.has(id)) this.#named.set(id, this.#resolve(ref));
    return this.#named.get(id);
  }

  #resolve(ref: TypeRef): NamedType | undefined {
    const {group, version, name} = ref;
    const types = this.#tables.types(group, version);
    const table = own(types, name);
    const stated = own(own(own(markers, group || 'core'), version), name);
    if (!table && !stated) return undefined;
    const ofType = parseMarkers(stated?.['*'], () => true);
    const fields = {
      ...table?.fields,
      ...Object.fromEntries(
        Object.keys(stated ?? {})
          .filter(field => field !== '*')
          .map(field => [field, table?.fields[field] ?? '']),
      ),
    };
    const required = new Set(ofType.requiredOrder ?? [...(table?.required ?? [])].sort());
    const understood = Object.entries(fields).flatMap(([field, type]): [string, string, FieldMarkers][] => {
      const marker = parseMarkers(stated?.[field], changed => isMapType(changed ?? type));
      if (marker.required === true) required.add(field);
      if (marker.removed || marker.required === false) required.delete(field);
      return marker.removed ? [] : [[field, marker.type ?? type, marker]];
    });
    const keepsEmpty = new Set([...(ofType.pointers ?? []), ...(ofType.kept ?? [])]);
    const heldZero = new Set(
      understood.filter(([, , {default: stated, omitted}]) => stated === 'zero' && !omitted).map(([field]) => field),
    );
    let properties: ReadonlyMap<string, SchemaNode> | undefined;
    let filled: readonly (readonly [string, SchemaNode])[] | undefined;
    const resolve = (): ReadonlyMap<string, SchemaNode> =>
      new Map(
        understood.map(([field, type, markers]) => [
          field,
          this.#fieldNode(field, parseType(type), {...markers, required: required.has(field)}, keepsEmpty.has(field)),
        ]),
      );
    return {
      ref,
      required,
      own: {...(ofType.mapType ? {mapType: ofType.mapType} : {}), ...(ofType.union ? {union: ofType.union} : {})},
      get properties() {
        return (properties ??= resolve());
      },
      get filled() {
        return (filled ??= [...this.properties].filter(
          ([field, node]) =>
            node.showsNull || (node.default !== undefined && (required.has(field) || heldZero.has(field) || node.type === 'object')),
        ));
      },
    };
  }

  #fieldNode(field: string, type: ParsedType, markers: FieldMarkers, keepsEmpty: boolean): SchemaNode {
    const value = defaultOf(field, type, markers.required === true, markers);
    const mayBeEmpty = type.kind === 'array' || type.kind === 'map' || (type.kind === 'scalar' && type.type !== 'any');
    const omitsEmpty = mayBeEmpty && !markers.required && !keepsEmpty && (markers.default === undefined || markers.omitted === true);
    const extra = {
      ...mergeMarkers(markers),
      ...(value === undefined ? {} : {default: value}),
      ...(omitsEmpty ? {omitsEmpty} : {}),
      ...(markers.outermost ? {omitsEmptyNested: true} : {}),
      ...(markers.null ? {showsNull: true} : {}),
    };
    return this.#node(type, extra);
  }

  #opaque(ref: TypeRef, extra: Partial<SchemaNode>): SchemaNode {
    const variants = own(opaqueVariants, ref.name);
    const node: SchemaNode = {type: 'any', format: 'json', ref, ...extra};
    if (!variants) return node;
    const read = (text: string): SchemaNode => this.#node(parseType(text), {});
    let resolved: Variants | undefined;
    return Object.defineProperty(node, 'variants', {
      enumerable: true,
      get: () =>
        (resolved ??= {...variants, object: read(variants.object), ...(variants.array ? {array: read(variants.array)} : {})} as Variants),
    });
  }

  #node(type: ParsedType, extra: Partial<SchemaNode>): SchemaNode {
    switch (type.kind) {
      case 'scalar':
        return scalarNode(type, extra);
      case 'opaque':
        return this.#opaque(type.ref, extra);
      case 'array':
      case 'map': {
        const zero = zeroOf(type.items);
        return {type: type.kind, items: this.#node(type.items, zero === undefined ? {} : {default: zero}), ...extra};
      }
      case 'named': {
        const named = this.#namedType(type.ref);
        if (!named) throw new Error(`there is no type ${type.ref.name} in ${type.ref.group || 'core'}/${type.ref.version}`);
        return new NamedNode(named, extra);
      }
    }
  }
}

let shared: Schemas | undefined;

/** Returns the schemas of this process: all servers in it read and resolve the tables once. */
export const builtinSchemas = (): Schemas => (shared ??= new Schemas());

/** The possible types of values that documents show without type, in table notation. */
const opaqueVariants: Readonly<
  Record<string, {readonly object: string; readonly array?: string; readonly boolean?: true; readonly refusal?: string}>
> = {
  JSONSchemaPropsOrBool: {object: 'apiextensions/v1.JSONSchemaProps', boolean: true, refusal: 'boolean or JSON schema expected'},
  JSONSchemaPropsOrArray: {object: 'apiextensions/v1.JSONSchemaProps', array: '[]apiextensions/v1.JSONSchemaProps'},
  JSONSchemaPropsOrStringArray: {object: 'apiextensions/v1.JSONSchemaProps', array: '[]string'},
};

const scalarNode = ({type, format}: {type: NodeType; format?: NodeFormat}, extra: Partial<SchemaNode>): SchemaNode => ({
  type,
  ...(format ? {format} : {}),
  ...extra,
});
