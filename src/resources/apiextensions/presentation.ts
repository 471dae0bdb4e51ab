import {duplicate, invalid, required, tooMany, type FieldError} from '#src/api/field-error.js';
import {fieldPathIn} from '#src/schema/custom/structural/field-path.js';
import type {JsonSchema} from '#src/schema/json-schema.js';
import {nonStructuralReason} from '#src/schema/custom/structural/structural.js';
import type {PrinterColumn, SelectableField, Subresources} from './types.js';

// Validation of what a definition declares for presentation: printer columns, subresources and selectable fields. Their
// paths are resolved in the schema.

const columnTypes = ['boolean', 'date', 'integer', 'number', 'string'];
const columnFormats = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password'];
/** The limit of selectable fields. */
export const maxSelectableFields = 8;

function* validateSimplePath(text: string, path: string): Iterable<FieldError> {
  if (!text.startsWith('.')) yield invalid(path, text, 'must be a simple json path starting with .');
}

/** Validates a printer column: name, type and path. */
export function* validateColumn({name, type, format, jsonPath}: Partial<PrinterColumn>, path: string): Iterable<FieldError> {
  if (!name) yield required(`${path}.name`);
  const oneOfTypes = `must be one of ${columnTypes.join(',')}`;
  if (!type) yield required(`${path}.type`, oneOfTypes);
  else if (!columnTypes.includes(type)) yield invalid(`${path}.type`, type, oneOfTypes);
  if (format && !columnFormats.includes(format)) yield invalid(`${path}.format`, format, `must be one of ${columnFormats.join(',')}`);
  // The original spells the field this way.
  if (!jsonPath) yield required(`${path}.JSONPath`);
  else yield* validateSimplePath(jsonPath, `${path}.JSONPath`);
}

function* validateReplicasPath(text: string | undefined, below: readonly string[], where: string, path: string): Iterable<FieldError> {
  if (!text) return yield required(path);
  if (!text.startsWith('.')) yield* validateSimplePath(text, path);
  else if (!below.some(start => text.startsWith(start))) yield invalid(path, text, `should be a json path under ${where}`);
}

/** Validates the paths of a scale subresource. */
export function* validateSubresources({scale}: Subresources, path: string): Iterable<FieldError> {
  if (!scale) return;
  const at = `${path}.scale`;
  yield* validateReplicasPath(scale.specReplicasPath, ['.spec.'], '.spec', `${at}.specReplicasPath`);
  yield* validateReplicasPath(scale.statusReplicasPath, ['.status.'], '.status', `${at}.statusReplicasPath`);
  if (scale.labelSelectorPath)
    yield* validateReplicasPath(scale.labelSelectorPath, ['.spec.', '.status.'], 'either .spec or .status', `${at}.labelSelectorPath`);
}

function* validateSelectableField(text: string, schema: JsonSchema, seen: Set<string>, path: string): Iterable<FieldError> {
  const found = fieldPathIn(schema, text, {brackets: false});
  if ('problem' in found) return yield invalid(path, text, `is an invalid path: ${found.problem}`);
  if (found.names[0] === 'metadata') yield invalid(path, text, 'must not point to fields in metadata');
  if (!['string', 'boolean', 'integer'].includes(found.schema.type ?? '')) {
    yield invalid(
      path,
      text,
      'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
    );
  }
  if (seen.has(found.text)) yield duplicate(path, text);
  seen.add(found.text);
}

/** Validates that selectable fields are declared and scalar. `anyNumber` accepts as many as are stored. */
export function* validateSelectableFields(
  fields: readonly SelectableField[],
  schema: JsonSchema,
  anyNumber: boolean,
  path: string,
): Iterable<FieldError> {
  // Problems that prevent parsing are reported for the schema itself.
  if (nonStructuralReason(schema) !== undefined) return;
  const seen = new Set<string>();
  for (const [i, {jsonPath}] of fields.entries()) {
    if (jsonPath) yield* validateSelectableField(jsonPath, schema, seen, `${path}[${i}].jsonPath`);
    else yield required(`${path}[${i}].jsonPath`);
  }
  if (seen.size > maxSelectableFields && !anyNumber) yield tooMany(path, seen.size, maxSelectableFields);
}
