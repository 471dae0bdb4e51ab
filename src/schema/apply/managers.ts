import {isPlainObject} from '#src/schema/decode/plain.js';
import {isEmpty, unionOf, type FieldSet} from './field-set.js';
import {decodeFields, inWireOrder} from './fields-v1.js';

// The entries of `metadata.managedFields`: decoding, identity, order, and the limit on update entries. An entry without
// fields is never kept.

/**
 * The ownership of one manager: an entry of `metadata.managedFields` (the API reference, meta/v1 ManagedFieldsEntry).
 */
export interface ManagedFieldsEntry {
  readonly manager?: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly time?: string;
  readonly fieldsType: 'FieldsV1';
  readonly fieldsV1: FieldSet;
  readonly subresource?: string;
}

/** The entries of an object by identity. */
export type Managers = ReadonlyMap<string, ManagedFieldsEntry>;

/** Returns the identity of an entry. An applier has one identity across all versions. */
export const identityOf = ({manager, operation, apiVersion, subresource}: Omit<ManagedFieldsEntry, 'fieldsV1' | 'fieldsType'>): string => {
  const named = manager ? `"manager":${JSON.stringify(manager)},` : '';
  const version = operation === 'Apply' ? '' : `,"apiVersion":${JSON.stringify(apiVersion)}`;
  const at = subresource ? `,"subresource":${JSON.stringify(subresource)}` : '';
  return `{${named}"operation":"${operation}"${version}${at}}`;
};

/** Returns well-formed entries by identity. */
export const managersOf = (entries: readonly ManagedFieldsEntry[]): Map<string, ManagedFieldsEntry> => {
  const managers = new Map<string, ManagedFieldsEntry>();
  for (const entry of entries) managers.set(identityOf(entry), entry);
  return managers;
};

const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

const readEntry = (entry: unknown, index: number): ManagedFieldsEntry => {
  if (!isPlainObject(entry)) throw new Error(`managed fields entry ${index} is no object`);
  const {operation, fieldsType} = entry;
  const apiVersion = text(entry['apiVersion']);
  if (operation !== 'Apply' && operation !== 'Update') throw new Error('operation must be `Apply` or `Update`');
  if (!apiVersion) throw new Error('apiVersion must not be empty');
  if (!text(fieldsType)) throw new Error(`missing fieldsType in managed fields entry ${index}`);
  if (fieldsType !== 'FieldsV1') throw new Error(`invalid fieldsType ${JSON.stringify(fieldsType)} in managed fields entry ${index}`);
  const manager = text(entry['manager']);
  const time = text(entry['time']);
  const subresource = text(entry['subresource']);
  return {
    ...(manager ? {manager} : {}),
    operation,
    apiVersion,
    ...(time ? {time} : {}),
    fieldsType,
    fieldsV1: inWireOrder(decodeFields(entry['fieldsV1'])),
    ...(subresource ? {subresource} : {}),
  };
};

/** Decodes entries received from outside. Throws for the first malformed one. */
export const readEntries = (entries: unknown): ManagedFieldsEntry[] => {
  if (entries === undefined || entries === null) return [];
  if (!Array.isArray(entries)) throw new Error('managedFields must be a list');
  return inOrder(managersOf(entries.map(readEntry)).values());
};

/** Reports whether a writer clears all managed fields: with an empty list or one empty entry. */
export const requestsReset = (entries: unknown): boolean =>
  Array.isArray(entries) &&
  (entries.length === 0 || (entries.length === 1 && isPlainObject(entries[0]) && Object.keys(entries[0]).length === 0));

const seconds = ({time}: ManagedFieldsEntry): number => (time ? Math.floor(Date.parse(time) / 1000) : 0);
const compareTexts = (a = '', b = ''): number => (a < b ? -1 : a > b ? 1 : 0);

const compareEntries = (a: ManagedFieldsEntry, b: ManagedFieldsEntry): number =>
  compareTexts(a.operation, b.operation) ||
  seconds(a) - seconds(b) ||
  compareTexts(a.manager, b.manager) ||
  compareTexts(a.apiVersion, b.apiVersion) ||
  compareTexts(a.subresource, b.subresource);

/** Returns the entries in wire order: appliers first, then by time, manager, version and subresource. */
export const inOrder = (entries: Iterable<ManagedFieldsEntry>): ManagedFieldsEntry[] => [...entries].sort(compareEntries);

/** More update entries than this are merged into entries of `ancient-changes`. */
const maxUpdaters = 10;
const ancient = 'ancient-changes';

/** Merges the oldest update entries of each version into one until the limit is met. */
export const capUpdaters = (managers: Map<string, ManagedFieldsEntry>): void => {
  if (managers.size <= maxUpdaters) return;
  const updaters = [...managers].filter(([, {operation}]) => operation === 'Update');
  let excess = updaters.length - maxUpdaters;
  if (excess <= 0) return;
  updaters.sort(([a, left], [b, right]) => seconds(left) - seconds(right) || compareTexts(a, b));
  const byVersion = new Map<string, [identity: string, entry: ManagedFieldsEntry][]>();
  for (const updater of updaters) {
    if (excess <= 0) break;
    const merged = byVersion.get(updater[1].apiVersion);
    if (!merged) byVersion.set(updater[1].apiVersion, [updater]);
    else {
      merged.push(updater);
      excess--;
    }
  }
  for (const [apiVersion, merged] of byVersion) if (merged.length > 1) mergeAll(managers, apiVersion, merged);
};

/**
 * Replaces several entries of one version with one that has the time of the latest. An earlier merged entry takes the
 * place of the first.
 */
const mergeAll = (
  managers: Map<string, ManagedFieldsEntry>,
  apiVersion: string,
  merged: readonly (readonly [identity: string, entry: ManagedFieldsEntry])[],
): void => {
  const bucket = identityOf({manager: ancient, operation: 'Update', apiVersion});
  const before = managers.get(bucket);
  const rest = merged.slice(1);
  const gathered = before ? rest : merged;
  const sets = [...(before ? [before] : []), ...gathered.map(([, entry]) => entry)].map(({fieldsV1}) => fieldsV1);
  for (const [identity] of gathered) managers.delete(identity);
  const {time} = rest.at(-1)![1];
  managers.set(bucket, {
    manager: ancient,
    operation: 'Update',
    apiVersion,
    ...(time ? {time} : {}),
    fieldsType: 'FieldsV1',
    fieldsV1: inWireOrder(unionOf(sets)),
  });
};

/** Replaces the fields of an entry; removes it if it owns nothing. */
export const setFields = (
  managers: Map<string, ManagedFieldsEntry>,
  identity: string,
  entry: ManagedFieldsEntry,
  fields: FieldSet,
): void => {
  if (isEmpty(fields)) managers.delete(identity);
  else if (fields !== entry.fieldsV1) managers.set(identity, {...entry, fieldsV1: fields});
};
