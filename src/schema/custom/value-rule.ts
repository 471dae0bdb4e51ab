import {formatDouble} from '#src/base/text/double.js';
import {regexp} from '#src/schema/regexp.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import {checkAlternatives, type Alternatives} from './alternatives.js';
import type {Correlated} from './correlated.js';
import type {Findings, Reporter} from './findings.js';
import {formatOf, normalFormat} from './formats/format.js';
import {itemsOf, type JsonSchema} from '#src/schema/json-schema.js';
import {canonicalJson, identity} from '#src/base/json/canonical-json.js';
import {isNearlyWhole, isWhole} from './numbers.js';
import {textFormats} from './formats/text-formats.js';

// Validates values against the keywords of one schema and its children.

type JsonType = 'array' | 'boolean' | 'integer' | 'number' | 'object' | 'string';

const typeOf = (value: unknown): JsonType => {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'bigint') return 'integer';
  if (typeof value === 'number') return isWhole(value) ? 'integer' : 'number';
  return typeof value as 'boolean' | 'object' | 'string';
};

/** The format implied by a type. */
const ownFormat: Partial<Record<JsonType, string>> = {integer: 'int64', number: 'float64'};

const characters = (text: string): number => {
  let count = text.length;
  for (let i = 0; i < text.length - 1; i++) {
    if ((text.charCodeAt(i) & 0xfc00) === 0xd800 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) {
      count -= 1;
      i += 1;
    }
  }
  return count;
};

/** Reports whether a value is one of the allowed ones. Fractions are truncated when the allowed values are integers. */
const isAmong = (value: unknown, allowed: ReadonlySet<unknown>): boolean =>
  typeof value === 'number' ? allowed.has(Math.trunc(value)) || (!isWhole(value) && allowed.has(value)) : allowed.has(identity(value));

const isMultiple = (value: number | bigint, factor: number, whole: boolean): boolean => {
  if (typeof value === 'bigint') return value % BigInt(factor) === 0n;
  return whole ? value % factor === 0 : isNearlyWhole(factor < 1 ? (1 / factor) * value : value / factor);
};

const none: readonly ValueRule[] = [];

/** What is validated: objects, or the defaults of a schema. */
export type RuleUse = 'object' | 'default';

/**
 * The checks of a schema's own keywords, in the original's order and with its texts. Created for each part of a schema
 * on first use, so that a large definition costs only what is used.
 */
export class ValueRule {
  readonly #schema: JsonSchema;
  readonly #use: RuleUse;
  readonly #types: readonly string[];
  readonly #format: string | undefined;
  #properties: Map<string, ValueRule> | undefined;
  #items: ValueRule | undefined;
  #additional: ValueRule | undefined;
  readonly #branches: Alternatives | undefined;
  #allowed: ReadonlySet<unknown> | undefined;

  constructor(schema: JsonSchema, use: RuleUse) {
    this.#schema = schema;
    this.#use = use;
    const {type, 'x-kubernetes-int-or-string': isEither} = schema;
    // Int-or-string extensions apply to objects only, number formats to defaults only.
    this.#types = isEither && use === 'object' ? ['integer', 'string'] : type ? [type] : [];
    this.#format = use === 'object' && (type === 'integer' || type === 'number') ? undefined : formatOf(schema);
    const {anyOf, oneOf, allOf, not} = schema;
    if (anyOf || oneOf || allOf || not) {
      const rules = (schemas: readonly JsonSchema[] | undefined): readonly ValueRule[] =>
        schemas?.map(one => new ValueRule(one, use)) ?? none;
      this.#branches = {any: rules(anyOf), one: rules(oneOf), all: rules(allOf), not: not && new ValueRule(not, use)};
    }
  }

  /** Validates a value. `name` is its path; `before` the old value, if it can be correlated. */
  check(value: unknown, name: string, found: Findings, report: Reporter, before?: Correlated): void {
    // Unchanged values are not validated again.
    if (before?.same()) return;
    if (value === null || value === undefined) {
      if (this.#types.length > 0 && !this.#schema.nullable) found.add(...report.type(name, this.#types.join(','), 'null'));
      else found.matches += 1;
      this.#enum(value, name, found, report);
      return;
    }
    const type = typeOf(value);
    if (this.#types.length > 0 || this.#format) {
      found.matches += 1;
      this.#type(value, type, name, found, report);
    }
    if (this.#branches) checkAlternatives(this.#branches, value, name, found, report);
    found.matches += 2;
    this.#kind(value, type, name, found, report, before);
    this.#enum(value, name, found, report);
    found.matches += 2;
  }

  #kind(value: unknown, type: JsonType, name: string, found: Findings, report: Reporter, before: Correlated | undefined): void {
    switch (type) {
      case 'string':
        return this.#text(value as string, name, found, report);
      case 'integer':
      case 'number':
        return this.#number(value as number, type === 'integer', name, found, report);
      case 'array':
        return this.#array(value as unknown[], name, found, report, before);
      case 'object':
        return this.#object(value as PlainObject, name, found, report, before);
      case 'boolean':
    }
  }

  #type(value: unknown, type: JsonType, name: string, found: Findings, report: Reporter): void {
    const types = this.#types;
    const isNumeric = types.includes('number') || types.includes('integer');
    const ok =
      types.includes(type) ||
      (type === 'integer' && types.includes('number')) ||
      (type === 'number' && types.includes('integer') && isNearlyWhole(value as number));
    if (this.#format) {
      const own = ownFormat[type] ?? '';
      const isText = type === 'string' || type === 'array';
      if (!isText && !ok && own !== this.#format) return found.add(...report.type(name, this.#format, own));
      if (isText && !isNumeric) {
        found.matches += 1;
        return;
      }
    }
    if (ok) found.matches += 1;
    else found.add(...report.type(name, types.join(','), type));
  }

  #text(value: string, name: string, found: Findings, report: Reporter): void {
    found.matches += 1;
    this.#textLimits(value, name, found, report);
    if (this.#format === undefined) return;
    const test = textFormats.get(normalFormat(this.#format));
    if (!test) return;
    found.matches += 1;
    if (!test(value)) found.add(...report.type(name, this.#format, value));
  }

  /** Reports the first violated limit. */
  #textLimits(value: string, name: string, found: Findings, report: Reporter): void {
    const {maxLength, minLength, pattern} = this.#schema;
    if (maxLength !== undefined && value.length > maxLength && characters(value) > maxLength) found.add(...report.tooLong(name, maxLength));
    else if (minLength !== undefined && characters(value) < minLength)
      found.add(...report.invalid(name, value, `should be at least ${minLength} chars long`));
    else if (pattern) {
      const problem = patternProblem(pattern, value);
      if (problem !== undefined) found.add(...report.invalid(name, value, `should match '${problem}'`));
    }
  }

  #number(value: number | bigint, whole: boolean, name: string, found: Findings, report: Reporter): void {
    const {multipleOf, maximum, minimum, exclusiveMaximum, exclusiveMinimum} = this.#schema;
    // Limits of integers are truncated.
    const limit = (given: number): number => (whole ? Math.trunc(given) : given);
    const format = (given: number): string => (whole ? String(given) : formatDouble(given));
    const wrong = (does: string): void => found.add(...report.invalid(name, value, does));
    if (multipleOf !== undefined) {
      const factor = limit(multipleOf);
      if (factor <= 0) found.add(...report.badFactor(name, factor));
      else if (!isMultiple(value, factor, whole)) wrong(`should be a multiple of ${format(factor)}`);
    }
    if (minimum !== undefined) {
      const least = limit(minimum);
      if (exclusiveMinimum ? value <= least : value < least)
        wrong(`should be greater than ${exclusiveMinimum ? '' : 'or equal to '}${format(least)}`);
    }
    if (maximum !== undefined) {
      const most = limit(maximum);
      if (exclusiveMaximum ? value >= most : value > most)
        wrong(`should be less than ${exclusiveMaximum ? '' : 'or equal to '}${format(most)}`);
    }
    found.matches += 2;
  }

  #array(value: readonly unknown[], name: string, found: Findings, report: Reporter, before: Correlated | undefined): void {
    const {minItems, maxItems, uniqueItems} = this.#schema;
    const items = itemsOf(this.#schema);
    if (items && value.length > 0) {
      const rule = (this.#items ??= new ValueRule(items, this.#use));
      for (let i = 0; i < value.length && !found.isFull; i++) rule.check(value[i], `${name}[${i}]`, found, report, before?.index(i));
    }
    if (minItems !== undefined && value.length < minItems)
      found.add(...report.invalid(name, value.length, `should have at least ${minItems} items`));
    if (maxItems !== undefined && value.length > maxItems) found.add(...report.tooMany(name, value.length, maxItems, 'items'));
    if (uniqueItems && new Set(value.map(canonicalJson)).size < value.length)
      found.add(...report.invalid(name, '', "shouldn't contain duplicates"));
    found.matches += 2;
  }

  #object(value: PlainObject, name: string, found: Findings, report: Reporter, before: Correlated | undefined): void {
    const {minProperties, maxProperties, required} = this.#schema;
    const keys = Object.keys(value);
    if (minProperties !== undefined && keys.length < minProperties)
      found.add(...report.invalid(name, keys.length, `should have at least ${minProperties} properties`));
    if (maxProperties !== undefined && keys.length > maxProperties)
      found.add(...report.tooMany(name, keys.length, maxProperties, 'properties'));
    for (const key of keys) {
      if (found.isFull) return;
      this.#member(key, value[key], name, found, report, before);
    }
    for (const key of required ?? []) {
      if (found.isFull) return;
      if (!Object.hasOwn(value, key)) found.add(...report.required(`${name}.${key}`));
    }
    found.matches += 1;
  }

  #member(key: string, value: unknown, name: string, found: Findings, report: Reporter, before: Correlated | undefined): void {
    const rule = this.#property(key);
    if (rule) {
      // apiVersion and kind of an object cannot be compared with the old one: both were converted.
      const isLabel = name === '' && (key === 'kind' || key === 'apiVersion');
      rule.check(value, name === '' ? key : `${name}.${key}`, found, report, isLabel ? undefined : before?.key(key));
      return;
    }
    const {additionalProperties} = this.#schema;
    if (typeof additionalProperties !== 'object') return;
    const additional = (this.#additional ??= new ValueRule(additionalProperties, this.#use));
    additional.check(value, `${name}.${key}`, found, report, before?.key(key));
  }

  #property(key: string): ValueRule | undefined {
    const known = this.#properties?.get(key);
    if (known) return known;
    const {properties} = this.#schema;
    if (!properties || !Object.hasOwn(properties, key)) return undefined;
    const rule = new ValueRule(properties[key]!, this.#use);
    (this.#properties ??= new Map()).set(key, rule);
    return rule;
  }

  #enum(value: unknown, name: string, found: Findings, report: Reporter): void {
    const allowed = this.#schema.enum;
    if (!allowed || allowed.length === 0) return;
    this.#allowed ??= new Set(allowed.filter(one => one !== null).map(identity));
    if (value === null || value === undefined || !isAmong(value, this.#allowed)) found.add(...report.enum(name, value, allowed));
  }
}

/** Returns the text of a pattern mismatch; undefined if the pattern matches. */
const patternProblem = (pattern: string, value: string): string | undefined => {
  try {
    return regexp(pattern).test(value) ? undefined : pattern;
  } catch (error) {
    return `${pattern}, but pattern is invalid: ${(error as Error).message}`;
  }
};
