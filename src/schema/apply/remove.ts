import {setProperty} from '#src/base/json/set-property.js';
import {isPlainObject, type PlainObject} from '#src/schema/decode/plain.js';
import type {SchemaNode} from '#src/schema/node.js';
import {isMember, type FieldSet} from './field-set.js';
import {untypedNode, fieldNode, itemElement, mergeTypeOf, structFields} from './merge-type.js';

/**
 * Returns the object without the fields and items of a set. A container that becomes empty is set to null, or to an
 * empty value where its type is always written. The object is not changed; the result shares parts with it.
 */
export const removeFields = (object: PlainObject, set: FieldSet, node: SchemaNode): PlainObject =>
  (remaining(object, set, node) ?? {}) as PlainObject;

const remaining = (value: unknown, set: FieldSet, node: SchemaNode): unknown => {
  const shape = mergeTypeOf(node, value);
  if (shape === 'map' && isPlainObject(value)) return orNull(fieldsWithout(value, set, node));
  if (shape === 'list' && Array.isArray(value)) return orNull(itemsWithout(value, set, node));
  return typeof value === 'object' ? null : value;
};

const orNull = <T extends object>(value: T): T | null => (Object.keys(value).length > 0 ? value : null);

const fieldsWithout = (value: PlainObject, set: FieldSet, node: SchemaNode): PlainObject => {
  const result: PlainObject = {};
  for (const key of Object.keys(value)) {
    const below = set[`f:${key}`];
    if (below && isMember(below)) continue;
    setProperty(
      result,
      key,
      below
        ? (remaining(value[key], below, fieldNode(node, key) ?? untypedNode) ?? structFields(node)?.get(key)?.zero ?? null)
        : value[key],
    );
  }
  return result;
};

const itemsWithout = (list: readonly unknown[], set: FieldSet, node: SchemaNode): unknown[] =>
  list.flatMap(item => {
    const below = set[itemElement(node, item)];
    if (!below) return [item];
    return isMember(below) ? [] : [remaining(item, below, node.items ?? untypedNode)];
  });
