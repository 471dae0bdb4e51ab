import type {FieldError} from '#src/api/field-error.js';
import {collectErrors} from '#src/api/collect-errors.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import type {SchemaNode} from '#src/schema/node.js';
import {Correlated} from './correlated.js';
import {applyDefaults} from './defaults.js';
import {Findings, Reporter} from './findings.js';
import {factsOf} from './facts.js';
import type {JsonSchema} from '#src/schema/json-schema.js';
import {uniqueItems} from './unique-items.js';
import {MetadataReader, validateEmbedded, type Malformed, type MetadataValidator} from './metadata.js';
import {customNode} from './node.js';
import {dropNulls, prune} from './prune.js';
import {ValueRule} from './value-rule.js';

// The runtime of a custom resource's schema. A request is coerced (metadata, pruning, nulls), defaulted, and validated;
// a stored object is coerced leniently and defaulted.

export interface CustomSchemaOptions {
  /** The built-in schema of metadata. */
  readonly metadata: SchemaNode;
  /** Validates the metadata of embedded objects. */
  readonly validateMetadata: MetadataValidator;
  /** Keeps undeclared fields; set for definitions that predate schemas. */
  readonly preserveUnknownFields?: boolean;
}

/**
 * Applies the schema of a custom resource to its objects. Methods that change objects do so in place, so copy frozen
 * objects first.
 */
export interface CustomSchema {
  readonly source: JsonSchema;
  readonly node: SchemaNode;
  /**
   * Normalizes an object as decoding does for built-in kinds: canonical metadata, without undeclared fields and nulls,
   * in place. Returns the paths of undeclared fields in the order of their warnings. Throws `DecodeError` for malformed
   * metadata unless that is dropped.
   */
  coerce(object: PlainObject, malformed?: Malformed): string[];
  /** Removes undeclared fields in place; returns their paths. */
  prune(object: PlainObject): string[];
  /** Applies defaults in place. */
  applyDefaults(object: PlainObject): void;
  /** Validates an object, or an update: unchanged values are not validated again (ratcheting). */
  validate(object: Readonly<PlainObject>, old?: Readonly<PlainObject>): FieldError[];
  /** Does the same for an update of the `status` subresource. */
  validateStatus(object: Readonly<PlainObject>, old: Readonly<PlainObject>): FieldError[];
}

class Schema implements CustomSchema {
  readonly source: JsonSchema;
  readonly #options: CustomSchemaOptions;
  #node: SchemaNode | undefined;
  #rule: ValueRule | undefined;
  #statusRule: ValueRule | undefined;

  constructor(source: JsonSchema, options: CustomSchemaOptions) {
    this.source = source;
    this.#options = options;
  }

  get node(): SchemaNode {
    return (this.#node ??= customNode(this.source, this.#options.metadata, (object, {keepsNulls}) =>
      this.coerce(object, 'refuse', keepsNulls),
    ));
  }

  coerce(object: PlainObject, malformed: Malformed = 'refuse', keepsNulls = false): string[] {
    const own = new MetadataReader(this.#options.metadata, malformed);
    own.read(object, 'metadata');
    const dropped = this.prune(object);
    if (!this.#options.preserveUnknownFields && !keepsNulls) dropNulls(object, this.source);
    if (!this.#embedsObjects()) return [...own.unknown, ...dropped];
    const others = new MetadataReader(this.#options.metadata, malformed);
    others.embedded(object, this.source, '');
    return [...own.unknown, ...dropped, ...others.unknown.sort()];
  }

  prune(object: PlainObject): string[] {
    return this.#options.preserveUnknownFields ? [] : prune(object, this.source);
  }

  applyDefaults(object: PlainObject): void {
    if (!factsOf(this.source).hasDefaults) return;
    applyDefaults(object, this.source);
    // Defaults may contain undeclared fields of metadata.
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

  /** An update may leave lists unchanged even if they contain duplicates. */
  #repeatedItems(object: Readonly<PlainObject>, old: Readonly<PlainObject> | undefined): FieldError[] {
    if (!factsOf(this.source).hasUnique) return [];
    const errors = uniqueItems(object, this.source);
    if (errors.length === 0 || !old) return errors;
    return uniqueItems(old, this.source).length === 0 ? errors : [];
  }

  #embedsObjects(): boolean {
    return factsOf(this.source).hasEmbedded;
  }
}

/** Returns what a definition's `openAPIV3Schema` means. Computed lazily, for the parts that are used. */
export const customSchema = (source: JsonSchema, options: CustomSchemaOptions): CustomSchema => new Schema(source, options);

const blocking: ReadonlySet<string> = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);

/** Reports whether the errors prevent the evaluation of validation rules. */
export const blocksRules = (errors: readonly FieldError[]): boolean => errors.some(({reason}) => blocking.has(reason));
