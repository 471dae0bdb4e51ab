import {failureAt, type LiteralValue, type Place} from '#src/codegen/declarations/syntax.js';
import type {JsonSchema} from '#src/schema/json-schema.js';

/** Returns the schema of values that are listed. */
export const enumeration = (values: readonly LiteralValue[], at: Place): JsonSchema => {
  const types = new Set(values.map(value => (typeof value === 'number' ? (Number.isInteger(value) ? 'integer' : 'number') : typeof value)));
  if (types.has('number')) types.delete('integer');
  const [type, other] = types;
  if (type === undefined || other !== undefined) throw failureAt(at, 'the literals of a union must be of one type');
  return {type, enum: values};
};

/** Combines two object schemas. Fields of the second replace those of the first. */
export const merged = (one: JsonSchema, other: JsonSchema, at: Place): JsonSchema => {
  if (one.additionalProperties !== undefined || other.additionalProperties !== undefined)
    throw failureAt(at, 'a map cannot be combined with other fields: a schema has either');
  const properties = {...one.properties, ...other.properties};
  const required = [...new Set([...(one.required ?? []), ...(other.required ?? [])])];
  return {
    ...one,
    ...other,
    ...(Object.keys(properties).length > 0 ? {properties} : {}),
    ...(required.length > 0 ? {required} : {}),
  };
};
