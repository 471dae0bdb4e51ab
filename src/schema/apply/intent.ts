import {isPlainObject, type PlainObject} from '#src/schema/decode/plain.js';
import type {SchemaNode} from '#src/schema/node.js';
import {belowOf, isMember, leaf, noFields, nodeOf, type FieldSet, type MutableFieldSet} from './field-set.js';
import {untypedNode, fieldNode, isNamedField, itemElement, mergeTypeOf} from './merge-type.js';

// The fields that an intent owns.

/** Returns the fields an intent names: its leaves, list items, map keys, and empty containers. */
export const fieldsOf = (intent: PlainObject, node: SchemaNode): FieldSet => fieldsBelow(intent, node) ?? noFields;

const fieldsBelow = (value: unknown, node: SchemaNode): FieldSet | undefined => {
  const shape = mergeTypeOf(node, value);
  if (shape === 'map' && isPlainObject(value)) return ofFields(value, node);
  return shape === 'list' && Array.isArray(value) ? ofItems(value, node) : undefined;
};

const isNullOrEmpty = (value: unknown): boolean => {
  if (!isPlainObject(value)) return value === null;
  for (const _ in value) return false;
  return true;
};

const ofFields = (value: PlainObject, node: SchemaNode): FieldSet => {
  const result: MutableFieldSet = {};
  for (const key of Object.keys(value)) {
    const child = value[key];
    const schema = fieldNode(node, key) ?? untypedNode;
    const member = mergeTypeOf(schema, child) === 'leaf' || isNullOrEmpty(child) || !isNamedField(node, key);
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

/** Adds the struct fields on the way to the members of a set, which sets otherwise omit; map keys are not added. */
export const withNamedFields = (set: FieldSet, node: SchemaNode): FieldSet => {
  const result: MutableFieldSet = {};
  for (const element in set) {
    if (element === '.') result['.'] = leaf;
    else {
      const child = set[element]!;
      const named = element.startsWith('f:') && isNamedField(node, element.slice(2));
      const schema = element.startsWith('f:') ? fieldNode(node, element.slice(2)) : node.items;
      const below = schema ? withNamedFields(child, schema) : child;
      result[element] = nodeOf(named || isMember(child), belowOf(below))!;
    }
  }
  return result;
};
