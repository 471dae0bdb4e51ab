import {forbiddenField, invalid, required, type FieldError} from '#src/api/field-error.js';
import {collectErrors, maxErrors, moreErrors} from '#src/api/collect-errors.js';
import {runSteps, type Steps} from '#src/base/steps.js';
import {regexpError} from '#src/schema/regexp.js';
import {additionalOf, extensions, itemsOf, propertiesOf, type JsonSchema} from '#src/schema/json-schema.js';
import {validateStructuralMetadata} from './metadata.js';

// A schema is structural if types are declared outside of allOf, anyOf, oneOf and not, and everything mentioned there
// is declared outside too (KEP-1693).

const none = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0);

/** Returns why a schema cannot be parsed as a structural one; undefined if it can. */
export const nonStructuralReason = (schema: JsonSchema): string | undefined => runSteps(nonStructuralReasonInSteps(schema));

/** Does the same in steps, for schemas with very many properties. */
export const nonStructuralReasonInSteps = function* (schema: JsonSchema): Steps<string | undefined> {
  const unsupported = (
    [
      ['id', schema.id],
      ['schema', schema.$schema],
      ['$ref', schema.$ref],
      ['patternProperties', schema.patternProperties],
      ['dependencies', schema.dependencies],
    ] as const
  ).find(([, value]) => !none(value));
  if (unsupported) return `OpenAPIV3Schema '${unsupported[0]}' is not supported`;
  if (schema.additionalItems !== undefined) return "OpenAPIV3Schema 'additionalItems' is not supported";
  if (!none(schema.definitions)) return "OpenAPIV3Schema 'definitions' is not supported";
  const inner = function* (list: readonly (JsonSchema | undefined)[] | undefined): Steps<string | undefined> {
    for (const [index, one] of (list ?? []).entries()) {
      if (index % schemasOfStep === schemasOfStep - 1) yield;
      const why = one && (yield* nonStructuralReasonInSteps(one));
      if (why) return why;
    }
    return undefined;
  };
  const nested =
    (yield* inner([schema.not])) ?? (yield* inner(schema.allOf)) ?? (yield* inner(schema.anyOf)) ?? (yield* inner(schema.oneOf));
  if (nested) return nested;
  if (schema[extensions.preserveUnknownFields] === false)
    return `internal error: '${extensions.preserveUnknownFields}' must be true or undefined`;
  if (Array.isArray(schema.items) && schema.items.length > 0) return "OpenAPIV3Schema 'items' must be a schema, but is an array";
  return yield* inner([itemsOf(schema), ...propertiesOf(schema).map(([, property]) => property), additionalOf(schema)]);
};

/** How many schemas of one list are checked in one step. */
const schemasOfStep = 100;

/** Errors, with undefined where the event loop may run. */
type Findings = Iterable<FieldError | undefined>;

type Level = 'root' | 'item' | 'field';

const isOnly = (schema: JsonSchema, type: string): boolean =>
  schema.type === type && Object.entries(schema).every(([key, value]) => key === 'type' || none(value) || value === false);
const isIntOrString = (anyOf: readonly JsonSchema[] | undefined): boolean =>
  anyOf?.length === 2 && isOnly(anyOf[0]!, 'integer') && isOnly(anyOf[1]!, 'string');

const missingType: Readonly<Record<Level, string>> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
};

function* validateType(schema: JsonSchema, level: Level, path: string): Iterable<FieldError> {
  const {type = ''} = schema;
  if (schema[extensions.embeddedResource] && type !== 'object') {
    const text = `must be object if ${extensions.embeddedResource} is true`;
    yield type === '' ? required(`${path}.type`, text) : invalid(`${path}.type`, type, text);
  } else if (type === '' && !schema[extensions.intOrString] && !schema[extensions.preserveUnknownFields])
    yield required(`${path}.type`, missingType[level]);
  if (level === 'root' && type !== '' && type !== 'object') yield invalid(`${path}.type`, type, 'must be object at the root');
}

function* validateInvariants(schema: JsonSchema, level: Level, path: string): Findings {
  const items = itemsOf(schema);
  if (schema.type === 'array' && !items) yield required(`${path}.items`, 'must be specified');
  if (items) yield* validateInvariants(items, 'item', `${path}.items`);
  for (const [index, [name, property]] of propertiesOf(schema).entries()) {
    if (index % schemasOfStep === schemasOfStep - 1) yield undefined;
    yield* validateInvariants(property, 'field', `${path}.properties[${name}]`);
  }
  if (schema.additionalProperties !== undefined) {
    if (level === 'root') yield forbiddenField(`${path}.additionalProperties`, 'must not be used at the root');
    const additional = additionalOf(schema);
    if (additional) yield* validateInvariants(additional, 'field', `${path}.additionalProperties`);
  }
  const isEmbedded = schema[extensions.embeddedResource] === true;
  const preserves = schema[extensions.preserveUnknownFields] === true;
  const orString = `must be false if ${extensions.intOrString} is true`;
  if (schema[extensions.intOrString] && preserves) yield invalid(`${path}.${extensions.preserveUnknownFields}`, true, orString);
  if (schema[extensions.intOrString] && isEmbedded) yield invalid(`${path}.${extensions.embeddedResource}`, true, orString);
  yield* validateValues(schema, {anyOf: isIntOrString(schema.anyOf), firstAnyOf: isIntOrString(schema.allOf?.[0]?.anyOf)}, path);
  yield* validateType(schema, level, path);
  if (isEmbedded && schema.additionalProperties !== undefined)
    yield forbiddenField(`${path}.additionalProperties`, `must not be used if ${extensions.embeddedResource} is set`);
  yield* validateStructuralMetadata(schema, {isRoot: level === 'root'}, path);
  if (isEmbedded && !preserves && none(schema.properties)) {
    yield required(
      `${path}.properties`,
      `must not be empty if ${extensions.embeddedResource} is true without ${extensions.preserveUnknownFields}`,
    );
  }
}

/** The two spellings of int-or-string, in which types are allowed where they otherwise are not. */
interface Skipped {
  readonly anyOf: boolean;
  readonly firstAnyOf: boolean;
}
const nothingSkipped: Skipped = {anyOf: false, firstAnyOf: false};

function* validateValues(schema: JsonSchema, skipped: Skipped, path: string): Iterable<FieldError> {
  if (!skipped.anyOf)
    for (const [i, one] of (schema.anyOf ?? []).entries()) yield* validateNested(one, nothingSkipped, `${path}.anyOf[${i}]`);
  for (const [i, one] of (schema.allOf ?? []).entries())
    yield* validateNested(one, {anyOf: skipped.firstAnyOf && i === 0, firstAnyOf: false}, `${path}.allOf[${i}]`);
  for (const [i, one] of (schema.oneOf ?? []).entries()) yield* validateNested(one, nothingSkipped, `${path}.oneOf[${i}]`);
  if (schema.not) yield* validateNested(schema.not, nothingSkipped, `${path}.not`);
  const problem = schema.pattern && regexpError(schema.pattern);
  if (problem) yield invalid(`${path}.pattern`, schema.pattern, `must be a valid regular expression, but isn't: ${problem}`);
}

const forbiddenInside: readonly (readonly [keyof JsonSchema, string])[] = [
  ['default', 'undefined'],
  ['title', 'empty'],
  ['description', 'empty'],
  ['nullable', 'false'],
  [extensions.preserveUnknownFields, 'false'],
  [extensions.embeddedResource, 'false'],
  [extensions.intOrString, 'false'],
  [extensions.listMapKeys, 'empty'],
  [extensions.listType, 'undefined'],
  [extensions.mapType, 'undefined'],
  [extensions.validations, 'empty'],
];

const isSet = (value: unknown, than: string): boolean =>
  than === 'undefined' ? value !== undefined && value !== null : value !== false && !none(value);

/** Validates allOf, anyOf, oneOf and not, which constrain values without declaring structure. */
function* validateNested(schema: JsonSchema, skipped: Skipped, path: string): Iterable<FieldError> {
  yield* validateValues(schema, skipped, path);
  const items = itemsOf(schema);
  if (items) yield* validateNested(items, nothingSkipped, `${path}.items`);
  for (const [name, property] of propertiesOf(schema)) yield* validateNested(property, nothingSkipped, `${path}.properties[${name}]`);
  if (schema.type) yield forbiddenField(`${path}.type`, 'must be empty to be structural');
  if (schema.additionalProperties !== undefined && schema.additionalProperties !== false)
    yield forbiddenField(`${path}.additionalProperties`, 'must be undefined to be structural');
  for (const [field, than] of forbiddenInside)
    if (isSet(schema[field], than)) yield forbiddenField(`${path}.${field}`, `must be ${than} to be structural`);
  if (schema.properties && Object.hasOwn(schema.properties, 'metadata'))
    yield forbiddenField(`${path}.properties[metadata]`, 'must not be specified in a nested context');
}

/**
 * Validates that everything the constraints mention is declared. `at` is the path where it must be declared, `path`
 * where it is mentioned.
 */
function* validateCompleteness(conditions: JsonSchema, schema: JsonSchema | undefined, at: string, path: string): Iterable<FieldError> {
  const lists = [
    ['not', conditions.not && [conditions.not]],
    ['allOf', conditions.allOf],
    ['anyOf', conditions.anyOf],
    ['oneOf', conditions.oneOf],
  ] as const;
  for (const [name, list] of lists) {
    for (const [i, one] of (list ?? []).entries())
      yield* validateNestedCompleteness(one, schema, at, name === 'not' ? `${path}.not` : `${path}.${name}[${i}]`);
  }
}

function* validateNestedCompleteness(
  conditions: JsonSchema,
  schema: JsonSchema | undefined,
  at: string,
  path: string,
): Iterable<FieldError> {
  if (!schema) return yield required(at, `because it is defined in ${path}`);
  yield* validateCompleteness(conditions, schema, at, path);
  const items = itemsOf(conditions);
  if (items) yield* validateNestedCompleteness(items, itemsOf(schema), `${at}.items`, `${path}.items`);
  for (const [name, property] of propertiesOf(conditions)) {
    const own = schema.properties && Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;
    yield* validateNestedCompleteness(property, own, `${at}.properties[${name}]`, `${path}.properties[${name}]`);
  }
}

const text = ({path, detail}: FieldError): string => `${path}: ${detail}`;
/** The note that there are more errors sorts last. */
const byText = (a: FieldError, b: FieldError): number =>
  Number(a === moreErrors) - Number(b === moreErrors) || (text(a) < text(b) ? -1 : text(a) > text(b) ? 1 : 0);

/**
 * Returns everything that makes a schema non-structural, ordered by text. Call it only if `nonStructuralReason` returns
 * undefined.
 */
export const structuralProblems = (schema: JsonSchema, path: string): FieldError[] => runSteps(structuralInSteps(schema, path));

/** Does the same in steps, for schemas with very many properties. */
export const structuralInSteps = function* (schema: JsonSchema, path: string): Steps<FieldError[]> {
  const found: FieldError[] = [];
  for (const error of validateInvariants(schema, 'root', path)) {
    if (error) found.push(error);
    else yield;
    if (found.length > maxErrors) break;
  }
  return collectErrors(found, validateCompleteness(schema, schema, path, path)).sort(byText);
};
