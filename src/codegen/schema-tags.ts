// The tags that carry what a type of TypeScript cannot say of a schema, such as limits and defaults. Both directions of
// the generation go by this table.

import {closest} from '#src/base/text/closest.js';
import {messageOf} from '#src/base/message.js';
import {isPlainObject} from '#src/schema/decode/plain.js';
import {extensions, type JsonSchema, type ValidationRule} from '#src/schema/json-schema.js';
import {argumentText, jsonArgument, tag, textArgument, type Tag} from './doc.js';
import {kindTagNames} from './kind-tags.js';

type Form = 'number' | 'text' | 'json' | 'flag';

/** The tags with one keyword of a schema each, in the order in which they are written. */
const keywordTags: Readonly<Record<string, {readonly keyword: keyof JsonSchema; readonly form: Form}>> = {
  title: {keyword: 'title', form: 'text'},
  format: {keyword: 'format', form: 'text'},
  minimum: {keyword: 'minimum', form: 'number'},
  exclusiveMinimum: {keyword: 'exclusiveMinimum', form: 'flag'},
  maximum: {keyword: 'maximum', form: 'number'},
  exclusiveMaximum: {keyword: 'exclusiveMaximum', form: 'flag'},
  multipleOf: {keyword: 'multipleOf', form: 'number'},
  minLength: {keyword: 'minLength', form: 'number'},
  maxLength: {keyword: 'maxLength', form: 'number'},
  pattern: {keyword: 'pattern', form: 'text'},
  minItems: {keyword: 'minItems', form: 'number'},
  maxItems: {keyword: 'maxItems', form: 'number'},
  uniqueItems: {keyword: 'uniqueItems', form: 'flag'},
  minProperties: {keyword: 'minProperties', form: 'number'},
  maxProperties: {keyword: 'maxProperties', form: 'number'},
  default: {keyword: 'default', form: 'json'},
  example: {keyword: 'example', form: 'json'},
  enum: {keyword: 'enum', form: 'json'},
  nullable: {keyword: 'nullable', form: 'flag'},
  listType: {keyword: extensions.listType, form: 'text'},
  mapType: {keyword: extensions.mapType, form: 'text'},
  preserveUnknownFields: {keyword: extensions.preserveUnknownFields, form: 'flag'},
  embeddedResource: {keyword: extensions.embeddedResource, form: 'flag'},
  intOrString: {keyword: extensions.intOrString, form: 'flag'},
  allOf: {keyword: 'allOf', form: 'json'},
  anyOf: {keyword: 'anyOf', form: 'json'},
  oneOf: {keyword: 'oneOf', form: 'json'},
  not: {keyword: 'not', form: 'json'},
  externalDocs: {keyword: 'externalDocs', form: 'json'},
};

const keywordRows = Object.entries(keywordTags);

/** The tags of a rule's parts, which follow its `@rule`. */
const ruleTags: Readonly<Record<string, keyof ValidationRule>> = {
  message: 'message',
  messageExpression: 'messageExpression',
  reason: 'reason',
  fieldPath: 'fieldPath',
  optionalOldSelf: 'optionalOldSelf',
};

/** Tags of TSDoc that document a type and change no schema. */
const documentation: ReadonlySet<string> = new Set([
  'remarks',
  'see',
  'internal',
  'public',
  'beta',
  'alpha',
  'experimental',
  'since',
  'link',
  'privateRemarks',
  'author',
]);

/** The names of the tags that say something about a schema. */
export const schemaTagNames: readonly string[] = [
  ...keywordRows.map(([name]) => name),
  ...Object.keys(ruleTags),
  'integer',
  'number',
  'schema',
  'embedded',
  'required',
  'mapKey',
  'description',
  'deprecated',
  'rule',
];

const textOf = (value: unknown, form: Form): string =>
  form === 'text' ? textArgument(String(value)) : form === 'flag' ? '' : jsonArgument(value);

const ruleText = ({rule = '', ...parts}: ValidationRule): Tag[] => [
  tag('rule', textArgument(rule)),
  ...Object.entries(ruleTags).flatMap(([name, part]) => {
    const value = parts[part as keyof typeof parts];
    if (value === undefined || value === false) return [];
    return [tag(name, value === true ? '' : textArgument(value))];
  }),
];

/** Returns the tags for all that a schema says besides its structure, without the keywords that are said otherwise. */
export const tagsOf = (schema: JsonSchema, said: readonly (keyof JsonSchema)[] = []): Tag[] => [
  ...keywordRows.flatMap(([name, {keyword, form}]) => {
    const value = schema[keyword];
    if (value === undefined || said.includes(keyword) || (form === 'flag' && value !== true)) return [];
    return [tag(name, textOf(value, form))];
  }),
  ...(schema[extensions.listMapKeys] ?? []).map(key => tag('mapKey', textArgument(key))),
  ...(schema[extensions.validations] ?? []).flatMap(ruleText),
];

type Writable = {-readonly [K in keyof JsonSchema]: JsonSchema[K]};

const valueOf = ({name, text}: Tag, form: Form): unknown => {
  switch (form) {
    case 'flag':
      if (text) throw new Error(`@${name} takes no value`);
      return true;
    case 'text':
      if (!text) throw new Error(`@${name} needs a value`);
      return argumentText(text);
    case 'number':
      if (!/^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text)) throw new Error(`@${name} needs a number, not ${JSON.stringify(text)}`);
      return Number(text);
    case 'json':
      try {
        return JSON.parse(text);
      } catch (error) {
        throw new Error(
          `@${name} needs a value in JSON${/^[\w-]+$/.test(text) ? `, such as "${text}" with quotes` : ''}: ${messageOf(error)}`,
          {cause: error},
        );
      }
  }
};

/** Reads tags into a schema. */
export class TagReader {
  readonly #schema: Writable;
  readonly #rules: Record<string, unknown>[] = [];
  readonly #keys: string[] = [];
  readonly #required: string[] = [];
  readonly #notes: string[] = [];

  constructor(schema: JsonSchema) {
    this.#schema = {...schema};
  }

  /** Reads a tag. Throws an error for one that is not known, or whose value is not what it needs. */
  read(given: Tag): void {
    const {name, text} = given;
    const known = Object.hasOwn(keywordTags, name) ? keywordTags[name] : undefined;
    if (name === 'example' && !isJson(text)) return; // An example in words or code.
    if (known) Object.assign(this.#schema, {[known.keyword]: valueOf(given, known.form)});
    else if (name === 'integer') this.#schema.type = 'integer';
    else if (name === 'number') this.#schema.type = 'number';
    else if (name === 'schema') Object.assign(this.#schema, stated(valueOf(given, 'json')));
    else if (name === 'embedded') Object.assign(this.#schema, embedded(this.#schema, given));
    else if (name === 'required') this.#required.push(valueOf(given, 'text') as string);
    else if (name === 'mapKey') this.#keys.push(valueOf(given, 'text') as string);
    else if (name === 'description') this.#schema.description = valueOf(given, 'text') as string;
    else if (name === 'deprecated') this.#notes.push(...(text ? [`Deprecated: ${text}`] : []));
    else if (name === 'rule') this.#rules.push({rule: valueOf(given, 'text')});
    else if (Object.hasOwn(ruleTags, name)) {
      const rule = this.#rules.at(-1);
      if (!rule) throw new Error(`@${name} must follow the @rule it belongs to`);
      rule[ruleTags[name]!] = valueOf(given, name === 'optionalOldSelf' ? 'flag' : 'text');
    } else if (kindTagNames.includes(name))
      throw new Error(`@${name} belongs to the comment of a kind, an interface with @group or a handle`);
    else if (!documentation.has(name)) throw new Error(`there is no tag @${name}${suggestion(name)}`);
  }

  /** Returns the schema with what the tags say. */
  schema(): JsonSchema {
    const {description} = this.#schema;
    const described = [description, ...this.#notes].filter(Boolean).join('\n\n');
    return {
      ...this.#schema,
      ...(described ? {description: described} : {}),
      ...(this.#required.length > 0 ? {required: [...(this.#schema.required ?? []), ...this.#required]} : {}),
      ...(this.#keys.length > 0 ? {[extensions.listMapKeys]: this.#keys} : {}),
      ...(this.#rules.length > 0 ? {[extensions.validations]: [...(this.#schema[extensions.validations] ?? []), ...this.#rules]} : {}),
    };
  }
}

/** Returns a schema that is stated in full. */
const stated = (schema: unknown): JsonSchema => {
  if (!isPlainObject(schema)) throw new Error('@schema needs a schema, such as {"type": "string"}');
  return schema;
};

/** Returns what makes a schema that of a whole object, whose metadata the server knows. */
const embedded = ({properties}: JsonSchema, given: Tag): JsonSchema => {
  valueOf(given, 'flag');
  const whole: JsonSchema = properties
    ? {properties: {apiVersion: {type: 'string'}, kind: {type: 'string'}, ...properties, metadata: {type: 'object'}}}
    : {[extensions.preserveUnknownFields]: true};
  return {type: 'object', ...whole, [extensions.embeddedResource]: true};
};

const suggestion = (name: string): string => {
  const near = closest(name, schemaTagNames);
  return near ? `: did you mean @${near}?` : '';
};

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};
