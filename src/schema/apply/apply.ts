import type {PlainObject} from '#src/schema/decode/plain.js';
import {sameJson} from '#src/api/equal.js';
import type {SchemaNode} from '#src/schema/node.js';
import {untrackedMetadata} from './compare.js';
import {ApplyConflict, type Conflict} from './conflicts.js';
import {difference, intersection, isEmpty, isEqual, setOf, type FieldSet} from './field-set.js';
import {fieldsOf} from './intent.js';
import {identityOf, inOrder, managersOf, type ManagedFieldsEntry} from './managers.js';
import {mergeIntent} from './merge.js';
import {prune} from './prune.js';
import {reconciled} from './reconcile.js';
import {Differences, type Writer} from './tracking.js';
import {newEntry, takeFields, trackUpdate, type Owner} from './update.js';

/** Everything an apply needs to know. All objects are under the writer's version; none is changed. */
export interface ApplyInput {
  /** `{}` when there is no object yet. */
  readonly live: PlainObject;
  /** An intent that fits the schema. */
  readonly intent: PlainObject;
  readonly node: SchemaNode;
  readonly entries: readonly ManagedFieldsEntry[];
  readonly force: boolean;
}

export interface ApplyResult {
  /** The object as the intent wants it, without defaults; shares parts with the live one and the intent. */
  readonly object: PlainObject;
  readonly entries: readonly ManagedFieldsEntry[];
}

/** The media type of an intent. */
export const applyMediaType = 'application/apply-patch+yaml';

const untracked = setOf([['f:apiVersion'], ['f:kind'], ['f:metadata'], ...untrackedMetadata.map(name => ['f:metadata', `f:${name}`])]);
const beforeFirstApply = 'before-first-apply';

/**
 * Lays an intent over an object: merges it in, removes what the manager owned before and no longer wants and nobody else owns, and states who owns
 * what then. Throws `ApplyConflict` when others own fields the intent changes, unless forced.
 */
export const applyIntent = (application: ApplyInput, writer: Writer): ApplyResult => {
  const {live, intent, node, force} = application;
  const entries = trackedEntries(application, writer);
  const managers = reconciledManagers(entries, node, writer);
  const own = {manager: writer.manager || 'unknown', operation: 'Apply', apiVersion: writer.apiVersion, subresource: writer.subresource} as const;
  const identity = identityOf(own);
  const last = managers.get(identity);
  const wanted = writer.writes?.within(fieldsOf(intent, node)) ?? fieldsOf(intent, node);
  managers.set(identity, {...own, fieldsType: 'FieldsV1', fieldsV1: wanted});

  const merged = mergeIntent(live, intent, node);
  const object = last ? prune({merged, node, managers, last}, writer) : merged;
  const differences = new Differences(live, object, node, writer);
  if (!force) refuseConflicts(managers, differences, identity);
  takeFields(managers, differences, identity);
  settle(managers, own, last, !sameJson(live, object), writer);
  return {object, entries: inOrder(managers.values())};
};

/** Objects that nobody tracked until now belong to one who was there before. */
const trackedEntries = ({live, node, entries}: ApplyInput, writer: Writer): readonly ManagedFieldsEntry[] =>
  entries.length > 0 ? entries : trackUpdate({before: {}, after: live, node}, [], {...writer, manager: beforeFirstApply});

/** The entries, fitted to what the schemas say today. */
const reconciledManagers = (entries: readonly ManagedFieldsEntry[], node: SchemaNode, {apiVersion, versions}: Writer): Map<string, ManagedFieldsEntry> => {
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

/** Throws when an owner beside the one who applies owns what changes. */
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

/** Leaves the applier's entry without what is never tracked, dated only by what changed the object; one that owns nothing goes. */
const settle = (managers: Map<string, ManagedFieldsEntry>, own: Owner, last: ManagedFieldsEntry | undefined, changed: boolean, writer: Writer): void => {
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

