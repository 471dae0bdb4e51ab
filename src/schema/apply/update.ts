import type {PlainObject} from '#src/schema/decode/plain.js';
import type {SchemaNode} from '#src/schema/node.js';
import {difference, isEmpty, isEqual, isWithin, noFields, overlaps, union, type FieldSet} from './field-set.js';
import {inWireOrder} from './fields-v1.js';
import {capUpdaters, identityOf, inOrder, managersOf, setFields, type ManagedFieldsEntry} from './managers.js';
import {Differences, type Writer} from './tracking.js';

/** Whose an entry is. */
export interface Owner {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  /** Empty for the main address. */
  readonly subresource: string;
}

/** Two states of an object under the writer's version. */
export interface Change {
  /** `{}` when the object is new. */
  readonly before: PlainObject;
  readonly after: PlainObject;
  readonly node: SchemaNode;
}

/**
 * Who owns what after a write that is no apply: whatever changed is the writer's and nobody else's; what is gone is nobody's. Yields `entries`
 * itself when that changes nothing. An entry's time moves only when its fields do.
 */
export const trackUpdate = ({before, after, node}: Change, entries: readonly ManagedFieldsEntry[], writer: Writer): readonly ManagedFieldsEntry[] => {
  const differences = new Differences(before, after, node, writer);
  if (differences.none) return entries;
  const {changed} = differences.own;
  const entry = {manager: writer.manager || 'unknown', operation: 'Update', apiVersion: writer.apiVersion, subresource: writer.subresource} as const;
  if (entries.length === 0) return isEmpty(changed) ? entries : [newEntry(entry, writer.time, changed)];
  if (movesNothing(entries, differences, entry)) return entries;
  const managers = managersOf(entries);
  takeFields(managers, differences, undefined);
  if (!isEmpty(changed)) {
    const identity = identityOf(entry);
    const previous = entries.find(candidate => identityOf(candidate) === identity);
    const fields = union(managers.get(identity)?.fieldsV1 ?? noFields, changed);
    if (previous && isEqual(previous.fieldsV1, fields)) managers.set(identity, previous);
    else managers.set(identity, newEntry(entry, writer.time, fields));
  }
  capUpdaters(managers);
  return sameEntries(entries, managers) ? entries : inOrder(managers.values());
};

const isOf = (entry: ManagedFieldsEntry, {manager, operation, apiVersion, subresource}: Owner): boolean =>
  entry.manager === manager && entry.operation === operation && entry.apiVersion === apiVersion && (entry.subresource ?? '') === subresource;

/** Whether the writer owns all that changed already and nobody owns what went, as when a lease is renewed: told without making anything. */
const movesNothing = (entries: readonly ManagedFieldsEntry[], {own: {changed, removed}}: Differences, writer: Owner): boolean => {
  let owned = isEmpty(changed);
  for (const entry of entries) {
    if (entry.apiVersion !== writer.apiVersion || overlaps(entry.fieldsV1, removed)) return false;
    if (isOf(entry, writer)) owned ||= isWithin(changed, entry.fieldsV1);
    else if (overlaps(entry.fieldsV1, changed)) return false;
  }
  return owned;
};

/** An entry with its fields in the order of the wire. */
export const newEntry = ({manager, operation, apiVersion, subresource}: Owner, at: string | undefined, fields: FieldSet): ManagedFieldsEntry => {
  const fieldsV1 = inWireOrder(fields);
  const time = at === undefined ? {} : {time: at};
  return {manager, operation, apiVersion, ...time, fieldsType: 'FieldsV1', fieldsV1, ...(subresource ? {subresource} : {})};
};

/** Takes what changed or went from everyone but one. Owners under a version that is not served go. */
export const takeFields = (managers: Map<string, ManagedFieldsEntry>, differences: Differences, except: string | undefined): void => {
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
