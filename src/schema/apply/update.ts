import type {PlainObject} from '#src/schema/decode/plain.js';
import type {SchemaNode} from '#src/schema/node.js';
import {difference, isEmpty, isEqual, noFields, union} from './field-set.js';
import {inWireOrder} from './fields-v1.js';
import {capUpdaters, identityOf, inOrder, managersOf, setFields, type ManagedFieldsEntry} from './managers.js';
import {Differences, type Writer} from './tracking.js';

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
  const managers = managersOf(entries);
  takeFields(managers, differences, undefined);
  const {changed} = differences.own;
  if (!isEmpty(changed)) {
    const entry = {manager: writer.manager || 'unknown', operation: 'Update', apiVersion: writer.apiVersion, subresource: writer.subresource} as const;
    const identity = identityOf(entry);
    const previous = entries.find(candidate => identityOf(candidate) === identity);
    const fields = union(managers.get(identity)?.fieldsV1 ?? noFields, changed);
    if (previous && isEqual(previous.fieldsV1, fields)) managers.set(identity, previous);
    else managers.set(identity, newEntry(entry, writer.time, fields));
  }
  capUpdaters(managers);
  return sameEntries(entries, managers) ? entries : inOrder(managers.values());
};

/** An entry with its fields in the order of the wire. */
export const newEntry = (
  {manager, operation, apiVersion, subresource}: Pick<ManagedFieldsEntry, 'manager' | 'operation' | 'apiVersion' | 'subresource'>,
  time: string | undefined,
  fields: ManagedFieldsEntry['fieldsV1'],
): ManagedFieldsEntry => ({
  ...(manager ? {manager} : {}),
  operation,
  apiVersion,
  ...(time ? {time} : {}),
  fieldsType: 'FieldsV1',
  fieldsV1: inWireOrder(fields),
  ...(subresource ? {subresource} : {}),
});

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
