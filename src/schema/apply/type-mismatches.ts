import {maxErrors, maxErrorText} from '#src/api/collect-errors.js';
import {jsonText} from '#src/base/json.js';
import {isPlainObject} from '#src/schema/decode/plain.js';
import type {SchemaNode} from '#src/schema/node.js';
import {formatValue} from '#src/schema/patch/errors.js';
import {formatElement} from './path-element.js';
import {fieldNode, itemElement, mergeTypeOf} from './merge-type.js';

/** A field that does not fit its schema; `path` is as messages show it. */
export interface TypeMismatch {
  readonly path: string;
  readonly text: string;
}

/**
 * What in an intent does not fit its schema, in the field's own words: fields that are not declared, values of the wrong type, items without or with
 * a repeated key. Looks no further once nothing more would be told of.
 */
export const typeMismatches = (value: unknown, node: SchemaNode): readonly TypeMismatch[] => {
  const fitting = new Fitting();
  fitting.check(value, node, '');
  return fitting.hasMore ? [...fitting.found, {path: '', text: 'there are more than these'}] : fitting.found;
};

/** Whether a value fits its schema, keys of lists that occur twice aside. */
export const fitsSchema = (value: unknown, node: SchemaNode): boolean => {
  const fitting = new Fitting({allowsDuplicates: true});
  fitting.check(value, node, '');
  return fitting.found.length === 0;
};

/** The misfits as one text. */
export const typeMismatchText = (found: readonly TypeMismatch[]): string => {
  const texts = found.map(({path, text}) => (path ? `${path}: ${text}` : text));
  return texts.length === 1 ? texts[0]! : ['errors:', ...texts.map(text => `  ${text}`)].join('\n');
};

const got = (value: unknown): string => `&{${formatValue(value)}}`;

/** A value in Go's own syntax. */
const goSyntax = (value: unknown): string => {
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntax).join(', ')}}`;
  if (!isPlainObject(value)) return value === null ? 'interface {}(nil)' : jsonText(value);
  return `map[string]interface {}{${Object.keys(value).toSorted().map(key => `${JSON.stringify(key)}:${goSyntax(value[key])}`).join(', ')}}`;
};

const goTypes: Readonly<Record<string, string>> = {string: 'string', boolean: 'bool', object: 'map[string]interface {}'};

/** Why a value does not fit a schema of scalars. */
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

  constructor({allowsDuplicates = false} = {}) {
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
