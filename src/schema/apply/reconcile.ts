import type {SchemaNode} from '#src/schema/node.js';
import {hasBelow, isMember, leaf, nodeOf, type FieldSet, type MutableFieldSet} from './field-set.js';
import {fieldNode} from './merge-type.js';

const isAtomic = ({type, listType, mapType}: SchemaNode): boolean =>
  type === 'array' ? listType !== 'set' && listType !== 'map' : (type === 'object' || type === 'map') && mapType === 'atomic';

/**
 * Adapts a set of fields written under an older schema: a manager of parts of a now atomic field owns the whole field.
 * Returns the set itself if it fits.
 */
export const reconciled = (set: FieldSet, node: SchemaNode): FieldSet => {
  let result: MutableFieldSet | undefined;
  for (const element in set) {
    if (element === '.') continue;
    const child = element.startsWith('f:') ? fieldNode(node, element.slice(2)) : node.items;
    if (!child) continue;
    const before = set[element]!;
    const after = reconciledNode(before, child);
    if (after !== before) (result ??= {...set})[element] = after;
  }
  return result ?? set;
};

const reconciledNode = (set: FieldSet, node: SchemaNode): FieldSet => {
  if (!hasBelow(set)) return set;
  if (isAtomic(node)) return leaf;
  const below = reconciled(set, node);
  return below === set ? set : nodeOf(isMember(set), below)!;
};
