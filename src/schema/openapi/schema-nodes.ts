import {ownValue} from '#src/base/own.js';
import type {JsonSchema} from '#src/schema/json-schema.js';
import type {NodeType, SchemaNode} from '#src/schema/node.js';

/** The types of an OpenAPI 3.0 document. */
export interface TypesDocument {
  readonly components?: {readonly schemas?: Readonly<Record<string, DocumentedType>>};
}

type DocumentedType = JsonSchema & {
  readonly 'x-kubernetes-group-version-kind'?: readonly {readonly group: string; readonly version: string; readonly kind: string}[];
};

const place = '#/components/schemas/';
const plain: ReadonlySet<string> = new Set<NodeType>(['array', 'string', 'integer', 'number', 'boolean']);

/** Returns the reference of a schema, which may be wrapped so that a description can stand beside it. */
const referredBy = ({$ref, allOf = []}: JsonSchema): string | undefined => $ref ?? allOf.map(referredBy).find(one => one !== undefined);

/** A node read from a document. Children are resolved on first access, so types may be recursive. */
class DocumentedNode implements SchemaNode {
  readonly type: NodeType;
  readonly format?: string;
  readonly nullable: boolean;
  readonly embedded: boolean;
  readonly #schema: JsonSchema;
  readonly #types: Readonly<Record<string, DocumentedType>>;
  #properties: ReadonlyMap<string, SchemaNode> | undefined;
  #items: SchemaNode | undefined;

  constructor(stated: JsonSchema, types: Readonly<Record<string, DocumentedType>>) {
    const name = referredBy(stated);
    const schema = name === undefined ? stated : (ownValue(types, name.slice(place.length)) ?? stated);
    const isEither = schema['x-kubernetes-int-or-string'] || schema.format === 'int-or-string';
    const format = isEither ? 'int-or-string' : schema.format;
    this.#schema = schema;
    this.#types = types;
    this.type = this.#typeOf(schema);
    if (format) this.format = format;
    this.nullable = schema.nullable ?? false;
    this.embedded = schema['x-kubernetes-embedded-resource'] ?? false;
  }

  #typeOf({type = '', properties, additionalProperties}: JsonSchema): NodeType {
    if (type === 'object') return !properties && typeof additionalProperties === 'object' ? 'map' : 'object';
    return plain.has(type) ? (type as NodeType) : 'any';
  }

  get properties(): ReadonlyMap<string, SchemaNode> | undefined {
    const {properties} = this.#schema;
    if (this.type !== 'object' || !properties) return undefined;
    return (this.#properties ??= new Map(
      Object.entries(properties).map(([name, property]) => [name, new DocumentedNode(property, this.#types)]),
    ));
  }

  get items(): SchemaNode | undefined {
    const {items, additionalProperties} = this.#schema;
    const below = this.type === 'array' ? items : this.type === 'map' ? additionalProperties : undefined;
    if (typeof below !== 'object' || Array.isArray(below)) return undefined;
    return (this.#items ??= new DocumentedNode(below as JsonSchema, this.#types));
  }
}

/**
 * Returns the schema node of a kind in a document; undefined if the document does not have it. `group` has the form of
 * the wire.
 */
export const documentedKind = (
  {components: {schemas = {}} = {}}: TypesDocument,
  {group, version, kind}: {readonly group: string; readonly version: string; readonly kind: string},
): SchemaNode | undefined => {
  const found = Object.values(schemas).find(type =>
    type['x-kubernetes-group-version-kind']?.some(one => one.group === group && one.version === version && one.kind === kind),
  );
  return found && new DocumentedNode(found, schemas);
};
