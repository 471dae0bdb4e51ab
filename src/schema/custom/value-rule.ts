import {regexp} from '#src/schema/regexp.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import {checkAlternatives, type Alternatives} from './alternatives.js';
import type {Correlated} from './correlated.js';
import type {Findings, Reporter} from './findings.js';
import {formatOf, normalFormat} from './format.js';
import {itemsOf, type JsonSchema} from './json-schema.js';
import {canonicalJson, identity} from '#src/base/canonical-json.js';
import {isNearlyWhole, isWhole, formatFloat} from './numbers.js';
import {textFormats} from './text-formats.js';

type JsonType = 'array' | 'boolean' | 'integer' | 'number' | 'object' | 'string';

const typeOf = (value: unknown): JsonType => {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'bigint') return 'integer';
  if (typeof value === 'number') return isWhole(value) ? 'integer' : 'number';
  return typeof value as 'boolean' | 'object' | 'string';
};

/** The format a value of a type has by itself. */
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

/** Whether a value is one of those. What is allowed says of which type: a fraction is cut off to be compared with a whole number. */
const isAmong = (value: unknown, allowed: ReadonlySet<unknown>): boolean =>
  typeof value === 'number' ? allowed.has(Math.trunc(value)) || (!isWhole(value) && allowed.has(value)) : allowed.has(identity(value));

const isMultiple = (value: number | bigint, factor: number, whole: boolean): boolean => {
  if (typeof value === 'bigint') return value % BigInt(factor) === 0n;
  return whole ? value % factor === 0 : isNearlyWhole(factor < 1 ? (1 / factor) * value : value / factor);
};

const none: readonly ValueRule[] = [];

/** What values are held against a schema: those of objects, or the defaults it states itself. */
export type RuleUse = 'object' | 'default';

/**
 * What a schema asks of a value, in the original's order and words. Made for a part of a schema when a value first comes by it, so that of a large
 * definition only what is used takes room.
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
    // What is a number or a text by an extension alone is asked of objects alone, formats of numbers of defaults alone.
    this.#types = isEither && use === 'object' ? ['integer', 'string'] : type ? [type] : [];
    this.#format = use === 'object' && (type === 'integer' || type === 'number') ? undefined : formatOf(schema);
    const {anyOf, oneOf, allOf, not} = schema;
    if (anyOf || oneOf || allOf || not) {
      const rules = (schemas: readonly JsonSchema[] | undefined): readonly ValueRule[] => schemas?.map(one => new ValueRule(one, use)) ?? none;
      this.#branches = {any: rules(anyOf), one: rules(oneOf), all: rules(allOf), not: not && new ValueRule(not, use)};
    }
  }

  /** Holds a value against the schema. `name` is its path; `before` what it was, where it can be told. */
  check(value: unknown, name: string, found: Findings, report: Reporter, before?: Correlated): void {
    // What has not changed may be as wrong as it was.
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
    const ok = types.includes(type) || (type === 'integer' && types.includes('number')) || (type === 'number' && types.includes('integer') && isNearlyWhole(value as number));
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

  /** The first limit that does not hold. */
  #textLimits(value: string, name: string, found: Findings, report: Reporter): void {
    const {maxLength, minLength, pattern} = this.#schema;
    if (maxLength !== undefined && value.length > maxLength && characters(value) > maxLength) found.add(...report.tooLong(name, maxLength));
    else if (minLength !== undefined && characters(value) < minLength) found.add(...report.invalid(name, value, `should be at least ${minLength} chars long`));
    else if (pattern) {
      const problem = patternProblem(pattern, value);
      if (problem !== undefined) found.add(...report.invalid(name, value, `should match '${problem}'`));
    }
  }

  #number(value: number | bigint, whole: boolean, name: string, found: Findings, report: Reporter): void {
    const {multipleOf, maximum, minimum, exclusiveMaximum, exclusiveMinimum} = this.#schema;
    // Whole numbers are held against the whole part of a limit.
    const limit = (given: number): number => (whole ? Math.trunc(given) : given);
    const format = (given: number): string => (whole ? String(given) : formatFloat(given));
    const wrong = (does: string): void => found.add(...report.invalid(name, value, does));
    if (multipleOf !== undefined) {
      const factor = limit(multipleOf);
      if (factor <= 0) found.add(...report.badFactor(name, factor));
      else if (!isMultiple(value, factor, whole)) wrong(`should be a multiple of ${format(factor)}`);
    }
    if (minimum !== undefined) {
      const least = limit(minimum);
      if (exclusiveMinimum ? value <= least : value < least) wrong(`should be greater than ${exclusiveMinimum ? '' : 'or equal to '}${format(least)}`);
    }
    if (maximum !== undefined) {
      const most = limit(maximum);
      if (exclusiveMaximum ? value >= most : value > most) wrong(`should be less than ${exclusiveMaximum ? '' : 'or equal to '}${format(most)}`);
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
    if (minItems !== undefined && value.length < minItems) found.add(...report.invalid(name, value.length, `should have at least ${minItems} items`));
    if (maxItems !== undefined && value.length > maxItems) found.add(...report.tooMany(name, value.length, maxItems, 'items'));
    if (uniqueItems && new Set(value.map(canonicalJson)).size < value.length) found.add(...report.invalid(name, '', "shouldn't contain duplicates"));
    found.matches += 2;
  }

  #object(value: PlainObject, name: string, found: Findings, report: Reporter, before: Correlated | undefined): void {
    const {minProperties, maxProperties, required} = this.#schema;
    const keys = Object.keys(value);
    if (minProperties !== undefined && keys.length < minProperties) found.add(...report.invalid(name, keys.length, `should have at least ${minProperties} properties`));
    if (maxProperties !== undefined && keys.length > maxProperties) found.add(...report.tooMany(name, keys.length, maxProperties, 'properties'));
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
      // Which version and kind it is of cannot be told of an object before: both were converted.
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

/** What a text should have matched, where it does not. */
const patternProblem = (pattern: string, value: string): string | undefined => {
  try {
    return regexp(pattern).test(value) ? undefined : pattern;
  } catch (error) {
    return `${pattern}, but pattern is invalid: ${(error as Error).message}`;
  }
};

