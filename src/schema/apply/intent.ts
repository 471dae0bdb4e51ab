import {isPlainObject, type PlainObject} from '#src/schema/decode/plain.js';
import type {SchemaNode} from '#src/schema/node.js';
import {shownValue} from '#src/schema/patch/errors.js';
import {isMember, leaf, noFields, nodeOf, type FieldSet, type MutableFieldSet} from './field-set.js';
import {shownElement} from './path-element.js';
import {deduced, fieldNode, isNamedField, itemElement, shapeOf} from './shape.js';

/** The fields an intent names: its leaves, the items of its lists, the keys of its maps, and what it leaves empty. */
export const fieldsOf = (intent: PlainObject, node: SchemaNode): FieldSet => fieldsBelow(intent, node) ?? noFields;

const fieldsBelow = (value: unknown, node: SchemaNode): FieldSet | undefined => {
  const shape = shapeOf(node, value);
  if (shape === 'map' && isPlainObject(value)) return ofFields(value, node);
  return shape === 'list' && Array.isArray(value) ? ofItems(value, node) : undefined;
};

const isNullOrEmpty = (value: unknown): boolean => value === null || (isPlainObject(value) && Object.keys(value).length === 0);

const ofFields = (value: PlainObject, node: SchemaNode): FieldSet => {
  const result: MutableFieldSet = {};
  for (const key of Object.keys(value)) {
    const child = value[key];
    const schema = fieldNode(node, key) ?? deduced;
    const member = shapeOf(schema, child) === 'leaf' || isNullOrEmpty(child) || !isNamedField(node, key);
    const made = nodeOf(member, fieldsBelow(child, schema));
    if (made) result[`f:${key}`] = made;
  }
  return result;
};

const ofItems = (list: readonly unknown[], node: SchemaNode): FieldSet => {
  const result: MutableFieldSet = {};
  for (const item of list) {
    const element = itemElement(node, item);
    result[element] = element in result ? leaf : nodeOf(true, fieldsBelow(item, node.items!))!;
  }
  return result;
};

/** A field that does not fit its schema; `path` is as messages show it. */
export interface Misfit {
  readonly path: string;
  readonly text: string;
}

/** What in an intent does not fit its schema, in the field's own words: fields that are not declared, values of the wrong type, items without or with a repeated key. */
export const misfits = (value: unknown, node: SchemaNode, path = ''): Misfit[] => {
  switch (node.type) {
    case 'object':
    case 'map':
      return mapMisfits(value, node, path);
    case 'array':
      return listMisfits(value, node, path);
    default:
      return scalarMisfit(value, node, path);
  }
};

/** The misfits as one text. */
export const misfitText = (found: readonly Misfit[]): string => {
  const texts = found.map(({path, text}) => (path ? `${path}: ${text}` : text));
  return texts.length === 1 ? texts[0]! : ['errors:', ...texts.map(text => `  ${text}`)].join('\n');
};

const got = (value: unknown): string => `&{${shownValue(value)}}`;

/** A value in Go's own syntax. */
const goSyntax = (value: unknown): string => {
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntax).join(', ')}}`;
  if (!isPlainObject(value)) return value === null ? 'interface {}(nil)' : JSON.stringify(value);
  return `map[string]interface {}{${Object.keys(value).toSorted().map(key => `${JSON.stringify(key)}:${goSyntax(value[key])}`).join(', ')}}`;
};

const mapMisfits = (value: unknown, node: SchemaNode, path: string): Misfit[] => {
  if (value === null) return [];
  if (!isPlainObject(value)) return [{path, text: `expected map, got ${got(value)}`}];
  const found: Misfit[] = [];
  for (const key of Object.keys(value)) {
    const schema = fieldNode(node, key);
    if (!schema) return [...found, {path: `${path}.${key}`, text: 'field not declared in schema'}];
    found.push(...misfits(value[key], schema, `${path}.${key}`));
  }
  return found;
};

const listMisfits = (value: unknown, node: SchemaNode, path: string): Misfit[] => {
  if (value === null) return [];
  if (!Array.isArray(value)) return [{path, text: `expected list, got ${got(value)}`}];
  const found: Misfit[] = [];
  const seen = new Set<string>();
  for (const [index, item] of value.entries()) {
    let element = `i:${index}`;
    if (shapeOf(node, value) === 'list') {
      try {
        element = itemElement(node, item);
      } catch (error) {
        return [...found, {path, text: `element ${index}: ${(error as Error).message}`}];
      }
      if (seen.has(element)) found.push({path, text: `duplicate entries for key ${shownElement(element)}`});
      seen.add(element);
    }
    found.push(...misfits(item, node.items!, path + shownElement(element)));
  }
  return found;
};

const goTypes: Readonly<Record<string, string>> = {string: 'string', boolean: 'bool', object: 'map[string]interface {}'};

const scalarMisfit = (value: unknown, {type, format}: SchemaNode, path: string): Misfit[] => {
  if (value === null) return [];
  if (type === 'string' && typeof value !== 'string') return [{path, text: `expected string, got &value.valueUnstructured{Value:${goSyntax(value)}}`}];
  if (type === 'boolean' && typeof value !== 'boolean') return [{path, text: `expected boolean, got ${got(value)}`}];
  if ((type === 'integer' || type === 'number') && typeof value !== 'number') {
    const name = Array.isArray(value) ? '[]interface {}' : goTypes[typeof value];
    return [{path, text: `expected numeric (int or float), got ${name}`}];
  }
  const scalar = format === 'int-or-string' || format === 'quantity';
  return type === 'any' && scalar && typeof value === 'object' ? [{path, text: `expected any scalar, got ${got(value)}`}] : [];
};

/** Adds the named fields on the way to the fields of a set, which sets otherwise leave out; keys of maps are not among them. */
export const withNamedFields = (set: FieldSet, node: SchemaNode): FieldSet => {
  const result: MutableFieldSet = {};
  for (const element in set) {
    if (element === '.') result['.'] = leaf;
    else {
      const child = set[element]!;
      const named = element.startsWith('f:') && isNamedField(node, element.slice(2));
      const schema = element.startsWith('f:') ? fieldNode(node, element.slice(2)) : node.items;
      const below = schema ? withNamedFields(child, schema) : child;
      result[element] = nodeOf(named || isMember(child), without(below))!;
    }
  }
  return result;
};

const without = (node: FieldSet): FieldSet => {
  const {'.': _, ...below} = node;
  return below;
};
