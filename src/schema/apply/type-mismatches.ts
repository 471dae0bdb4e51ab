import {maxErrors, maxErrorText} from '#src/api/collect-errors.js';
import {jsonText} from '#src/base/json/json.js';
import {isPlainObject} from '#src/schema/decode/plain.js';
import type {SchemaNode} from '#src/schema/node.js';
import {formatValue, inapplicable} from '#src/schema/patch/errors.js';
import {formatElement} from './fields-v1.js';
import {fieldNode, itemElement, mergeTypeOf} from './merge-type.js';

// Checks an intent against its schema before it is applied, with the original's error texts.

interface FittingOptions {
  /** Whether several items of a list may have the same key, as in stored objects. */
  readonly allowsDuplicates?: boolean;
}

/** A field that does not fit its schema; `path` is formatted for messages. */
export interface TypeMismatch {
  readonly path: string;
  readonly text: string;
}

/**
 * Returns where an intent does not fit its schema: undeclared fields, values of the wrong type, items with a missing or
 * repeated key, unless these are allowed. Stops once no more errors would be reported.
 */
export const typeMismatches = (value: unknown, node: SchemaNode, options: FittingOptions = {}): readonly TypeMismatch[] => {
  const fitting = new Fitting(options);
  fitting.check(value, node, '');
  return fitting.hasMore ? [...fitting.found, {path: '', text: 'there are more than these'}] : fitting.found;
};

/** Reports whether a value fits its schema, ignoring repeated list keys. */
export const fitsSchema = (value: unknown, node: SchemaNode): boolean => typeMismatches(value, node, {allowsDuplicates: true}).length === 0;

/** Throws the 500 of a value that does not fit its schema; `step` is what its text begins with. */
export const checkFits = (value: unknown, node: SchemaNode, step: string, options: FittingOptions = {}): void => {
  const found = typeMismatches(value, node, options);
  if (found.length > 0) throw inapplicable(`${step}${typeMismatchText(found)}`);
};

/** Returns the mismatches as one text. */
export const typeMismatchText = (found: readonly TypeMismatch[]): string => {
  const texts = found.map(({path, text}) => (path ? `${path}: ${text}` : text));
  return texts.length === 1 ? texts[0]! : ['errors:', ...texts.map(text => `  ${text}`)].join('\n');
};

const got = (value: unknown): string => `&{${formatValue(value)}}`;

/** Formats a value in Go syntax. */
const goSyntax = (value: unknown): string => {
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntax).join(', ')}}`;
  if (!isPlainObject(value)) return value === null ? 'interface {}(nil)' : jsonText(value);
  return `map[string]interface {}{${Object.keys(value)
    .toSorted()
    .map(key => `${JSON.stringify(key)}:${goSyntax(value[key])}`)
    .join(', ')}}`;
};

const goTypes: Readonly<Record<string, string>> = {string: 'string', boolean: 'bool', object: 'map[string]interface {}'};

/** Returns why a value does not fit a scalar schema; undefined if it does. */
const scalarMismatch = (value: unknown, {type, format}: SchemaNode): string | undefined => {
  if (value === null) return undefined;
  if (type === 'string' && typeof value !== 'string') return `expected string, got &value.valueUnstructured{Value:${goSyntax(value)}}`;
  if (type === 'boolean' && typeof value !== 'boolean') return `expected boolean, got ${got(value)}`;
  if ((type === 'integer' || type === 'number') && typeof value !== 'number' && typeof value !== 'bigint') {
    const name = Array.isArray(value) ? '[]interface {}' : goTypes[typeof value];
    return `expected numeric (int or float), got ${name}`;
  }
  const scalar = format === 'int-or-string' || format === 'quantity';
  return type === 'any' && scalar && typeof value === 'object' ? `expected any scalar, got ${got(value)}` : undefined;
};

class Fitting {
  readonly found: TypeMismatch[] = [];
  hasMore = false;
  readonly #allowsDuplicates: boolean;
  #text = 0;

  constructor({allowsDuplicates = false}: FittingOptions) {
    this.#allowsDuplicates = allowsDuplicates;
  }

  check(value: unknown, node: SchemaNode, path: string): void {
    if (this.hasMore) return;
    switch (node.type) {
      case 'object':
      case 'map':
        return this.#map(value, node, path);
      case 'array':
        return this.#list(value, node, path);
      default: {
        const text = scalarMismatch(value, node);
        if (text !== undefined) this.#add(path, text);
      }
    }
  }

  #add(path: string, text: string): void {
    this.hasMore ||= this.found.length >= maxErrors || this.#text >= maxErrorText;
    if (this.hasMore) return;
    this.#text += path.length + text.length;
    this.found.push({path, text});
  }

  #map(value: unknown, node: SchemaNode, path: string): void {
    if (value === null) return;
    if (!isPlainObject(value)) return this.#add(path, `expected map, got ${got(value)}`);
    for (const key of Object.keys(value)) {
      const schema = fieldNode(node, key);
      if (!schema) return this.#add(`${path}.${key}`, 'field not declared in schema');
      this.check(value[key], schema, `${path}.${key}`);
    }
  }

  #list(value: unknown, node: SchemaNode, path: string): void {
    if (value === null) return;
    if (!Array.isArray(value)) return this.#add(path, `expected list, got ${got(value)}`);
    const isKeyed = mergeTypeOf(node, value) === 'list';
    const seen = new Set<string>();
    for (const [index, item] of value.entries()) {
      let element = `i:${index}`;
      if (isKeyed) {
        try {
          element = itemElement(node, item);
        } catch (error) {
          return this.#add(path, `element ${index}: ${(error as Error).message}`);
        }
        if (seen.has(element) && !this.#allowsDuplicates) this.#add(path, `duplicate entries for key ${formatElement(element)}`);
        seen.add(element);
      }
      this.check(item, node.items!, path + formatElement(element));
    }
  }
}
