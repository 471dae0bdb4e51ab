import {forbiddenField, invalid, notSupported, type FieldError} from '#src/api/field-error.js';
import {collectErrors} from '#src/api/collect-errors.js';
import {additionalOf, extensions, itemListOf, itemsOf, propertiesOf, type JsonSchema} from '#src/schema/json-schema.js';
import {validateIdentity, validateTopology} from './list-rules.js';
import {validateRuleTexts} from './rule-texts.js';

// Validates the keywords of a schema when a definition is written, and lists the places at which values occur.

/** The relation of a schema to its parent. */
export type Step = {readonly property: string} | 'items' | 'additionalProperties';

/** A nested schema that gives values their structure: the way to it, and how many of its values one object can have. */
export interface SchemaPlace {
  readonly schema: JsonSchema;
  readonly path: string;
  readonly parent?: SchemaPlace;
  readonly step?: Step;
  /** The upper bound of the schema's values in one object; undefined if lists and maps are unbounded. */
  readonly most: number | undefined;
  /** The path of the outermost parent below which old and new values cannot be correlated. */
  readonly uncorrelatable?: string;
}

/** Checks that apply only to some definitions. */
export interface SchemaDemands {
  /** Rejects unknown types. */
  readonly validTypes: boolean;
  /** Rejects granular items in sets. */
  readonly atomicSets: boolean;
  /** Requires the items of sets and associative lists to be declared with their keys. */
  readonly identity: boolean;
}

/** The types of a schema. */
export const knownTypes: readonly string[] = ['array', 'boolean', 'integer', 'number', 'object', 'string'];

/** What applies to a schema and everything below it. */
interface Context {
  readonly demands: SchemaDemands;
  /** Why defaults are forbidden; undefined if they are allowed. */
  readonly noDefaults?: string;
  readonly insideMeta?: boolean;
  readonly isRoot?: boolean;
  readonly place: SchemaPlace | undefined;
}

function* validateKeywords(schema: JsonSchema, path: string, {demands, noDefaults, insideMeta}: Context): Iterable<FieldError> {
  const {type = ''} = schema;
  if (demands.validTypes && type !== '' && !knownTypes.includes(type)) yield notSupported(`${path}.type`, type, knownTypes);
  if (schema.default !== undefined && noDefaults) yield forbiddenField(`${path}.default`, `must not be set ${noDefaults}`);
  if (schema.id) yield forbiddenField(`${path}.id`, 'id is not supported');
  if (schema.additionalItems !== undefined) yield forbiddenField(`${path}.additionalItems`, 'additionalItems is not supported');
  if (Object.keys(schema.patternProperties ?? {}).length > 0)
    yield forbiddenField(`${path}.patternProperties`, 'patternProperties is not supported');
  if (Object.keys(schema.definitions ?? {}).length > 0) yield forbiddenField(`${path}.definitions`, 'definitions is not supported');
  if (schema.dependencies !== undefined) yield forbiddenField(`${path}.dependencies`, 'dependencies is not supported');
  if (schema.$ref !== undefined) yield forbiddenField(`${path}.$ref`, '$ref is not supported');
  if (type === 'null') yield forbiddenField(`${path}.type`, 'type cannot be set to null, use nullable as an alternative');
  if (itemListOf(schema).length > 0) yield forbiddenField(`${path}.items`, 'items must be a schema object and not an array');
  if (insideMeta && schema[extensions.embeddedResource])
    yield forbiddenField(`${path}.${extensions.embeddedResource}`, 'must not be used inside of resource meta');
}

const metaFields = new Set(['metadata', 'kind', 'apiVersion']);

/** Returns the upper bound of a value's items or keys; undefined if unbounded. */
const maxWithin = ({type, additionalProperties, maxProperties, maxItems}: JsonSchema): number | undefined => {
  if (type === 'object' && additionalProperties !== undefined)
    return maxProperties === undefined ? undefined : Math.max(Number(maxProperties), 0);
  if (type === 'array') return maxItems === undefined ? undefined : Math.max(Number(maxItems), 0);
  return 1;
};

const placeBelow = (
  parent: SchemaPlace | undefined,
  schema: JsonSchema,
  path: string,
  step: Step,
  uncorrelatable: string | undefined,
): SchemaPlace | undefined => {
  if (!parent) return undefined;
  const within = maxWithin(parent.schema);
  const since = parent.uncorrelatable ?? uncorrelatable;
  return {
    schema,
    path,
    parent,
    step,
    most: parent.most === undefined || within === undefined ? undefined : parent.most * within,
    ...(since === undefined ? {} : {uncorrelatable: since}),
  };
};

function* propertySteps(schema: JsonSchema, path: string, context: Context): Iterable<readonly [JsonSchema, string, Context]> {
  for (const [name, property] of propertiesOf(schema)) {
    const at = `${path}.properties[${name}]`;
    const place = placeBelow(context.place, property, at, {property: name}, undefined);
    const isMeta = metaFields.has(name) && (context.isRoot || schema[extensions.embeddedResource] === true);
    const noDefaults = isMeta && context.isRoot ? `in top-level ${name}` : context.noDefaults;
    const insideMeta = isMeta || context.insideMeta === true;
    yield [property, at, {demands: context.demands, place, insideMeta, ...(noDefaults ? {noDefaults} : {})}];
  }
}

/** Yields every direct child schema, with its path and context. */
function* steps(schema: JsonSchema, path: string, context: Context): Iterable<readonly [JsonSchema, string, Context]> {
  const {isRoot: _, ...same} = context;
  const additional = additionalOf(schema);
  if (additional) {
    const at = `${path}.additionalProperties`;
    const noDefaults = context.insideMeta ? 'inside additionalProperties applying to object metadata' : context.noDefaults;
    yield [
      additional,
      at,
      {...same, place: placeBelow(context.place, additional, at, 'additionalProperties', undefined), ...(noDefaults ? {noDefaults} : {})},
    ];
  }
  yield* propertySteps(schema, path, context);
  const aside = {...same, place: undefined};
  if (schema.not) yield [schema.not, `${path}.not`, aside];
  for (const name of ['allOf', 'oneOf', 'anyOf'] as const)
    for (const [i, one] of (schema[name] ?? []).entries()) yield [one, `${path}.${name}[${i}]`, aside];
  for (const [name, one] of propertiesOf({properties: schema.definitions ?? {}})) yield [one, `${path}.definitions[${name}]`, aside];
  const uncorrelatable = schema[extensions.listType] === 'map' ? undefined : path;
  const itemPlace = (items: JsonSchema, at: string) => placeBelow(context.place, items, at, 'items', uncorrelatable);
  const items = itemsOf(schema);
  if (items) yield [items, `${path}.items`, {...same, place: itemPlace(items, `${path}.items`)}];
  for (const [i, one] of itemListOf(schema).entries())
    yield [one, `${path}.items[${i}]`, {...same, place: itemPlace(one, `${path}.items[${i}]`)}];
  for (const [name, one] of Object.entries(schema.dependencies ?? {}))
    if (!Array.isArray(one)) yield [one as JsonSchema, `${path}.dependencies[${name}]`, aside];
}

function* validateOne(schema: JsonSchema, path: string, {demands}: Context): Iterable<FieldError> {
  if (schema[extensions.preserveUnknownFields] === false)
    yield invalid(`${path}.${extensions.preserveUnknownFields}`, false, 'must be true or undefined');
  yield* validateTopology(schema, path, {loose: !demands.atomicSets});
  if (demands.identity) yield* validateIdentity(schema, path);
  yield* validateRuleTexts(schema, path);
}

function* schemaErrors(schema: JsonSchema, path: string, context: Context): Iterable<FieldError> {
  yield* validateKeywords(schema, path, context);
  if (schema.uniqueItems)
    yield forbiddenField(`${path}.uniqueItems`, 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic');
  const additional = schema.additionalProperties;
  if (Object.keys(schema.properties ?? {}).length > 0 && additional !== undefined && additional !== true) {
    yield forbiddenField(`${path}.additionalProperties`, 'additionalProperties and properties are mutual exclusive');
  }
  for (const [inner, at, below] of steps(schema, path, context)) yield* schemaErrors(inner, at, below);
  yield* validateOne(schema, path, context);
}

/**
 * Returns the errors of a custom resource's schema, except those that make it non-structural and those of its rules.
 */
export const schemaProblems = (schema: JsonSchema, path: string, demands: SchemaDemands): FieldError[] =>
  collectErrors(schemaErrors(schema, path, {demands, isRoot: true, place: undefined}));

const noDemands: SchemaDemands = {validTypes: false, atomicSets: false, identity: false};

function* placesBelow(schema: JsonSchema, path: string, context: Context): Iterable<SchemaPlace> {
  for (const [inner, at, below] of steps(schema, path, context)) if (below.place) yield* placesBelow(inner, at, below);
  if (context.place) yield context.place;
}

/** Yields the places of a valid schema, inner ones first. */
export const placesOf = (schema: JsonSchema, path: string): Iterable<SchemaPlace> =>
  placesBelow(schema, path, {demands: noDemands, isRoot: true, place: {schema, path, most: 1}});
