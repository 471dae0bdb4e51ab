import {setProperty} from '#src/base/json/set-property.js';
import type {SchemaNode} from '#src/schema/node.js';
import {copied, isPlainObject, type PlainObject} from './plain.js';

/**
 * Returns a deep copy of a decoded value. Fields that are null remain if their type writes null for an absent value,
 * and are left out otherwise; what the schema does not describe is copied as it is. The value must not be nested deeper
 * than `maxDepth`.
 */
export const decodedCopy = (value: unknown, node: SchemaNode | undefined): unknown => {
  if (Array.isArray(value)) return node?.items ? value.map(item => decodedCopy(item, node.items)) : copied(value);
  if (!isPlainObject(value)) return value;
  if (!node || node.type === 'any') return copied(value);
  const {properties, items} = node;
  const copy: PlainObject = {};
  for (const key of Object.keys(value)) {
    const given = value[key];
    if (typeof given !== 'object') {
      setProperty(copy, key, given);
      continue;
    }
    const field = properties?.get(key);
    if (given !== null || !field || field.showsNull) setProperty(copy, key, decodedCopy(given, field ?? items));
  }
  return copy;
};
