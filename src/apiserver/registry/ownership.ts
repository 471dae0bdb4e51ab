import {sameJson} from '#src/api/equal.js';
import type {Kind} from '#src/api/kinds.js';
import {wireTime} from '#src/api/time.js';
import type {KubeObject, ObjectMeta} from '#src/api/types.js';
import type {Endpoint, WrittenPaths} from '#src/resources/definition.js';
import {fitsSchema} from '#src/schema/apply/type-mismatches.js';
import {requestsReset, readEntries, type ManagedFieldsEntry} from '#src/schema/apply/managers.js';
import {Writes, type Versions, type Writer} from '#src/schema/apply/tracking.js';
import {trackUpdate} from '#src/schema/apply/update.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import type {Eventually} from '#src/storage/store.js';
import {acrossVersions, isPending} from './across-versions.js';
import {withMetadata} from './paths.js';
import type {Resource, WriteContext} from './registry.js';

/** The fields an address writes: when something is made, when it is changed, and either. */
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
    writes.set(endpoint, (known = {create: new Writes(made), update: new Writes(update), any: new Writes(create ? either(made, update) : update)}));
  }
  return known;
};

const either = (a: WrittenPaths, b: WrittenPaths): WrittenPaths => ('allBut' in a ? a : 'allBut' in b ? b : [...a, ...b]);

/** Through which address someone writes. */
interface Address {
  /** Empty for the main address. */
  readonly subresource: string;
  /** Whether it shows another kind: entries of such writers have no time. */
  readonly isView?: boolean;
}

const writerOf = (resource: Resource, context: WriteContext, {subresource, isView}: Address, written: Writes, versions: Versions): Writer => ({
  manager: context.manager,
  subresource,
  apiVersion: resource.settings.naming.apiVersion(context.served.group, context.served.version),
  get time() {
    return isView ? undefined : wireTime(resource.settings.clock.now());
  },
  writes: written,
  versions,
});

/** Who an apply through an address is, and what it may own: also what only a creation writes, lest its maker lose it. */
export const applierOf = (resource: Resource, endpoint: Endpoint<KubeObject>, subresource: string, context: WriteContext, versions: Versions): Writer =>
  writerOf(resource, context, {subresource, isView: endpoint.view !== undefined}, writesOf(endpoint).any, versions);

/** The entries of a stored object, which are well-formed. */
export const entriesOf = (object: Readonly<KubeObject> | undefined): readonly ManagedFieldsEntry[] =>
  (object?.metadata?.managedFields as readonly ManagedFieldsEntry[] | undefined) ?? [];

export const setEntries = (meta: ObjectMeta, entries: readonly ManagedFieldsEntry[]): void => {
  if (entries.length > 0) meta.managedFields = entries as unknown as NonNullable<ObjectMeta['managedFields']>;
  else delete meta.managedFields;
};

/** The entries a writer sent, or none: malformed ones count as not sent. */
const sentEntries = (meta: ObjectMeta): readonly ManagedFieldsEntry[] => {
  if (!meta.managedFields) return [];
  try {
    return readEntries(meta.managedFields);
  } catch {
    return [];
  }
};

/**
 * The entries after a write; those before it when ownership cannot be told. There are none for an object that does not fit its schema, as one that is checked
 * only when the schema is a custom one may: what validation lets through there can be of another type.
 */
const tracked = (before: PlainObject, after: PlainObject, entries: readonly ManagedFieldsEntry[], writer: Writer, isChecked = false): readonly ManagedFieldsEntry[] => {
  const {versions: known, apiVersion} = writer;
  const node = known.schemaOf(apiVersion);
  if (!node) return entries;
  if (isChecked && !fitsSchema(after, node)) return [];
  try {
    return trackUpdate({before, after, node}, entries, writer);
  } catch (error) {
    if (isPending(error)) throw error;
    return entries;
  }
};

/** Puts down the entries after a write, once they are told; those before it when that fails. */
const settle = (resource: Resource, meta: ObjectMeta, entries: readonly ManagedFieldsEntry[], track: (versions: Versions) => readonly ManagedFieldsEntry[]): Eventually<void> => {
  const result = acrossVersions(resource, track);
  if (!(result instanceof Promise)) return setEntries(meta, result);
  return result.then(
    entries => setEntries(meta, entries),
    () => setEntries(meta, entries),
  );
};

/** Records in a new object's metadata who owns its fields: its creator all it wrote. */
export const recordCreation = (resource: Resource, object: KubeObject, context: WriteContext): Eventually<void> => {
  if (context.ownershipStated) return;
  const meta = object.metadata!;
  const sent = sentEntries(meta);
  return settle(resource, meta, sent, versions => {
    const writer = writerOf(resource, context, {subresource: ''}, writesOf(resource.definition.main).create, versions);
    return tracked({}, versions.convert(object as PlainObject, resource.apiVersion, writer.apiVersion), sent, writer, resource.definition.custom);
  });
};

/** Records who wrote what in an object that is posted to be answered, not stored: its sender everything, whatever owners came along. */
export const recordPosted = (resource: Resource, {group, version, kind}: Kind, object: KubeObject, subresource: string, context: WriteContext): void => {
  const {naming, schemas} = resource.settings;
  const apiVersion = naming.apiVersion(group, version);
  const versions: Versions = {schemaOf: () => schemas.of(group, version, kind), convert: same => same};
  const meta = (object.metadata ??= {});
  setEntries(meta, tracked({}, object as PlainObject, [], {...writerOf(resource, context, {subresource}, everything, versions), apiVersion}));
};

const everything = new Writes({allBut: []});

/** Through which address an object is updated. */
export interface UpdateAddress {
  readonly endpoint: Endpoint<KubeObject>;
  /** Empty for the main address. */
  readonly subresource: string;
}

/**
 * Records in the metadata of an object that is being updated who owns its fields. A writer may bring entries of its own at the main address, and
 * clear them all; objects that nobody tracks stay so.
 */
export const recordUpdate = (resource: Resource, {endpoint, subresource}: UpdateAddress, object: KubeObject, old: Readonly<KubeObject>, context: WriteContext): Eventually<void> => {
  if (context.ownershipStated) return;
  const meta = object.metadata!;
  const stored = entriesOf(old);
  const reset = !subresource && requestsReset(meta.managedFields);
  const sent = subresource || reset || sameJson(meta.managedFields, stored) ? [] : sentEntries(meta);
  const entries = reset ? [] : sent.length > 0 ? sent : stored;
  if (entries.length === 0) return setEntries(meta, []);
  return settle(resource, meta, entries, versions => {
    const writer = writerOf(resource, context, {subresource, isView: endpoint.view !== undefined}, writesOf(endpoint).update, versions);
    const before = versions.convert(old as PlainObject, resource.apiVersion, writer.apiVersion);
    const after = versions.convert(object as PlainObject, resource.apiVersion, writer.apiVersion);
    return tracked(before, after, entries, writer, resource.definition.custom);
  });
};

/** Puts back the recorded entries when admission has left something in their place that is malformed, and warns. */
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

const untimed = (entries: readonly ManagedFieldsEntry[]): unknown[] => entries.map(entry => ({...entry, time: undefined}));

/** Gives an object the stored entries back where they differ in nothing but their times: such a change alone is not worth a write. */
export const withOldTimes = (object: KubeObject, old: Readonly<KubeObject>): KubeObject => {
  const entries = entriesOf(object);
  const stored = entriesOf(old);
  if (entries === stored || entries.length !== stored.length || !sameJson(untimed(entries), untimed(stored))) return object;
  const meta = {...object.metadata};
  setEntries(meta, stored);
  return {...object, metadata: meta};
};

const longestManager = 128;
const printable = /[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u;

/** The name a client without one goes by: what its User-Agent says before the first slash, as far as it can be printed and fits. */
export const managerOfAgent = (agent: string): string => {
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
