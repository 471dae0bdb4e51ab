import {forbiddenField, invalid, type FieldError} from '#src/api/field-error.js';
import {collectErrors, type Findings} from '#src/api/collect-errors.js';
import {extensions, type JsonSchema} from '#src/schema/json-schema.js';
import {validateDefaults} from '#src/schema/custom/structural/default-rules.js';
import {tooDeep} from '#src/schema/custom/structural/depth.js';
import {schemaProblems} from '#src/schema/custom/structural/schema-rules.js';
import {structuralProblems, nonStructuralReason} from '#src/schema/custom/structural/structural.js';
import type {Ratcheting} from './ratcheting.js';
import {metadataNode, validateMetadata} from './metadata.js';
import {internalSchema} from './internal-form.js';

/**
 * The keywords allowed at the root of a schema with a status subresource, as the original names them and as they are
 * written.
 */
const rootFields: readonly (readonly [string, keyof JsonSchema])[] = [
  ['Description', 'description'],
  ['Type', 'type'],
  ['Format', 'format'],
  ['Title', 'title'],
  ['Maximum', 'maximum'],
  ['ExclusiveMaximum', 'exclusiveMaximum'],
  ['Minimum', 'minimum'],
  ['ExclusiveMinimum', 'exclusiveMinimum'],
  ['MaxLength', 'maxLength'],
  ['MinLength', 'minLength'],
  ['Pattern', 'pattern'],
  ['MaxItems', 'maxItems'],
  ['MinItems', 'minItems'],
  ['UniqueItems', 'uniqueItems'],
  ['MultipleOf', 'multipleOf'],
  ['Required', 'required'],
  ['Items', 'items'],
  ['Properties', 'properties'],
  ['ExternalDocs', 'externalDocs'],
  ['Example', 'example'],
  ['XPreserveUnknownFields', extensions.preserveUnknownFields],
  ['XValidations', extensions.validations],
];
const allowedAtRoot = new Set<string>(rootFields.map(([, field]) => field));

/**
 * Validates the root of a schema with a status subresource: keywords that would also apply to the status are rejected,
 * even with an empty value.
 */
function* validateRoot(schema: JsonSchema, path: string): Iterable<FieldError> {
  if (schema.type && schema.type !== 'object') {
    return yield invalid(
      `${path}.type`,
      schema.type,
      'only "object" is allowed as the type at the root of the schema if the status subresource is enabled',
    );
  }
  if (Object.entries(schema).every(([field, value]) => value === undefined || value === false || allowedAtRoot.has(field))) return;
  const names = rootFields.map(([name]) => name).join(' ');
  yield invalid(
    path,
    internalSchema(schema),
    `only [${names}] fields are allowed at the root of the schema if the status subresource is enabled`,
  );
}

export interface SchemaContext {
  readonly hasStatus: boolean;
  readonly ratcheting: Ratcheting;
  /** Keeps undeclared fields, as older definitions could. */
  readonly preservesUnknown: boolean;
  /**
   * Validates the rules of a schema with valid structure and defaults; `problems` are the other errors of the schema.
   */
  readonly validateRules?: ((schema: JsonSchema, path: string, problems: readonly FieldError[]) => Findings) | undefined;
}

/** Validates the schema of a version. */
export function* validateSchema(
  schema: JsonSchema,
  {hasStatus, ratcheting, preservesUnknown, validateRules}: SchemaContext,
  path: string,
): Findings {
  const deep = tooDeep(schema, path);
  if (deep) return yield deep;
  const found: FieldError[] = hasStatus ? collectErrors(validateRoot(schema, path)) : [];
  if (schema.nullable) found.push(forbiddenField(`${path}.nullable`, 'nullable cannot be true at the root'));
  const mustBeStructural = !ratcheting.unstructured || !preservesUnknown;
  const unstructured = mustBeStructural ? nonStructuralReason(schema) : undefined;
  const structural = mustBeStructural && unstructured === undefined ? structuralProblems(schema, path) : [];
  found.push(...structural);
  const isStructural = mustBeStructural && unstructured === undefined && structural.length === 0;
  const defaults = isStructural
    ? validateDefaults(schema, path, {metadata: metadataNode, validateMetadata, unknownFields: ratcheting.unknownInDefaults})
    : [];
  found.push(...defaults);
  const demands = {validTypes: !ratcheting.unknownTypes, atomicSets: !ratcheting.granularSets, identity: !ratcheting.incompleteKeys};
  const problems = schemaProblems(schema, path, demands);
  found.push(...problems);
  if (validateRules && isStructural && defaults.length === 0)
    for (const problem of validateRules(schema, path, problems)) {
      if (problem) found.push(problem);
      else yield;
    }
  // A schema that cannot be parsed usually has other errors already.
  if (found.length === 0 && unstructured !== undefined) found.push(invalid(path, '', unstructured));
  yield* found;
}
