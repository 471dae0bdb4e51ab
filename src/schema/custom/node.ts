import type {NodeFormat, NodeType, SchemaNode} from '#src/schema/node.js';
import {formatOf} from './formats/format.js';
import {DeclaredProperties} from './declared-properties.js';
import {itemsOf, type JsonSchema} from '#src/schema/json-schema.js';

// The schema of a custom resource in the form in which decoding, defaulting, pruning and field management walk it
// (`SchemaNode`), made lazily from its OpenAPI schema.

const text: SchemaNode = {type: 'string'};
/** The fields of every whole object beside its metadata. */
const ofObjects = [
  ['apiVersion', text],
  ['kind', text],
] as const;
const none: ReadonlyMap<string, SchemaNode> = new Map();

const typeOf = (source: JsonSchema, isObject: boolean): NodeType => {
  if (source['x-kubernetes-int-or-string']) return 'any';
  if (isObject) return source.properties || !source.additionalProperties ? 'object' : 'map';
  const {type} = source;
  return type === 'array' || type === 'string' || type === 'integer' || type === 'number' || type === 'boolean' ? type : 'any';
};

/**
 * A node of a custom resource's schema. Children are created on first access: most of a large definition is never used.
 */
class CustomNode implements SchemaNode {
  readonly type: NodeType;
  readonly source: JsonSchema;
  readonly #metadata: SchemaNode;
  #properties: ReadonlyMap<string, SchemaNode> | undefined;
  #items: SchemaNode | undefined;
  declare readonly format?: NodeFormat;
  declare readonly embedded?: boolean;

  constructor(source: JsonSchema, metadata: SchemaNode, isEmbedded: boolean) {
    this.source = source;
    this.#metadata = metadata;
    const isObject = isEmbedded || source.type === 'object';
    this.type = typeOf(source, isObject);
    const format = source['x-kubernetes-int-or-string'] ? 'int-or-string' : formatOf(source);
    if (format) this.format = format;
    if (isEmbedded) this.embedded = true;
  }

  get properties(): ReadonlyMap<string, SchemaNode> | undefined {
    if (this.type !== 'object' || (!this.source.properties && !this.embedded)) return undefined;
    return (this.#properties ??= new DeclaredProperties(this.source.properties ?? {}, {
      fixed: this.embedded ? new Map([...ofObjects, ['metadata', this.#metadata]]) : none,
      make: property => this.#child(property),
    }));
  }

  get items(): SchemaNode | undefined {
    const {additionalProperties} = this.source;
    const items = itemsOf(this.source);
    if (this.#items) return this.#items;
    if (this.type === 'array' && items) return (this.#items = this.#child(items));
    if (this.type === 'map' && typeof additionalProperties === 'object') return (this.#items = this.#child(additionalProperties));
    return undefined;
  }

  get required(): ReadonlySet<string> | undefined {
    return this.source.required && new Set(this.source.required);
  }

  get default(): unknown {
    return this.source.default ?? undefined;
  }

  get enum(): readonly unknown[] | undefined {
    return this.source.enum;
  }

  get nullable(): boolean {
    return this.source.nullable ?? false;
  }

  get preservesUnknown(): boolean {
    return this.source['x-kubernetes-preserve-unknown-fields'] ?? false;
  }

  get listType(): 'atomic' | 'set' | 'map' | undefined {
    return this.source['x-kubernetes-list-type'] as 'atomic' | 'set' | 'map' | undefined;
  }

  get listMapKeys(): readonly string[] | undefined {
    return this.source['x-kubernetes-list-map-keys'];
  }

  get mapType(): 'atomic' | 'granular' | undefined {
    return this.source['x-kubernetes-map-type'] as 'atomic' | 'granular' | undefined;
  }

  #child(source: JsonSchema): SchemaNode {
    return new CustomNode(source, this.#metadata, source['x-kubernetes-embedded-resource'] ?? false);
  }
}

/**
 * Returns the schema node of a custom resource: a whole object with the declared fields. `metadata` is the built-in
 * schema of metadata.
 */
export const customNode = (source: JsonSchema, metadata: SchemaNode, coerce: NonNullable<SchemaNode['coerce']>): SchemaNode =>
  Object.assign(new CustomNode(source, metadata, true), {coerce});
