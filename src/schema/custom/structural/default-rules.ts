import {invalid, type FieldError} from '#src/api/field-error.js';
import {collectErrors} from '#src/api/collect-errors.js';
import {DecodeError} from '#src/schema/decode/error.js';
import {copied, type PlainObject} from '#src/schema/decode/plain.js';
import type {SchemaNode} from '#src/schema/node.js';
import {Findings, Reporter} from '#src/schema/custom/findings.js';
import {extensions, itemsOf, propertiesOf, someSchema, type JsonSchema} from '#src/schema/json-schema.js';
import {MetadataReader, validateEmbedded, type MetadataValidator} from '#src/schema/custom/metadata.js';
import {prune} from '#src/schema/custom/prune.js';
import {ValueRule} from '#src/schema/custom/value-rule.js';

// Validates the defaults in a schema against that schema, when a definition is written.

/** What the validation of defaults needs besides the schema. */
export interface DefaultDemands {
  /** Returns the built-in schema of metadata; called for embedded objects. */
  metadata(): SchemaNode;
  readonly validateMetadata: MetadataValidator;
  /** Allows defaults with fields unknown to their schema, as stored definitions may have them. */
  readonly unknownFields: boolean;
}

/** Wraps a value in the object that contains it. */
type Around = (value: unknown) => PlainObject;

/** The position of a schema within an embedded object. */
interface Inside {
  /** The schema of the embedded object. */
  readonly whole: JsonSchema;
  readonly around: Around;
  readonly isMeta: boolean;
}

const objectFields: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

const anObject: Around = value => ({kind: 'Validation', apiVersion: 'validation/v1', ...(value as PlainObject)});

const asPart = (value: unknown): PlainObject => ({part: copied(value)});
const partSchema = (schema: JsonSchema): JsonSchema => ({type: 'object', properties: {part: schema}});

const hasUnknown = (value: unknown, schema: JsonSchema): boolean => prune(asPart(value), partSchema(schema)).length > 0;

/** Reports whether some default has fields that its schema does not declare. */
export const hasUnknownInDefaults = (schema: JsonSchema): boolean =>
  someSchema(schema, one => one.default !== undefined && one.default !== null && hasUnknown(one.default, one));

const embeds = (schema: JsonSchema): boolean => someSchema(schema, one => one[extensions.embeddedResource] === true);

/** Returns the path and error of metadata that cannot be decoded; undefined if all of it can. */
const unreadable = (value: PlainObject, schema: JsonSchema, demands: DefaultDemands): {path: string; detail: string} | undefined => {
  try {
    new MetadataReader(demands.metadata(), 'refuse').embedded(value, schema, '');
    return undefined;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    const [path = '', ...detail] = error.message.split(': ');
    return {path, detail: detail.join(': ')};
  }
};

const valueErrors = (value: unknown, schema: JsonSchema, path: string): readonly FieldError[] => {
  const found = new Findings();
  new ValueRule(schema, 'default').check(value, '', found, new Reporter(path), undefined);
  return found.errors;
};

const aggregate = (errors: readonly FieldError[]): string => {
  const texts = [...new Set(errors.map(({path, detail}) => `${path}: ${detail}`))];
  return texts.length === 1 ? texts[0]! : `[${texts.join(', ')}]`;
};

/** Validates a default within metadata as part of an otherwise empty object. */
const metadataErrors = (schema: JsonSchema, {whole, around}: Inside, path: string, demands: DefaultDemands): readonly FieldError[] => {
  const embedded = {...whole, [extensions.embeddedResource]: true};
  const object = around(copied(schema.default));
  const bad = unreadable(object, embedded, demands);
  const errors = bad ? [invalidAt(bad)] : collectErrors(validateEmbedded(object, embedded, demands.validateMetadata));
  return errors.length === 0 ? [] : [invalid(path, schema.default, `must result in valid metadata: ${aggregate(errors)}`)];
};

const invalidAt = ({path, detail}: {path: string; detail: string}): FieldError => ({
  path: path.replace(/^\./, ''),
  reason: 'FieldValueInvalid',
  detail,
});

const embeddedErrors = (schema: JsonSchema, path: string, demands: DefaultDemands): readonly FieldError[] => {
  if (!embeds(schema)) return [];
  const bad = unreadable(asPart(schema.default), partSchema(schema), demands);
  return bad
    ? [invalidAt({path: `${path}${bad.path.slice('part'.length)}`, detail: bad.detail})]
    : collectErrors(validateEmbedded(schema.default, schema, demands.validateMetadata, path));
};

function* validateDefault(schema: JsonSchema, inside: Inside, path: string, demands: DefaultDemands): Iterable<FieldError> {
  if (!inside.isMeta && !demands.unknownFields && hasUnknown(schema.default, schema))
    yield invalid(path, schema.default, 'must not have unknown fields');
  const metadata = inside.isMeta ? metadataErrors(schema, inside, path, demands) : embeddedErrors(schema, path, demands);
  yield* metadata.length > 0 ? metadata : valueErrors(schema.default, schema, path);
}

function* walk(given: JsonSchema, outside: Inside, path: string, demands: DefaultDemands): Iterable<FieldError> {
  const isWhole = given[extensions.embeddedResource] === true;
  const inside: Inside = isWhole ? {whole: given, around: anObject, isMeta: false} : outside;
  if (given.default !== undefined && given.default !== null) yield* validateDefault(given, inside, `${path}.default`, demands);
  const items = itemsOf(given);
  if (items) yield* walk(items, {...inside, around: value => inside.around([value])}, `${path}.items`, demands);
  for (const [name, property] of propertiesOf(given)) {
    const isMeta = inside.isMeta || (isWhole && objectFields.has(name));
    yield* walk(property, {...inside, isMeta, around: value => inside.around({[name]: value})}, `${path}.properties[${name}]`, demands);
  }
}

/** Validates the defaults of a structural schema against that schema. `additionalProperties` cannot have any. */
export const validateDefaults = (schema: JsonSchema, path: string, demands: DefaultDemands): FieldError[] =>
  collectErrors(walk({...schema, [extensions.embeddedResource]: true}, {whole: schema, around: anObject, isMeta: false}, path, demands));
