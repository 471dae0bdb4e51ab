import type {KubeObject} from '#src/api/types.js';
import {isPlainObject, type PlainObject} from '#src/schema/decode/plain.js';
import {typeMismatches, typeMismatchText} from '#src/schema/apply/type-mismatches.js';
import {mergeIntent} from '#src/schema/apply/merge.js';
import type {SchemaNode} from '#src/schema/node.js';

/**
 * The paths of atomic lists, maps and structs that a value sets, which would replace fields that the policy does not
 * set.
 */
const atomics = (value: unknown, node: SchemaNode, path = ''): string[] => {
  if (isPlainObject(value)) {
    const own = node.mapType === 'atomic' ? [path] : [];
    const named = Object.keys(value).flatMap(key => {
      const field = node.properties?.get(key);
      return field ? atomics(value[key], field, `${path}.${key}`) : [];
    });
    return [...own, ...named];
  }
  if (!Array.isArray(value)) return [];
  const own = node.listType === 'set' || node.listType === 'map' ? [] : [path];
  const {items} = node;
  return [...own, ...(items ? value.flatMap((item, index) => atomics(item, items, `${path}[${index}]`)) : [])];
};

/** As upstream, null in the result of an expression becomes a zero value. */
const zeroed = (value: unknown): unknown => {
  if (value === null) return 0;
  if (Array.isArray(value)) return value.map(zeroed);
  return isPlainObject(value) ? Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, zeroed(entry)])) : value;
};

/**
 * Merges a configuration into an object, as an apply that removes nothing. Throws the reason of a failure, as upstream
 * words it.
 */
export const applyConfiguration = (live: Readonly<KubeObject>, configuration: PlainObject, node: SchemaNode): KubeObject => {
  const desired = {...(zeroed(configuration) as PlainObject), apiVersion: live.apiVersion, kind: live.kind};
  const wrong = typeMismatches(desired, node);
  if (wrong.length > 0) throw new Error(`failed to convert patch object to typed object: ${typeMismatchText(wrong)}`);
  const found = atomics(desired, node);
  if (found.length > 0) throw new Error(`invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${found.join(', ')}`);
  return mergeIntent(live as PlainObject, desired, node) as KubeObject;
};
