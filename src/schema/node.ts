// The structural schema of a value, for built-in kinds and custom resources alike. Decoding, patches, apply and OpenAPI
// read it.

import {compatibleExtension} from '#src/api/naming.js';
import type {JsonSchema} from './json-schema.js';

// The structural schema that decoding, merging, apply and documents share, for built-in and custom kinds alike.

/** The name of a type and where it is declared. `group` is a group token. */
export interface TypeRef {
  readonly group: string;
  readonly version: string;
  readonly name: string;
}

export type NodeType = 'object' | 'map' | 'array' | 'string' | 'integer' | 'number' | 'boolean' | 'any';

/**
 * The encoding of a value. `raw`, `fields` and `json` have no structure of their own; `int-or-string` and `quantity`
 * accept several JSON types.
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
 * A node of a structural schema: what a value may be and how it is merged. Nodes of named types resolve their
 * properties on first access, so types may be recursive. Built-in kinds and custom resources share this type.
 */
export interface SchemaNode {
  readonly type: NodeType;
  readonly format?: NodeFormat;
  /** The named type of the node. */
  readonly ref?: TypeRef;
  readonly properties?: ReadonlyMap<string, SchemaNode> | undefined;
  readonly required?: ReadonlySet<string> | undefined;
  /**
   * Fields that have their type's zero value if absent, since they are required or held by value: every object has
   * them.
   */
  readonly filled?: readonly (readonly [name: string, field: SchemaNode])[];
  /** The type of an array's items or a map's values. */
  readonly items?: SchemaNode | undefined;
  readonly default?: unknown;
  readonly enum?: readonly unknown[] | undefined;
  readonly nullable?: boolean;
  /** Undeclared fields are kept. */
  readonly preservesUnknown?: boolean;
  /** A whole object with apiVersion, kind and metadata. */
  readonly embedded?: boolean;
  readonly listType?: 'atomic' | 'set' | 'map' | undefined;
  readonly listMapKeys?: readonly string[] | undefined;
  readonly mapType?: 'atomic' | 'granular' | undefined;
  readonly patchStrategy?: readonly PatchStrategy[];
  readonly patchMergeKey?: string;
  readonly union?: Union;
  /** An absent value is shown as null. */
  readonly showsNull?: boolean;
  /** An empty value means absent: `""`, 0, false, `[]` or `{}` is omitted. */
  readonly omitsEmpty?: boolean;
  /** The same, except in the metadata of the whole object. */
  readonly omitsEmptyNested?: boolean;
  /**
   * Normalizes a whole object in place and leaves values of the wrong type to validation. Returns the paths of
   * undeclared fields that it removed. Throws `DecodeError`.
   */
  readonly coerce?: (object: Record<string, unknown>, options: {readonly keepsNulls: boolean}) => readonly string[];
  /** Documents refer to the type without a description. */
  readonly isBare?: boolean;
  /** The possible types of a value that determines its own type; not shown in documents. */
  readonly variants?: Variants | undefined;
  /**
   * The definition's schema of a custom resource: limits, alternatives, rules, descriptions. Undefined for built-in
   * types.
   */
  readonly source?: JsonSchema;
}

export type PatchStrategy = 'merge' | 'replace' | 'retainKeys';

/** The types a value can have. Other values are rejected with `refusal`, or ignored without one. */
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

const goScalars: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'int64',
  number: 'float64',
  boolean: 'bool',
  any: 'interface {}',
};

/**
 * Returns the Go name of a type for error texts, for example `map[string]string` or `v1.ObjectMeta`; fields with a
 * named type are listed in `go-names.ts`.
 */
export const goTypeName = (node: SchemaNode): string => {
  if (node.ref) return `${node.ref.version}.${node.ref.name}`;
  if (node.format === 'int32') return 'int32';
  if (node.format === 'byte') return '[]uint8';
  if (node.type === 'array') return `[]${node.items ? goTypeName(node.items) : 'interface {}'}`;
  if (node.type === 'map') return `map[string]${node.items ? goTypeName(node.items) : 'interface {}'}`;
  return goScalars[node.type] ?? 'interface {}';
};

/**
 * Returns the property of a field: schema extensions are accepted in either naming. Returns the field's own name if it
 * is not a property.
 */
export const propertyName = ({properties}: SchemaNode, field: string): string => {
  if (!properties || !field.startsWith('x-') || properties.has(field)) return field;
  const other = compatibleExtension(field);
  return other !== undefined && properties.has(other) ? other : field;
};
