import {isPlainObject, put, type PlainObject} from '#src/schema/decode/plain.js';
import type {PatchStrategy, SchemaNode} from '#src/schema/node.js';

/** The words a strategic merge patch speaks besides the fields of its kind. */
export const patchDirective = '$patch';
export const retainKeysDirective = '$retainKeys';
export const setElementOrder = '$setElementOrder';
export const deleteFromPrimitiveList = '$deleteFromPrimitiveList';

const isDirectiveKey = (key: string): boolean =>
  key === retainKeysDirective || key.startsWith(setElementOrder) || key.startsWith(deleteFromPrimitiveList);

/** How a field of an object is merged. Values of a map share the map's element type. */
export interface PatchMeta {
  /** What the field holds, for a list what its elements are. */
  readonly node: SchemaNode | undefined;
  readonly strategy: 'merge' | 'replace' | undefined;
  readonly retainKeys: boolean;
  readonly mergeKey: string;
}

const strategyOf = (strategies: readonly PatchStrategy[]): 'merge' | 'replace' | undefined =>
  strategies.find(strategy => strategy !== 'retainKeys') as 'merge' | 'replace' | undefined;

/** How the field `key` of an object of type `node` is merged. */
export const patchMeta = (node: SchemaNode | undefined, key: string): PatchMeta => {
  const field = node?.type === 'map' ? node.items : node?.properties?.get(key);
  const strategies = field?.patchStrategy ?? [];
  return {
    node: field?.type === 'array' ? field.items : field,
    strategy: strategyOf(strategies),
    retainKeys: strategies.includes('retainKeys'),
    mergeKey: field?.patchMergeKey ?? '',
  };
};

/** Marks a value that is a directive through and through: nothing is to be kept of it. */
export const dropped = Symbol('dropped');

/** What a patch sets where nothing was: without nulls and without directives. */
export const cleaned = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(cleaned).filter(item => item !== dropped);
  if (!isPlainObject(value)) return value;
  if (Object.hasOwn(value, patchDirective)) return dropped;
  const kept: PlainObject = {};
  for (const key of Object.keys(value)) {
    if (value[key] === null || isDirectiveKey(key)) continue;
    const inner = cleaned(value[key]);
    if (inner !== dropped) put(kept, key, inner);
  }
  return kept;
};
