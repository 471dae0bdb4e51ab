// The managed fields of creations, updates and unstored objects. Entries are computed in the version of the request.

import {andThen, isPending, type Eventually} from '#src/base/eventually.js';
import {sameFieldsBut, sameJson} from '#src/api/equal.js';
import type {Kind} from '#src/api/kinds/index.js';
import {wireTime} from '#src/api/time.js';
import type {KubeObject, ObjectMeta} from '#src/api/types.js';
import type {Endpoint, WrittenPaths} from '#src/resources/definition.js';
import {fitsSchema} from '#src/schema/apply/type-mismatches.js';
import {currentEntries} from '#src/schema/apply/reconcile.js';
import {requestsReset, readEntries, type ManagedFieldsEntry} from '#src/schema/apply/managers.js';
import {Writes, type Versions, type Writer} from '#src/schema/apply/tracking.js';
import {trackUpdate} from '#src/schema/apply/update.js';
import {dropField} from '#src/base/json/drop-field.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import {acrossVersions, isConversionPending} from './across-versions.js';
import {mergeWrittenFields, withMetadata} from './written-paths.js';
import type {Resource} from '#src/apiserver/registry/resource.js';
import type {WriteContext} from '#src/apiserver/registry/write-context.js';

/** The fields an endpoint writes: in a creation, in an update, and in either. */
interface EndpointWrites {
  readonly create: Writes;
  readonly update: Writes;
  readonly any: Writes;
}

const writes = new WeakMap<Endpoint<KubeObject>, EndpointWrites>();

const writesOf = (endpoint: Endpoint<KubeObject>): EndpointWrites => {
  let known = writes.get(endpoint);
  if (!known) {
    const {create, update, owned} = endpoint.writes;
    const made = withMetadata(owned ?? create ?? update);
    writes.set(
      endpoint,
      (known = {create: new Writes(made), update: new Writes(update), any: new Writes(create ? union(made, update) : (owned ?? update))}),
    );
  }
  return known;
};

const union = (a: WrittenPaths, b: WrittenPaths): WrittenPaths => ('allBut' in a ? a : 'allBut' in b ? b : [...a, ...b]);

/** The endpoint of a write. */
interface WriteAddress {
  /** Empty for the main address. */
  readonly subresource: string;
  /** Whether the endpoint serves another kind: entries of its writers have no time. */
  readonly isView?: boolean;
}

const writerOf = (
  resource: Resource,
  context: WriteContext,
  {subresource, isView}: WriteAddress,
  written: Writes,
  versions: Versions,
): Writer => ({
  manager: context.manager,
  subresource,
  apiVersion:
    context.served === resource.kind
      ? resource.apiVersion
      : resource.settings.naming.apiVersion(context.served.group, context.served.version),
  time: isView ? undefined : wireTime(resource.settings.clock.now()),
  writes: written,
  versions,
});

/**
 * Returns the writer of an apply. It may also own fields that only a creation writes; otherwise the creator would lose
 * them with its next apply.
 */
export const applierOf = (
  resource: Resource,
  endpoint: Endpoint<KubeObject>,
  subresource: string,
  context: WriteContext,
  versions: Versions,
): Writer => writerOf(resource, context, {subresource, isView: endpoint.view !== undefined}, writesOf(endpoint).any, versions);

/** Returns the managed fields entries of a stored object, which are well-formed. */
export const entriesOf = (object: Readonly<KubeObject> | undefined): readonly ManagedFieldsEntry[] =>
  (object?.metadata?.managedFields as readonly ManagedFieldsEntry[] | undefined) ?? [];

export const setEntries = (meta: ObjectMeta, entries: readonly ManagedFieldsEntry[]): void => {
  if (entries.length > 0) meta.managedFields = entries as unknown as NonNullable<ObjectMeta['managedFields']>;
  else dropField(meta, 'managedFields');
};

/** Returns the entries in a request; malformed ones count as absent. */
const sentEntries = (meta: ObjectMeta): readonly ManagedFieldsEntry[] => {
  if (!meta.managedFields) return [];
  try {
    return readEntries(meta.managedFields);
  } catch {
    return [];
  }
};

/**
 * Returns the entries after a write; none when ownership cannot be computed, for example of a list item without its
 * key, or in a version that a custom resource no longer has. With `isChecked` (custom resources, whose validation may
 * accept values of another type) an object that does not fit its schema, or that of another version in which it has
 * owners, has none. With `areStored` the entries are those of a stored object whose schema does not change.
 */
const entriesAfterWrite = (
  before: PlainObject,
  after: PlainObject,
  entries: readonly ManagedFieldsEntry[],
  writer: Writer,
  {isChecked, areStored}: {readonly isChecked: boolean; readonly areStored: boolean},
): readonly ManagedFieldsEntry[] => {
  const {versions: known, apiVersion} = writer;
  const node = known.schemaOf(apiVersion);
  if (!node) return entries;
  try {
    const current = areStored || entries.length === 0 ? entries : currentEntries(entries, node, writer);
    if (isChecked && !fitsVersions({before, after}, current, writer)) return [];
    return trackUpdate({before, after, node}, current, writer);
  } catch (error) {
    if (isConversionPending(error)) throw error;
    return [];
  }
};

/** Whether the object, as it was and as it is, fits the schemas of the versions of the writer and the entries. */
const fitsVersions = (
  {before, after}: {readonly before: PlainObject; readonly after: PlainObject},
  entries: readonly ManagedFieldsEntry[],
  {apiVersion: own, versions}: Writer,
): boolean => {
  for (const version of new Set([own, ...entries.map(({apiVersion}) => apiVersion)])) {
    const node = versions.schemaOf(version);
    if (node && ![before, after].every(state => fitsSchema(versions.convert(state, own, version), node))) return false;
  }
  return true;
};

/** A kind without other versions. */
const onlyVersion = ({settings: {schemas}}: Resource, {group, version, kind}: Kind): Versions => ({
  schemaOf: () => schemas.of(group, version, kind),
  convert: same => same,
});

/** Whether a request is in the stored version, as all that its managers wrote. */
const isOfStoredVersion = (
  {kind, apiVersion, isCustom}: Resource,
  {served}: WriteContext,
  entries: readonly ManagedFieldsEntry[],
): boolean => !isCustom && served === kind && entries.every(entry => entry.apiVersion === apiVersion);

/** Sets the entries that `track` returns; none if a conversion fails. */
const setTrackedEntries = (
  resource: Resource,
  context: WriteContext,
  meta: ObjectMeta,
  entries: readonly ManagedFieldsEntry[],
  track: (versions: Versions) => readonly ManagedFieldsEntry[],
): Eventually<void> => {
  if (isOfStoredVersion(resource, context, entries)) return setEntries(meta, track(onlyVersion(resource, resource.kind)));
  const result = acrossVersions(resource, track);
  const kept = isPending(result) ? result.catch(() => []) : result;
  return andThen(kept, tracked => setEntries(meta, tracked));
};

/** Records the creator as owner of all fields it wrote in a new object. */
export const recordCreation = (resource: Resource, object: KubeObject, context: WriteContext): Eventually<void> => {
  if (context.isOwnershipRecorded) return;
  const meta = object.metadata!;
  const sent = sentEntries(meta);
  return setTrackedEntries(resource, context, meta, sent, versions => {
    const writer = writerOf(resource, context, {subresource: ''}, writesOf(resource.definition.main).create, versions);
    return entriesAfterWrite({}, versions.convert(object as PlainObject, resource.apiVersion, writer.apiVersion), sent, writer, {
      isChecked: resource.isCustom,
      areStored: false,
    });
  });
};

/**
 * Records the sender as owner of all fields of an object that is posted but not stored, such as a review. Entries in
 * the request are ignored.
 */
export const recordUnstored = (resource: Resource, kind: Kind, object: KubeObject, subresource: string, context: WriteContext): void => {
  const apiVersion = resource.settings.naming.apiVersion(kind.group, kind.version);
  const versions = onlyVersion(resource, kind);
  const meta = (object.metadata ??= {});
  setEntries(
    meta,
    entriesAfterWrite(
      {},
      object as PlainObject,
      [],
      {...writerOf(resource, context, {subresource}, everything, versions), apiVersion},
      {isChecked: false, areStored: true},
    ),
  );
};

const everything = new Writes({allBut: []});

/**
 * Returns an object as changes of its owners are found through an endpoint: without a value that the endpoint's view
 * does not show, which are zero replicas. Such a value comes to be owned by appliers only.
 */
export const asCompared = ({view, writes: {owned}}: Endpoint<KubeObject>, object: Readonly<KubeObject>): PlainObject => {
  if (!view || !owned || view.sets(view.of(object))) return object as PlainObject;
  return mergeWrittenFields<object>({apiVersion: object.apiVersion, kind: object.kind}, object, owned) as PlainObject;
};

/** The endpoint of an update. */
export interface UpdateAddress {
  readonly endpoint: Endpoint<KubeObject>;
  /** Empty for the main address. */
  readonly subresource: string;
}

/**
 * Records the owners of the fields of an object that is being updated. A write to the main address may bring entries of
 * its own or clear all of them; an object without entries stays without.
 */
export const recordUpdate = (
  resource: Resource,
  {endpoint, subresource}: UpdateAddress,
  object: KubeObject,
  old: Readonly<KubeObject>,
  context: WriteContext,
): Eventually<void> => {
  if (context.isOwnershipRecorded) return;
  const meta = object.metadata!;
  const stored = entriesOf(old);
  const reset = !subresource && requestsReset(meta.managedFields);
  const sent = subresource || reset || sameJson(meta.managedFields, stored) ? [] : sentEntries(meta);
  const entries = reset ? [] : sent.length > 0 ? sent : stored;
  if (entries.length === 0) return setEntries(meta, []);
  // A value that nobody owns stays without an owner.
  if (endpoint.view?.owners(old).length === 0) return setEntries(meta, stored);
  return setTrackedEntries(resource, context, meta, entries, versions => {
    const writer = writerOf(resource, context, {subresource, isView: endpoint.view !== undefined}, writesOf(endpoint).update, versions);
    const before = versions.convert(asCompared(endpoint, old), resource.apiVersion, writer.apiVersion);
    const after = versions.convert(asCompared(endpoint, object), resource.apiVersion, writer.apiVersion);
    const {isCustom} = resource;
    return entriesAfterWrite(before, after, entries, writer, {isChecked: isCustom, areStored: entries === stored && !isCustom});
  });
};

/** Restores the recorded entries, with a warning, if admission has replaced them by malformed ones. */
export const restoreMalformed = (meta: ObjectMeta, recorded: ObjectMeta['managedFields'], warn: (text: string) => void): void => {
  if (meta.managedFields === recorded) return;
  try {
    setEntries(meta, readEntries(meta.managedFields));
  } catch (error) {
    if (recorded) meta.managedFields = recorded;
    else delete meta.managedFields;
    warn(
      `.metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: ${(error as Error).message}`,
    );
  }
};

const timed: ReadonlySet<string> = new Set(['time']);

/** Whether the managed fields of two objects are the same but for the times, which alone do not justify a write. */
export const sameOwners = (object: Readonly<KubeObject>, old: Readonly<KubeObject>): boolean => {
  const entries = entriesOf(object);
  const stored = entriesOf(old);
  if (entries === stored) return true;
  return entries.length === stored.length && entries.every((entry, at) => sameFieldsBut(entry, stored[at]!, timed));
};

const longestManager = 128;
const printable = /[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u;

/** The client of the last request, and its manager: the requests of one client come in a row. */
let lastClient = {agent: '', manager: ''};

/**
 * Returns the default field manager of a client: the printable characters of its User-Agent before the first slash,
 * truncated to the limit.
 */
export const managerOfAgent = (agent: string): string => {
  if (agent !== lastClient.agent) lastClient = {agent, manager: managerOf(agent)};
  return lastClient.manager;
};

const managerOf = (agent: string): string => {
  let name = '';
  let length = 0;
  for (const character of agent.split('/', 1)[0]!) {
    if (!printable.test(character)) continue;
    length += Buffer.byteLength(character);
    if (length > longestManager) break;
    name += character;
  }
  return name;
};
