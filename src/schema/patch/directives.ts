import {setProperty} from '#src/base/json/set-property.js';
import {isPlainObject, type PlainObject} from '#src/schema/decode/plain.js';
import type {PatchStrategy, SchemaNode} from '#src/schema/node.js';

// The directives of strategic merge patches, and how each field is merged.

/** The directives of a strategic merge patch. */
export const patchDirective = '$patch';
export const retainKeysDirective = '$retainKeys';
export const setElementOrder = '$setElementOrder';
export const deleteFromPrimitiveList = '$deleteFromPrimitiveList';

const isDirectiveKey = (key: string): boolean =>
  key === retainKeysDirective || key.startsWith(setElementOrder) || key.startsWith(deleteFromPrimitiveList);

/** How a field of an object is merged. The values of a map share its element type. */
export interface PatchMeta {
  /** The type of the field; for a list that of its items. */
  readonly node: SchemaNode | undefined;
  readonly strategy: 'merge' | 'replace' | undefined;
  readonly retainKeys: boolean;
  readonly mergeKey: string;
}

const strategyOf = (strategies: readonly PatchStrategy[]): 'merge' | 'replace' | undefined =>
  strategies.find(strategy => strategy !== 'retainKeys') as 'merge' | 'replace' | undefined;

const metaOf = (field: SchemaNode | undefined): PatchMeta => {
  const strategies = field?.patchStrategy ?? [];
  return {
    node: field?.type === 'array' ? field.items : field,
    strategy: strategyOf(strategies),
    retainKeys: strategies.includes('retainKeys'),
    mergeKey: field?.patchMergeKey ?? '',
  };
};

const undeclared = metaOf(undefined);
const metaByField = new WeakMap<SchemaNode, PatchMeta>();

/** Returns how the field `key` of an object of type `node` is merged. */
export const patchMeta = (node: SchemaNode | undefined, key: string): PatchMeta => {
  const field = node?.type === 'map' ? node.items : node?.properties?.get(key);
  if (!field) return undeclared;
  let meta = metaByField.get(field);
  if (!meta) metaByField.set(field, (meta = metaOf(field)));
  return meta;
};

/** Marks a value that consists of directives only. */
export const dropped = Symbol('dropped');

/** Returns the value a patch sets where none exists: without nulls and directives. */
export const withoutDirectives = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutDirectives).filter(item => item !== dropped);
  if (!isPlainObject(value)) return value;
  if (Object.hasOwn(value, patchDirective)) return dropped;
  const kept: PlainObject = {};
  for (const key of Object.keys(value)) {
    if (value[key] === null || isDirectiveKey(key)) continue;
    const inner = withoutDirectives(value[key]);
    if (inner !== dropped) setProperty(kept, key, inner);
  }
  return kept;
};
