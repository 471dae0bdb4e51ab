import type {PlainObject} from '#src/schema/decode/plain.js';
import {sameJson} from '#src/api/equal.js';
import type {SchemaNode} from '#src/schema/node.js';
import {untrackedMetadata} from './compare.js';
import {checkedVersions} from './checked-versions.js';
import {ApplyConflict, type Conflict} from './conflicts.js';
import {difference, intersection, isEmpty, isEqual, setOf, type FieldSet} from './field-set.js';
import {fieldsOf} from './intent.js';
import {identityOf, inOrder, type ManagedFieldsEntry} from './managers.js';
import {mergeIntent} from './merge.js';
import {prune} from './prune.js';
import {reconciledManagers} from './reconcile.js';
import {Differences, type Writer} from './tracking.js';
import {newEntry, removeOwnership, trackUpdate, type Owner} from './update.js';

// Server-side apply of one intent, in steps: adapt the managed fields to the schema, merge the intent, prune the fields
// it no longer has, compare, detect conflicts, record ownership. Neither reads nor stores objects.

/** The input of one server-side apply. All objects are in the writer's version and none is changed. */
export interface ApplyInput {
  /** The stored object; `{}` for a new one. */
  readonly live: PlainObject;
  /** The apply configuration; it fits the schema. */
  readonly intent: PlainObject;
  readonly node: SchemaNode;
  readonly entries: readonly ManagedFieldsEntry[];
  /** Whether the live object's fields have owners; by default, whether there are entries. */
  readonly isOwned?: boolean;
  readonly force: boolean;
  /** Whether the object may not fit the schemas of other versions, as that of a custom resource. */
  readonly isChecked?: boolean;
}

export interface ApplyResult {
  /** The object after the apply, before defaulting; shares parts with the live object and the intent. */
  readonly object: PlainObject;
  readonly entries: readonly ManagedFieldsEntry[];
}

/** The media type of an apply configuration in YAML. */
export const applyMediaType = 'application/apply-patch+yaml';

const untracked = setOf([['f:apiVersion'], ['f:kind'], ['f:metadata'], ...untrackedMetadata.map(name => ['f:metadata', `f:${name}`])]);
const beforeFirstApply = 'before-first-apply';

/**
 * Applies an intent: merges it into the object, removes the fields that the manager owned before, no longer applies and
 * no other manager owns, and updates the ownership. Throws `ApplyConflict` when the intent changes fields of other
 * managers, unless forced; and a 500 when the object does not fit a version in which it has owners.
 */
export const applyIntent = (application: ApplyInput, writer: Writer): ApplyResult => {
  const {live, intent, node, force, isChecked = false} = application;
  const entries = trackedEntries(application, writer);
  if (isChecked) checkLive(live, entries, writer);
  const managers = reconciledManagers(entries, node, writer);
  const own = {
    manager: writer.manager || 'unknown',
    operation: 'Apply',
    apiVersion: writer.apiVersion,
    subresource: writer.subresource,
  } as const;
  const identity = identityOf(own);
  const last = managers.get(identity);
  const wanted = writer.writes?.within(fieldsOf(intent, node)) ?? fieldsOf(intent, node);
  managers.set(identity, newEntry(own, undefined, wanted));

  const merged = mergeIntent(live, intent, node);
  const object = last ? prune({merged, node, managers, last, isChecked}, writer) : merged;
  const differences = new Differences(live, object, node, isChecked ? checkingNew(writer) : writer);
  if (!force) refuseConflicts(managers, differences, identity);
  removeOwnership(managers, differences, identity);
  recordApplier(managers, own, last, !sameJson(live, object), writer);
  return {object, entries: inOrder(managers.values())};
};

/** Returns the managed fields. Fields of an object without owners are owned by `before-first-apply`. */
const trackedEntries = ({live, node, entries, isOwned = entries.length > 0}: ApplyInput, writer: Writer): readonly ManagedFieldsEntry[] =>
  isOwned ? entries : [...entries, ...trackUpdate({before: {}, after: live, node}, [], {...writer, manager: beforeFirstApply})];

/** Checks the object, as it is stored, in all versions in which it has owners. */
const checkLive = (live: PlainObject, entries: readonly ManagedFieldsEntry[], {apiVersion: own, versions}: Writer): void => {
  const checked = checkedVersions(versions, '');
  for (const version of new Set(entries.map(({apiVersion}) => apiVersion))) checked.convert(live, own, version);
};

const checkingNew = (writer: Writer): Writer => ({
  ...writer,
  versions: checkedVersions(writer.versions, 'failed to convert new object: '),
});

/** Throws `ApplyConflict` when another manager owns a changed field. */
const refuseConflicts = (managers: ReadonlyMap<string, ManagedFieldsEntry>, differences: Differences, self: string): void => {
  const conflicts: Conflict[] = [];
  for (const identity of [...managers.keys()].sort()) {
    const owner = managers.get(identity)!;
    const seen = identity === self ? undefined : differences.under(owner.apiVersion);
    if (!seen) continue;
    const fields = intersection(owner.fieldsV1, seen.changed);
    if (!isEmpty(fields)) conflicts.push({owner, fields});
  }
  if (conflicts.length > 0) throw new ApplyConflict(conflicts);
};

/**
 * Stores the applier's entry without the fields that are never tracked. Its time changes only with the object; an entry
 * without fields is removed.
 */
const recordApplier = (
  managers: Map<string, ManagedFieldsEntry>,
  own: Owner,
  last: ManagedFieldsEntry | undefined,
  changed: boolean,
  writer: Writer,
): void => {
  const identity = identityOf(own);
  const entry = managers.get(identity)!;
  const fields: FieldSet = difference(entry.fieldsV1, untracked);
  if (isEmpty(fields)) {
    managers.delete(identity);
    return;
  }
  const same = last && !changed && last.apiVersion === entry.apiVersion && isEqual(last.fieldsV1, fields);
  managers.set(identity, same ? last : newEntry(own, changed ? writer.time : last?.time, fields));
};
