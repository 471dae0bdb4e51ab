import {invalid} from '#src/api/field-error.js';
import type {JsonSchema} from '#src/schema/json-schema.js';
import {customSchema, type CustomSchema} from '#src/schema/custom/schema.js';
import {Schemas} from '#src/schema/builtin/schemas.js';

export const metadata = new Schemas().of('meta', 'v1', 'ObjectMeta')!;

export const aSchema = (source: JsonSchema, preserveUnknownFields = false): CustomSchema =>
  customSchema(source, {
    metadata,
    preserveUnknownFields,
    validateMetadata: function* ({name}, {namespaced, path}) {
      if (name === 'bad/name') yield invalid(`${path}.name`, name, namespaced ? 'in a namespace' : 'in none');
    },
  });

/** The schema of a kind whose `spec` is so. */
export const withSpec = (spec: JsonSchema): CustomSchema => aSchema({type: 'object', properties: {spec}});

export const has = (properties: Readonly<Record<string, JsonSchema>>, more: JsonSchema = {}): JsonSchema => ({
  type: 'object',
  properties,
  ...more,
});

export const ports: JsonSchema = has({
  ports: {
    type: 'array',
    items: has({name: {type: 'string'}, port: {type: 'integer', maximum: 10}}),
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['name'],
  },
  tags: {type: 'array', items: {type: 'string', maxLength: 1}, 'x-kubernetes-list-type': 'set'},
  mode: {type: 'string', enum: ['a']},
});
