import {isPlainObject} from '#src/schema/decode/plain.js';
import {isEmpty, unionOf, type FieldSet} from './field-set.js';
import {decodeFields, inWireOrder} from './fields-v1.js';

/** Who owns which fields of an object: one entry of `metadata.managedFields` (the API reference, meta/v1 ManagedFieldsEntry). */
export interface ManagedFieldsEntry {
  readonly manager?: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly time?: string;
  readonly fieldsType: 'FieldsV1';
  readonly fieldsV1: FieldSet;
  readonly subresource?: string;
}

/** The entries of an object by their identity. */
export type Managers = ReadonlyMap<string, ManagedFieldsEntry>;

/** What makes two entries the same manager's. Whoever applies stays the same under every version. */
export const identityOf = ({manager, operation, apiVersion, subresource}: Omit<ManagedFieldsEntry, 'fieldsV1' | 'fieldsType'>): string =>
  JSON.stringify({...(manager ? {manager} : {}), operation, ...(operation === 'Apply' ? {} : {apiVersion}), ...(subresource ? {subresource} : {})});

/** Entries that are known to be well-formed, by identity. */
export const managersOf = (entries: readonly ManagedFieldsEntry[] | undefined): Map<string, ManagedFieldsEntry> =>
  new Map((entries ?? []).map(entry => [identityOf(entry), entry]));

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

/** Reads entries that came from outside. Throws for the first that is malformed. */
export const readEntries = (entries: unknown): ManagedFieldsEntry[] => {
  if (entries === undefined || entries === null) return [];
  if (!Array.isArray(entries)) throw new Error('managedFields must be a list');
  return inOrder(managersOf(entries.map(readEntry)).values());
};

/** Whether a writer asks for all tracking to be cleared: no entries, or one empty entry. */
export const requestsReset = (entries: unknown): boolean =>
  Array.isArray(entries) && (entries.length === 0 || (entries.length === 1 && isPlainObject(entries[0]) && Object.keys(entries[0]).length === 0));

const seconds = ({time}: ManagedFieldsEntry): number => (time ? Math.floor(Date.parse(time) / 1000) : 0);
const compareTexts = (a = '', b = ''): number => (a < b ? -1 : a > b ? 1 : 0);

const compareEntries = (a: ManagedFieldsEntry, b: ManagedFieldsEntry): number =>
  compareTexts(a.operation, b.operation) ||
  seconds(a) - seconds(b) ||
  compareTexts(a.manager, b.manager) ||
  compareTexts(a.apiVersion, b.apiVersion) ||
  compareTexts(a.subresource, b.subresource);

/** The entries in the order of the wire: those that apply first, then by time, manager, version and subresource. */
export const inOrder = (entries: Iterable<ManagedFieldsEntry>): ManagedFieldsEntry[] => [...entries].sort(compareEntries);

/** More entries of updates than this are merged into those of `ancient`. */
const maxUpdaters = 10;
const ancient = 'ancient-changes';

/** Merges the oldest updaters of each version into one entry until there are no more than there may be. */
export const capUpdaters = (managers: Map<string, ManagedFieldsEntry>): void => {
  const updaters = [...managers].filter(([, {operation}]) => operation === 'Update');
  let surplus = updaters.length - maxUpdaters;
  if (surplus <= 0) return;
  updaters.sort(([a, left], [b, right]) => seconds(left) - seconds(right) || compareTexts(a, b));
  const byVersion = new Map<string, [identity: string, entry: ManagedFieldsEntry][]>();
  for (const updater of updaters) {
    if (surplus <= 0) break;
    const merged = byVersion.get(updater[1].apiVersion);
    if (!merged) byVersion.set(updater[1].apiVersion, [updater]);
    else {
      merged.push(updater);
      surplus--;
    }
  }
  for (const [apiVersion, merged] of byVersion) if (merged.length > 1) mergeAll(managers, apiVersion, merged);
};

/** Puts one entry, of the time of the last of them, in the place of several of one version. What was merged before takes the place of the first. */
const mergeAll = (managers: Map<string, ManagedFieldsEntry>, apiVersion: string, merged: readonly (readonly [identity: string, entry: ManagedFieldsEntry])[]): void => {
  const bucket = identityOf({manager: ancient, operation: 'Update', apiVersion});
  const before = managers.get(bucket);
  const rest = merged.slice(1);
  const gathered = before ? rest : merged;
  const sets = [...(before ? [before] : []), ...gathered.map(([, entry]) => entry)].map(({fieldsV1}) => fieldsV1);
  for (const [identity] of gathered) managers.delete(identity);
  const {time} = rest.at(-1)![1];
  managers.set(bucket, {manager: ancient, operation: 'Update', apiVersion, ...(time ? {time} : {}), fieldsType: 'FieldsV1', fieldsV1: inWireOrder(unionOf(sets))});
};

/** Puts an entry's fields in place of what it had; one that owns nothing goes. */
export const setFields = (managers: Map<string, ManagedFieldsEntry>, identity: string, entry: ManagedFieldsEntry, fields: FieldSet): void => {
  if (isEmpty(fields)) managers.delete(identity);
  else if (fields !== entry.fieldsV1) managers.set(identity, {...entry, fieldsV1: fields});
};
