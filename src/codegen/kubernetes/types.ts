// The schemas of Kubernetes' own types as they stand in a custom resource definition: written out, with list types, map
// keys and defaults.

import {conditionSchema, intOrStringAlternatives, quantitySchema} from '#src/codegen/known-schemas.js';
import {builtinSchemas, type Schemas} from '#src/schema/builtin/schemas.js';
import {extensions, type JsonSchema} from '#src/schema/json-schema.js';
import type {SchemaNode, TypeRef} from '#src/schema/node.js';
import {typesNamed} from './names.js';

/** Types of values that have no structure. */
const values: Readonly<Record<string, JsonSchema>> = {
  IntOrString: {[extensions.intOrString]: true, anyOf: intOrStringAlternatives},
  Quantity: quantitySchema,
  V1MicroTime: {type: 'string', format: 'date-time'},
};

const texts: JsonSchema = {type: 'object', additionalProperties: {type: 'string'}};

/** The metadata of an object within another: what people state, and not what the server adds. */
const embeddedMetadata: JsonSchema = {
  type: 'object',
  properties: {
    annotations: texts,
    finalizers: {type: 'array', items: {type: 'string'}},
    labels: texts,
    name: {type: 'string'},
    namespace: {type: 'string'},
  },
};

const formats: Readonly<Record<string, JsonSchema>> = {
  'int-or-string': values['IntOrString']!,
  quantity: quantitySchema,
  raw: {type: 'object', [extensions.preserveUnknownFields]: true},
  fields: {type: 'object', [extensions.preserveUnknownFields]: true},
  json: {[extensions.preserveUnknownFields]: true},
  'date-time-micro': {type: 'string', format: 'date-time'},
};

/** Converts the types of Kubernetes to schemas. Nothing is read before a type is asked for. */
export class KubernetesTypes {
  readonly #schemas: Schemas;
  readonly #known = new Map<string, JsonSchema>();

  constructor(schemas: Schemas = builtinSchemas()) {
    this.#schemas = schemas;
  }

  /**
   * Returns the schema of a type that is imported from a module; undefined if there is none. Throws an error for one
   * that contains itself.
   */
  of(name: string, module: string): JsonSchema | undefined {
    if (Object.hasOwn(values, name)) return values[name];
    const key = `${module} ${name}`;
    const known = this.#known.get(key);
    if (known) return known;
    const node = typesNamed(name, module)
      .map(ref => this.#schemas.of(ref.group, ref.version, ref.name))
      .find(each => each !== undefined);
    const schema = node?.ref ? {...describedAs(this.#schemas.docs(node.ref)?.description), ...this.#schema(node, [])} : undefined;
    if (schema) this.#known.set(key, schema);
    return schema;
  }

  #schema(node: SchemaNode, open: readonly TypeRef[]): JsonSchema {
    return {...this.#structure(node, open), ...mergingOf(node)};
  }

  #structure(node: SchemaNode, open: readonly TypeRef[]): JsonSchema {
    const {type, format, items, ref} = node;
    const known = format === undefined ? undefined : formats[format];
    if (known) return known;
    if (ref?.group === 'meta' && ref.name === 'ObjectMeta') return embeddedMetadata;
    if (ref?.group === 'meta' && ref.name === 'Condition') return conditionSchema;
    switch (type) {
      case 'array':
        return {type, items: items ? this.#schema(items, open) : formats['json']!};
      case 'map':
        return {type: 'object', additionalProperties: items ? this.#schema(items, open) : formats['json']!};
      case 'any':
        return formats['json']!;
      case 'object':
        return this.#object(node, open);
      default:
        return {type, ...(format ? {format} : {})};
    }
  }

  #object({properties, required, ref}: SchemaNode, open: readonly TypeRef[]): JsonSchema {
    if (ref && open.includes(ref)) throw new Error(`${ref.name} contains itself: a structural schema cannot be recursive`);
    const within = ref ? [...open, ref] : open;
    const docs = ref ? this.#schemas.docs(ref) : undefined;
    const fields = [...(properties ?? [])].map(([name, field]): [string, JsonSchema] => [
      name,
      {
        ...describedAs(docs?.fields[name] ?? (field.ref ? this.#schemas.docs(field.ref)?.description : undefined)),
        ...this.#schema(field, within),
        ...(required?.has(name) ? {} : defaultOf(field)),
      },
    ]);
    return {
      type: 'object',
      ...(fields.length > 0 ? {properties: Object.fromEntries(fields)} : {}),
      ...(required && required.size > 0 ? {required: [...required].sort()} : {}),
    };
  }
}

const describedAs = (description: string | undefined): JsonSchema => (description ? {description} : {});

/** The default of an optional scalar. Those of structs and of required fields only say that Go has zero values. */
const defaultOf = ({default: value}: SchemaNode): JsonSchema =>
  ['string', 'number', 'boolean'].includes(typeof value) ? {default: value} : {};

const mergingOf = ({listType, listMapKeys, mapType}: SchemaNode): JsonSchema => ({
  ...(listType ? {[extensions.listType]: listType} : {}),
  ...(listMapKeys ? {[extensions.listMapKeys]: listMapKeys} : {}),
  ...(mapType ? {[extensions.mapType]: mapType} : {}),
});
