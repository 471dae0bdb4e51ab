import {compatibleExtension} from '#src/api/naming.js';
import type {JsonSchema} from './custom/json-schema.js';

/** Where a named type is declared. `group` is a group token. */
export interface TypeRef {
  readonly group: string;
  readonly version: string;
  readonly name: string;
}

export type NodeType = 'object' | 'map' | 'array' | 'string' | 'integer' | 'number' | 'boolean' | 'any';

/**
 * How a value of the type is written. `raw`, `fields` and `json` are values without structure of their own; `int-or-string` and `quantity`
 * are more than one JSON type.
 */
export type NodeFormat =
  | 'int32'
  | 'int64'
  | 'double'
  | 'byte'
  | 'date-time'
  | 'date-time-micro'
  | 'int-or-string'
  | 'quantity'
  | 'raw'
  | 'fields'
  | 'json'
  | (string & {});

/**
 * What a value may look like and how it is merged: one node of a structural schema. Nodes of named types resolve their properties when they
 * are first asked for, so that recursive types are no trouble. Built-in kinds and custom resources share this form.
 */
export interface SchemaNode {
  readonly type: NodeType;
  readonly format?: NodeFormat;
  /** The named type the node stands for. */
  readonly ref?: TypeRef;
  readonly properties?: ReadonlyMap<string, SchemaNode> | undefined;
  readonly required?: ReadonlySet<string> | undefined;
  /** Fields that hold the zero value of their type where nothing is said, since they are required or structs held by value: they are there in every object. */
  readonly filled?: readonly (readonly [name: string, field: SchemaNode])[];
  /** What an array holds, or what a map's values are. */
  readonly items?: SchemaNode | undefined;
  readonly default?: unknown;
  readonly enum?: readonly unknown[] | undefined;
  readonly nullable?: boolean;
  /** Fields that no property names are kept. */
  readonly preservesUnknown?: boolean;
  /** A whole object with apiVersion, kind and metadata. */
  readonly embedded?: boolean;
  readonly listType?: 'atomic' | 'set' | 'map' | undefined;
  readonly listMapKeys?: readonly string[] | undefined;
  readonly mapType?: 'atomic' | 'granular' | undefined;
  readonly patchStrategy?: readonly PatchStrategy[];
  readonly patchMergeKey?: string;
  readonly union?: Union;
  /** Where nothing is said, null is shown. */
  readonly showsNull?: boolean;
  /** An empty value of the field means that there is none: `""`, 0, false, `[]` or `{}` is left out. */
  readonly omitsEmpty?: boolean;
  /**
   * Holds a whole object against the schema itself, in place, where values of the wrong type are for validation to tell of. Answers with the paths of fields that
   * it took out since nobody knows them. Throws `DecodeError`.
   */
  readonly coerce?: (object: Record<string, unknown>) => readonly string[];
  /** Documents refer to its type without a word beside the reference. */
  readonly isBare?: boolean;
  /** Of a value whose type is told by the value itself, and hidden from documents: what it can be. */
  readonly variants?: Variants | undefined;
  /** What a custom resource's definition says of the value: limits, alternatives, rules, words. Built-in types have none. */
  readonly source?: JsonSchema;
}

export type PatchStrategy = 'merge' | 'replace' | 'retainKeys';

/** What a value can be. One that is neither is refused with a text, or is as if it were not there. */
export interface Variants {
  readonly object: SchemaNode;
  readonly array?: SchemaNode;
  readonly boolean?: true;
  readonly refusal?: string;
}

/** Fields of which the discriminator names the one that is set. */
export interface Union {
  readonly discriminator: string;
  readonly fields: Readonly<Record<string, string>>;
}

const goScalars: Readonly<Record<string, string>> = {string: 'string', integer: 'int64', number: 'float64', boolean: 'bool', any: 'interface {}'};

/** The type's name as error texts give it, for example `map[string]string` or `v1.ObjectMeta`, where the field has no name of its own for it (`go-names.ts`). */
export const goTypeName = (node: SchemaNode): string => {
  if (node.ref) return `${node.ref.version}.${node.ref.name}`;
  if (node.format === 'int32') return 'int32';
  if (node.format === 'byte') return '[]uint8';
  if (node.type === 'array') return `[]${node.items ? goTypeName(node.items) : 'interface {}'}`;
  if (node.type === 'map') return `map[string]${node.items ? goTypeName(node.items) : 'interface {}'}`;
  return goScalars[node.type] ?? 'interface {}';
};

/** The name of the property that a field of an object stands for: extensions of schemas may be spelled in either naming. A field that is no property keeps its name. */
export const propertyName = ({properties}: SchemaNode, field: string): string => {
  if (!properties || !field.startsWith('x-') || properties.has(field)) return field;
  const other = compatibleExtension(field);
  return other !== undefined && properties.has(other) ? other : field;
};
