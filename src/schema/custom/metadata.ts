import {jsonText} from '#src/base/json/json.js';
import {invalid, required, type FieldError} from '#src/api/field-error.js';
import {dnsLabel1035Problems} from '#src/api/names.js';
import type {ObjectMeta} from '#src/api/types.js';
import {inKeyOrder} from '#src/base/json/canonical-json.js';
import {DecodeError} from '#src/schema/decode/error.js';
import {isPlainObject, type PlainObject} from '#src/schema/decode/plain.js';
import {strictProblems} from '#src/schema/decode/strict.js';
import {TypedDecoder} from '#src/schema/decode/typed.js';
import type {SchemaNode} from '#src/schema/node.js';
import {itemsOf, type JsonSchema} from '#src/schema/json-schema.js';

// Metadata of custom objects and of objects embedded in them: decoding it as for built-in kinds, and validating
// embedded objects.

/** How malformed metadata is treated: rejected in requests, dropped field by field in stored objects. */
export type Malformed = 'refuse' | 'drop';

/**
 * Decodes metadata of an object and of the objects embedded in it. `unknown` collects the paths of undeclared fields.
 */
export class MetadataReader {
  readonly #node: SchemaNode;
  readonly #malformed: Malformed;
  readonly unknown: string[] = [];

  constructor(node: SchemaNode, malformed: Malformed) {
    this.#node = node;
    this.#malformed = malformed;
  }

  /** Normalizes an object's metadata in place. Throws `DecodeError`. */
  read(object: PlainObject, path: string): void {
    if (!Object.hasOwn(object, 'metadata')) return;
    const given = object['metadata'];
    const value = given === null ? {} : given;
    try {
      object['metadata'] = this.#decoded(value, path);
    } catch (error) {
      if (!(error instanceof DecodeError) || this.#malformed === 'refuse') throw error;
      if (isPlainObject(value)) object['metadata'] = this.#readableFields(value, path);
    }
  }

  #decoded(value: unknown, path: string): PlainObject {
    const decoder = new TypedDecoder();
    const metadata = decoder.decode(value, this.#node);
    if (decoder.unknown) {
      const found = strictProblems(jsonText(value), this.#node).map(problem => `${path}.${problem.path}`);
      for (const problem of found.sort()) this.unknown.push(problem);
    }
    return metadata;
  }

  #readableFields(value: PlainObject, path: string): PlainObject {
    const readable: PlainObject = {};
    for (const name of Object.keys(value)) {
      try {
        Object.assign(readable, this.#decoded({[name]: value[name]}, path));
      } catch (error) {
        if (!(error instanceof DecodeError)) throw error;
      }
    }
    return readable;
  }

  /** Normalizes the metadata of all objects embedded in a value. Throws `DecodeError` with the field's path. */
  embedded(value: unknown, schema: JsonSchema, path: string): void {
    if (Array.isArray(value)) {
      const items = itemsOf(schema);
      if (items) for (const [at, item] of value.entries()) this.embedded(item, items, `${path}[${at}]`);
      return;
    }
    if (!isPlainObject(value)) return;
    if (schema['x-kubernetes-embedded-resource']) this.#own(value, path);
    const {properties, additionalProperties} = schema;
    for (const name of Object.keys(value)) {
      if (properties && Object.hasOwn(properties, name))
        this.embedded(value[name], properties[name]!, path === '' ? name : `${path}.${name}`);
      else if (typeof additionalProperties === 'object') this.embedded(value[name], additionalProperties, `${path}[${name}]`);
    }
  }

  #own(object: PlainObject, path: string): void {
    for (const name of ['apiVersion', 'kind']) {
      if (!Object.hasOwn(object, name) || typeof object[name] === 'string') continue;
      if (this.#malformed === 'refuse') throw refused(invalid(`${path}.${name}`, object[name], 'must be a string'));
      delete object[name];
    }
    try {
      this.read(object, `${path}.metadata`);
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      throw refused(invalid(`${path}.metadata`, inKeyOrder(object['metadata']), error.message), error);
    }
    this.#dropEmpty(object['metadata']);
  }

  /** Drops what means something if it is empty, but only in the metadata of a whole object. */
  #dropEmpty(metadata: unknown): void {
    if (!isPlainObject(metadata)) return;
    for (const [name, {omitsEmptyNested}] of this.#node.properties ?? [])
      if (omitsEmptyNested && Array.isArray(metadata[name]) && metadata[name].length === 0) delete metadata[name];
  }
}

const refused = ({path, detail}: FieldError, cause?: unknown): DecodeError => new DecodeError(`${path}: ${detail}`, {cause});

/** Validates metadata as for a whole object. */
export type MetadataValidator = (
  metadata: ObjectMeta,
  options: {readonly namespaced: boolean; readonly path: string},
) => Iterable<FieldError>;

function* version(value: unknown, path: string): Iterable<FieldError> {
  if (typeof value !== 'string') yield invalid(path, value, 'must be a string');
  else if (value === '') yield invalid(path, value, 'must not be empty');
  else if (value.split('/').length > 2) yield invalid(path, value, `unexpected GroupVersion string: ${value}`);
}

function* kind(value: unknown, path: string): Iterable<FieldError> {
  if (typeof value !== 'string') yield invalid(path, value, 'must be a string');
  else if (value === '') yield invalid(path, value, 'must not be empty');
  else {
    const problems = dnsLabel1035Problems(value.toLowerCase());
    if (problems.length > 0) yield invalid(path, value, `may have mixed case, but should otherwise match: ${problems.join(',')}`);
  }
}

/** A valid name: embedded objects need none of their own. */
const anyName = 'fakename';

function* whole(object: PlainObject, path: string, metadata: MetadataValidator): Iterable<FieldError> {
  const at = (name: string): string => (path === '' ? name : `${path}.${name}`);
  if (!Object.hasOwn(object, 'apiVersion')) yield required(at('apiVersion'));
  if (!Object.hasOwn(object, 'kind')) yield required(at('kind'));
  if (Object.hasOwn(object, 'apiVersion')) yield* version(object['apiVersion'], at('apiVersion'));
  if (Object.hasOwn(object, 'kind')) yield* kind(object['kind'], at('kind'));
  const given = object['metadata'];
  if (!isPlainObject(given)) return;
  const {namespace} = given as ObjectMeta;
  yield* metadata({...given, name: (given as ObjectMeta).name || anyName}, {namespaced: Boolean(namespace), path: at('metadata')});
}

/** Validates apiVersion, kind and metadata of the objects embedded in a value. */
export function* validateEmbedded(value: unknown, schema: JsonSchema, metadata: MetadataValidator, path = ''): Iterable<FieldError> {
  if (Array.isArray(value)) {
    const items = itemsOf(schema);
    if (items) for (const [at, item] of value.entries()) yield* validateEmbedded(item, items, metadata, `${path}[${at}]`);
    return;
  }
  if (!isPlainObject(value)) return;
  if (schema['x-kubernetes-embedded-resource']) yield* whole(value, path, metadata);
  const {properties, additionalProperties} = schema;
  for (const name of Object.keys(value)) {
    if (properties && Object.hasOwn(properties, name))
      yield* validateEmbedded(value[name], properties[name]!, metadata, path === '' ? name : `${path}.${name}`);
    else if (typeof additionalProperties === 'object')
      yield* validateEmbedded(value[name], additionalProperties, metadata, `${path}[${name}]`);
  }
}
