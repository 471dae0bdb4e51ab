import {forbiddenField, type FieldError} from '#src/api/field-error.js';
import type {JsonSchema} from '#src/schema/json-schema.js';

/** Deeper schemas are rejected without being read. */
const maxDepth = 64;

const isSchema = (value: unknown): value is JsonSchema => typeof value === 'object' && value !== null;

const inside = (schema: JsonSchema): JsonSchema[] => {
  const {items, additionalProperties, additionalItems, not, allOf, anyOf, oneOf, properties, patternProperties, definitions, dependencies} =
    schema;
  const records = [properties, patternProperties, definitions, dependencies].map(record => Object.values(record ?? {}));
  return [items, additionalProperties, additionalItems, not, allOf, anyOf, oneOf, ...records].flat(2).filter(isSchema);
};

/**
 * Rejects a schema with too many levels before it is walked recursively. Differs from upstream, which has no limit of
 * its own here.
 */
export const tooDeep = (schema: JsonSchema, path: string): FieldError | undefined => {
  let level: JsonSchema[] = [schema];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxDepth) return forbiddenField(path, `schemas must not be nested more than ${maxDepth} levels deep`);
    level = level.flatMap(inside);
  }
  return undefined;
};
