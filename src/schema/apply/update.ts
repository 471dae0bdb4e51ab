import type {PlainObject} from '#src/schema/decode/plain.js';
import type {SchemaNode} from '#src/schema/node.js';
import {difference, isEqual, isWithin, noFields, overlaps, union, type FieldSet} from './field-set.js';
import {inWireOrder} from './fields-v1.js';
import {capUpdaters, identityOf, inOrder, managersOf, setFields, type ManagedFieldsEntry} from './managers.js';
import {Differences, type Writer} from './tracking.js';

// Ownership after writes that are not applies: what changed belongs to the writer, what was removed to no manager.

/** The identity of the manager that owns an entry. */
export interface Owner {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  /** Empty for the main endpoint. */
  readonly subresource: string;
}

/** Two states of an object in the writer's version. */
export interface Change {
  /** `{}` for a new object. */
  readonly before: PlainObject;
  readonly after: PlainObject;
  readonly node: SchemaNode;
}

/**
 * Returns the managed fields after a write that is not an apply: the writer becomes the only owner of what changed, and
 * removed fields lose all owners. Returns `entries` itself when nothing changes. An entry's time changes only with its
 * fields.
 */
export const trackUpdate = (
  {before, after, node}: Change,
  entries: readonly ManagedFieldsEntry[],
  writer: Writer,
): readonly ManagedFieldsEntry[] => {
  const differences = new Differences(before, after, node, writer);
  if (differences.none) return entries;
  const {changed} = differences.own;
  const entry = {
    manager: writer.manager || 'unknown',
    operation: 'Update',
    apiVersion: writer.apiVersion,
    subresource: writer.subresource,
  } as const;
  if (entries.length === 0) return changed === noFields ? entries : [newEntry(entry, writer.time, changed)];
  if (changesNoOwner(entries, differences, entry)) return entries;
  const managers = managersOf(entries);
  const identity = identityOf(entry);
  const previous = managers.get(identity);
  removeOwnership(managers, differences, undefined);
  if (changed !== noFields) {
    const fields = union(managers.get(identity)?.fieldsV1 ?? noFields, changed);
    if (previous && isEqual(previous.fieldsV1, fields)) managers.set(identity, previous);
    else managers.set(identity, newEntry(entry, writer.time, fields));
  }
  capUpdaters(managers);
  return managers.get(identity) === previous && sameEntries(entries, managers) ? entries : inOrder(managers.values());
};

const isOf = (entry: ManagedFieldsEntry, {manager, operation, apiVersion, subresource}: Owner): boolean =>
  entry.manager === manager &&
  entry.operation === operation &&
  entry.apiVersion === apiVersion &&
  (entry.subresource ?? '') === subresource;

/**
 * Reports whether the writer already owns everything that changed and no manager owns what was removed, for example
 * when a lease is renewed. Allocates nothing.
 */
const changesNoOwner = (entries: readonly ManagedFieldsEntry[], {own: {changed, removed}}: Differences, writer: Owner): boolean => {
  let owned = changed === noFields;
  for (const entry of entries) {
    if (entry.apiVersion !== writer.apiVersion || overlaps(entry.fieldsV1, removed)) return false;
    if (isOf(entry, writer)) owned ||= isWithin(changed, entry.fieldsV1);
    else if (overlaps(entry.fieldsV1, changed)) return false;
  }
  return owned;
};

/** Returns an entry with its fields in wire order. */
export const newEntry = (
  {manager, operation, apiVersion, subresource}: Owner,
  at: string | undefined,
  fields: FieldSet,
): ManagedFieldsEntry => {
  const fieldsV1 = inWireOrder(fields);
  const entry: ManagedFieldsEntry =
    at === undefined
      ? {manager, operation, apiVersion, fieldsType: 'FieldsV1', fieldsV1}
      : {manager, operation, apiVersion, time: at, fieldsType: 'FieldsV1', fieldsV1};
  return subresource ? {...entry, subresource} : entry;
};

/**
 * Removes changed and removed fields from every manager except one. Entries of versions that are not served are
 * dropped.
 */
export const removeOwnership = (managers: Map<string, ManagedFieldsEntry>, differences: Differences, except: string | undefined): void => {
  for (const [identity, entry] of managers) {
    if (identity === except) continue;
    const seen = differences.under(entry.apiVersion);
    if (seen) setFields(managers, identity, entry, difference(difference(entry.fieldsV1, seen.changed), seen.removed));
    else managers.delete(identity);
  }
};

const sameEntries = (entries: readonly ManagedFieldsEntry[], managers: ReadonlyMap<string, ManagedFieldsEntry>): boolean => {
  const kept = new Set(managers.values());
  return kept.size === entries.length && entries.every(entry => kept.has(entry));
};
