import {forbiddenField, type FieldError} from '#src/api/field-error.js';
import {type JsonSchema} from './json-schema.js';

/** Schemas that lie deeper than this in one another are not looked at. */
export const deepest = 64;

const inside = (schema: JsonSchema): unknown[] => [
  schema.items,
  schema.additionalProperties,
  schema.additionalItems,
  schema.not,
  ...(schema.allOf ?? []),
  ...(schema.anyOf ?? []),
  ...(schema.oneOf ?? []),
  ...[schema.properties, schema.patternProperties, schema.definitions, schema.dependencies].flatMap(record => Object.values(record ?? {})),
];

/**
 * Refuses a schema with more levels than anybody reads, before anything goes through it level by level. Differs from upstream, which has no limit of
 * its own here.
 */
export const tooDeep = (schema: JsonSchema, path: string): FieldError | undefined => {
  let level: unknown[] = [schema];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > deepest) return forbiddenField(path, `schemas must not be nested more than ${deepest} levels deep`);
    level = level.flat().flatMap(one => (typeof one === 'object' && one !== null ? inside(one as JsonSchema) : []));
  }
  return undefined;
};
