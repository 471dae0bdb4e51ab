import type {Naming} from '#src/api/naming.js';
import type {Steps} from '#src/base/steps.js';
import {itemsOf, type JsonSchema} from '#src/schema/json-schema.js';
import {extension, type Json} from './names.js';

/** The documentation of the fields of every whole object. */
export interface ObjectFields {
  readonly apiVersion: Json;
  readonly kind: Json;
  readonly metadata: Json;
}

export interface CustomTypeOptions {
  readonly naming: Naming;
  readonly version: 2 | 3;
  /** The fields of every object with their documentation. */
  readonly fields: ObjectFields;
}

/** Keywords that are copied unchanged to both OpenAPI versions. */
const plain = [
  'title',
  'description',
  'format',
  'maximum',
  'exclusiveMaximum',
  'minimum',
  'exclusiveMinimum',
  'maxLength',
  'minLength',
  'pattern',
  'maxItems',
  'minItems',
  'uniqueItems',
  'multipleOf',
  'maxProperties',
  'minProperties',
] as const;

const extensions = [
  'preserve-unknown-fields',
  'embedded-resource',
  'int-or-string',
  'list-map-keys',
  'list-type',
  'map-type',
  'validations',
] as const;

const isNothing = (value: unknown): boolean =>
  value === undefined || value === null || value === false || value === '' || (Array.isArray(value) && value.length === 0);

const isOnly = (schema: JsonSchema | undefined, type: string): boolean =>
  schema?.type === type && Object.values(schema).filter(value => !isNothing(value)).length === 1;
const isEither = (schemas: readonly JsonSchema[] | undefined): boolean =>
  schemas?.length === 2 && isOnly(schemas[0], 'integer') && isOnly(schemas[1], 'string');

const either: readonly JsonSchema[] = [{type: 'integer'}, {type: 'string'}];

/** Writes int-or-string as a oneOf, unless the definition does so itself. */
const withIntOrString = (schema: JsonSchema): JsonSchema => {
  const {anyOf, allOf} = schema;
  if (!schema['x-kubernetes-int-or-string'] || isEither(anyOf) || isEither(allOf?.[0]?.anyOf)) return schema;
  return anyOf ? {...schema, allOf: [{anyOf: either}, ...(allOf ?? [])]} : {...schema, anyOf: either};
};

/**
 * Removes what OpenAPI 2.0 and its readers do not support: alternatives, nulls, and structure beside unknown fields.
 */
const withoutUnsupported = (schema: JsonSchema): JsonSchema => {
  const {
    anyOf: _any,
    oneOf: _one,
    allOf: _all,
    not: _not,
    nullable,
    default: _default,
    type,
    items,
    properties,
    required,
    ...rest
  } = schema;
  const isOpen = schema['x-kubernetes-preserve-unknown-fields'] === true;
  const hidden = nullable === true || isOpen;
  const kept = {...(items && !hidden ? {items} : {}), ...(properties && !hidden ? {properties} : {})};
  const isTyped = type && !nullable && !(type === 'array' && !kept.items) && !(isOpen && type === 'object');
  const additional = schema.additionalProperties;
  const needed =
    typeof additional === 'object' && additional.nullable
      ? []
      : (required ?? []).filter(name => !(kept.properties && Object.hasOwn(kept.properties, name) && kept.properties[name]?.nullable));
  return {...rest, ...kept, ...(isTyped ? {type} : {}), ...(needed.length > 0 ? {required: needed} : {})};
};

/** Writes the schema of a custom resource as OpenAPI. */
class Writer {
  readonly #options: CustomTypeOptions;

  constructor(options: CustomTypeOptions) {
    this.#options = options;
  }

  *write(given: JsonSchema): Steps<Json> {
    yield;
    const schema = this.#options.version === 2 ? withoutUnsupported(given) : withIntOrString(given);
    const items = itemsOf(schema);
    const {properties, additionalProperties: additional} = schema;
    const {allOf, anyOf, oneOf, not} = schema;
    const written: Json = {
      ...this.#plain(schema),
      ...(items ? {items: yield* this.write(items)} : {}),
      ...(properties ? {properties: yield* this.#properties(properties)} : {}),
      ...(additional === undefined
        ? {}
        : {additionalProperties: typeof additional === 'object' ? yield* this.write(additional) : additional}),
      ...(allOf?.length ? {allOf: yield* this.#all(allOf)} : {}),
      ...(anyOf?.length ? {anyOf: yield* this.#all(anyOf)} : {}),
      ...(oneOf?.length ? {oneOf: yield* this.#all(oneOf)} : {}),
      ...(not ? {not: yield* this.write(not)} : {}),
    };
    return schema['x-kubernetes-embedded-resource'] ? this.#embedded(written, schema) : written;
  }

  *#properties(properties: Readonly<Record<string, JsonSchema>>): Steps<Json> {
    const written: [name: string, property: Json][] = [];
    for (const name of Object.keys(properties)) written.push([name, yield* this.write(properties[name]!)]);
    return Object.fromEntries(written);
  }

  *#all(schemas: readonly JsonSchema[]): Steps<Json[]> {
    const written: Json[] = [];
    for (const schema of schemas) written.push(yield* this.write(schema));
    return written;
  }

  #plain(schema: JsonSchema): Json {
    const {type, required} = schema;
    const result: Json = {};
    for (const name of plain) if (!isNothing(schema[name])) result[name] = schema[name];
    if (type) result['type'] = type;
    if (schema.nullable) result['nullable'] = true;
    if ((schema.default ?? null) !== null) result['default'] = schema.default;
    if (schema.enum) result['enum'] = schema.enum;
    if (required?.length) result['required'] = required;
    for (const name of extensions) {
      const value = schema[`x-kubernetes-${name}`];
      if (!isNothing(value)) Object.assign(result, extension(this.#options.naming, name, value));
    }
    return result;
  }

  /** Adds the fields of whole objects to an embedded one; OpenAPI 2.0 omits them beside unknown fields. */
  #embedded(written: Json, schema: JsonSchema): Json {
    if (this.#options.version === 2 && schema['x-kubernetes-preserve-unknown-fields']) return written;
    const {fields} = this.#options;
    const required = (written['required'] as readonly string[] | undefined) ?? [];
    return {
      ...written,
      properties: {...(written['properties'] as Json | undefined), ...fields},
      required: [...required, ...['kind', 'apiVersion'].filter(name => !required.includes(name))],
    };
  }
}

/**
 * Returns the definition of a custom resource's type, without the mark of a kind. Runs in steps: it may have very many
 * fields.
 */
export const customType = function* (
  source: JsonSchema | undefined,
  preserveUnknownFields: boolean,
  options: CustomTypeOptions,
): Steps<Json> {
  const isOpen = options.version === 2 && (preserveUnknownFields || source?.['x-kubernetes-preserve-unknown-fields'] === true);
  // Readers would take a type with properties to be closed.
  if (!source || isOpen) return {type: 'object'};
  const written = yield* new Writer(options).write(source);
  return {...written, properties: {...(written['properties'] as Json | undefined), ...options.fields}};
};
