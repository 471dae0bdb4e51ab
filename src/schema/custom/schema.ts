import type {FieldError} from '#src/api/field-error.js';
import {collectErrors} from '#src/api/collect-errors.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import type {SchemaNode} from '#src/schema/node.js';
import {Correlated} from './correlated.js';
import {applyDefaults} from './defaults.js';
import {Findings, Reporter} from './findings.js';
import {somePart, type JsonSchema} from './json-schema.js';
import {uniqueItems} from './lists.js';
import {MetadataReader, validateEmbedded, type Malformed, type MetadataValidator} from './metadata.js';
import {customNode} from './node.js';
import {dropNulls, prune} from './prune.js';
import {ValueRule} from './value-rule.js';

export interface CustomSchemaOptions {
  /** The built-in schema of metadata. */
  readonly metadata: SchemaNode;
  /** Judges the metadata of embedded objects. */
  readonly validateMetadata: MetadataValidator;
  /** Nothing is dropped: of definitions older than their schemas. */
  readonly preserveUnknownFields?: boolean;
}

/** What a custom resource's schema means for its objects. Frozen objects must be copied before what changes them in place. */
export interface CustomSchema {
  readonly source: JsonSchema;
  readonly node: SchemaNode;
  /**
   * What decoding a built-in kind does besides: metadata in its canonical form, unknown fields and nulls dropped, in place. Answers with the paths
   * of what was unknown, in the order in which they are told of. Throws `DecodeError` for malformed metadata, unless that is dropped.
   */
  coerce(object: PlainObject, malformed?: Malformed): string[];
  /** Drops unknown fields, in place; answers with their paths. */
  prune(object: PlainObject): string[];
  /** Fills in defaults, in place. */
  applyDefaults(object: PlainObject): void;
  /** What is wrong with an object, or with a change: what was wrong before and is as it was may stay so. */
  validate(object: Readonly<PlainObject>, old?: Readonly<PlainObject>): FieldError[];
  /** The same for a change through the subresource `status`. */
  validateStatus(object: Readonly<PlainObject>, old: Readonly<PlainObject>): FieldError[];
}

const isUnique = ({'x-kubernetes-list-type': type}: JsonSchema): boolean => type === 'set' || type === 'map';

class Schema implements CustomSchema {
  readonly source: JsonSchema;
  readonly #options: CustomSchemaOptions;
  #node: SchemaNode | undefined;
  #rule: ValueRule | undefined;
  #statusRule: ValueRule | undefined;
  #embeds: boolean | undefined;
  #hasUnique: boolean | undefined;
  #hasDefaults: boolean | undefined;

  constructor(source: JsonSchema, options: CustomSchemaOptions) {
    this.source = source;
    this.#options = options;
  }

  get node(): SchemaNode {
    return (this.#node ??= customNode(this.source, this.#options.metadata, object => this.coerce(object)));
  }

  coerce(object: PlainObject, malformed: Malformed = 'refuse'): string[] {
    const own = new MetadataReader(this.#options.metadata, malformed);
    own.read(object, 'metadata');
    const dropped = this.prune(object);
    if (!this.#options.preserveUnknownFields) dropNulls(object, this.source);
    if (!this.#embedsObjects()) return [...own.unknown, ...dropped];
    const others = new MetadataReader(this.#options.metadata, malformed);
    others.embedded(object, this.source, '');
    return [...own.unknown, ...dropped, ...others.unknown.sort()];
  }

  prune(object: PlainObject): string[] {
    return this.#options.preserveUnknownFields ? [] : prune(object, this.source);
  }

  applyDefaults(object: PlainObject): void {
    this.#hasDefaults ??= somePart(this.source, part => (part.default ?? null) !== null);
    if (!this.#hasDefaults) return;
    applyDefaults(object, this.source);
    // Defaults may say of metadata what there is not.
    if (this.#embedsObjects()) new MetadataReader(this.#options.metadata, 'drop').embedded(object, this.source, '');
  }

  validate(object: Readonly<PlainObject>, old?: Readonly<PlainObject>): FieldError[] {
    this.#rule ??= new ValueRule(this.source, 'object');
    const found = new Findings();
    this.#rule.check(object, '', found, new Reporter(''), old && new Correlated(object, old, this.source));
    const embedded = this.#embedsObjects() ? validateEmbedded(object, this.source, this.#options.validateMetadata) : [];
    return collectErrors(found.errors, embedded, this.#repeatedItems(object, old));
  }

  validateStatus(object: Readonly<PlainObject>, old: Readonly<PlainObject>): FieldError[] {
    const schema = this.source.properties?.['status'];
    const found = new Findings();
    if (schema && Object.hasOwn(object, 'status')) {
      this.#statusRule ??= new ValueRule(schema, 'object');
      const before = new Correlated(object['status'], Object.hasOwn(old, 'status') ? old['status'] : undefined, schema);
      this.#statusRule.check(object['status'], '', found, new Reporter('status'), before);
    }
    return collectErrors(found.errors, this.#repeatedItems(object, old));
  }

  /** A change may leave lists as they were, even where items are in them twice. */
  #repeatedItems(object: Readonly<PlainObject>, old: Readonly<PlainObject> | undefined): FieldError[] {
    this.#hasUnique ??= somePart(this.source, isUnique);
    if (!this.#hasUnique) return [];
    const errors = uniqueItems(object, this.source);
    if (errors.length === 0 || !old) return errors;
    return uniqueItems(old, this.source).length === 0 ? errors : [];
  }

  #embedsObjects(): boolean {
    return (this.#embeds ??= somePart(this.source, part => part['x-kubernetes-embedded-resource'] === true));
  }
}

/** What a definition's `openAPIV3Schema` means. Costs next to nothing until it is used, and then what is used of it. */
export const customSchema = (source: JsonSchema, options: CustomSchemaOptions): CustomSchema => new Schema(source, options);

const blocking: ReadonlySet<string> = new Set(['FieldValueNotSupported', 'FieldValueRequired', 'FieldValueTooLong', 'FieldValueTooMany', 'FieldValueTypeInvalid']);

/** Whether errors leave nothing that rules in the expression language could be asked about. */
export const blocksRules = (errors: readonly FieldError[]): boolean => errors.some(({reason}) => blocking.has(reason));
