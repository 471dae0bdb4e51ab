import type {SchemaNode} from '#src/schema/node.js';
import {hasBelow, isEmpty, isMember, leaf, nodeOf, type FieldSet, type MutableFieldSet} from './field-set.js';
import {identityOf, inOrder, managersOf, type ManagedFieldsEntry} from './managers.js';
import {fieldNode} from './merge-type.js';
import type {Writer} from './tracking.js';

const isAtomic = ({type, listType, mapType}: SchemaNode): boolean =>
  type === 'array' ? listType !== 'set' && listType !== 'map' : (type === 'object' || type === 'map') && mapType === 'atomic';

/**
 * Adapts a set of fields written under an older schema: a manager of parts of a now atomic field owns the whole field.
 * Returns the set itself if it fits.
 */
const reconciled = (set: FieldSet, node: SchemaNode): FieldSet => {
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

/** Returns the entries of versions that are served, adapted to the current schemas. */
export const reconciledManagers = (
  entries: readonly ManagedFieldsEntry[],
  node: SchemaNode,
  {apiVersion, versions}: Writer,
): Map<string, ManagedFieldsEntry> => {
  const managers = managersOf(entries);
  for (const [identity, entry] of managers) {
    const schema = entry.apiVersion === apiVersion ? node : versions.schemaOf(entry.apiVersion);
    if (!schema) {
      managers.delete(identity);
      continue;
    }
    const fields = reconciled(entry.fieldsV1, schema);
    if (fields !== entry.fieldsV1) managers.set(identity, {...entry, fieldsV1: fields});
  }
  return managers;
};

/**
 * Returns the entries that a writer has sent, or that were stored under another definition, as they count: without
 * those of versions that are not served and those without fields. Returns `entries` itself if nothing differs.
 */
export const currentEntries = (entries: readonly ManagedFieldsEntry[], node: SchemaNode, writer: Writer): readonly ManagedFieldsEntry[] => {
  const managers = reconciledManagers(entries, node, writer);
  for (const [identity, {fieldsV1}] of managers) if (isEmpty(fieldsV1)) managers.delete(identity);
  const isSame = managers.size === entries.length && entries.every(entry => managers.get(identityOf(entry)) === entry);
  return isSame ? entries : inOrder(managers.values());
};
