// What a request selects: its parameters, and whether a record is among them.

import {parseFieldSelector, type FieldSelector} from '#src/api/selectors/field-selector.js';
import {parseLabelSelector, type LabelSelector} from '#src/api/selectors/label-selector.js';
import {badRequest} from '#src/api/status.js';
import {parseTime} from '#src/api/time.js';
import type {KubeObject} from '#src/api/types.js';
import type {RecordedObject} from '#src/observe/flight-recorder.js';
import {forms, type Entry, type Kept} from './entry.js';

const kinds: ReadonlySet<string> = new Set(['change', 'reconcile', 'admission', 'scheduling']);
const parameters: ReadonlySet<string> = new Set(
  (
    'kind group resource namespace name uid controller user request after before ' +
    'since until order limit objects watch at continue table labelSelector fieldSelector timeout pretty'
  ).split(' '),
);

const defaultLimit = 100;
const maxLimit = 1000;
/** Each page of objects of a moment looks at all records, and a row is smaller than its object. */
const maxRows = 10_000;

/** The parameters of a request. */
export interface RecordQuery {
  readonly kinds: ReadonlySet<string> | undefined;
  /** The parts of an object that are given. */
  readonly object: Partial<RecordedObject>;
  readonly controller: string | undefined;
  readonly user: string | undefined;
  readonly request: string | undefined;
  readonly after: number | undefined;
  readonly before: number;
  /** In ms. */
  readonly since: number;
  readonly until: number;
  readonly isDescending: boolean;
  readonly limit: number;
  readonly objects: boolean;
  /** Whether objects of a moment are shown as a table. */
  readonly table: boolean;
  /** Of objects of a moment. */
  readonly labels: LabelSelector | undefined;
  readonly fields: FieldSelector | undefined;
}

const count = (query: URLSearchParams, name: string): number | undefined => {
  const text = query.get(name);
  if (text === null) return undefined;
  const value = Number(text);
  if (text === '' || !Number.isSafeInteger(value) || value < 0) throw badRequest(`${name}: "${text}" is no number`);
  return value;
};

const time = (query: URLSearchParams, name: string): number | undefined => {
  const text = query.get(name);
  if (text === null) return undefined;
  const ms = parseTime(text);
  if (ms === undefined) throw badRequest(`${name}: "${text}" is no time as 2006-01-02T15:04:05Z`);
  return ms;
};

/** Reads the parameters. Throws 400 for one that is unknown or malformed. */
export const readQuery = (query: URLSearchParams): RecordQuery => {
  for (const name of query.keys()) if (!parameters.has(name)) throw badRequest(`there is no parameter "${name}"`);
  const given = query.get('kind')?.split(',');
  const unknown = given?.find(kind => !kinds.has(kind));
  if (unknown !== undefined) throw badRequest(`kind: "${unknown}" is not one of ${[...kinds].join(', ')}`);
  const order = query.get('order') ?? 'asc';
  if (order !== 'asc' && order !== 'desc') throw badRequest(`order: "${order}" is neither asc nor desc`);
  const selector = <T>(name: string, parse: (text: string) => T): T | undefined => {
    const text = query.get(name);
    return text ? parse(text) : undefined;
  };
  const part = (name: keyof RecordedObject) => (query.has(name) ? {[name]: query.get(name)!} : {});
  return {
    kinds: given && new Set(given),
    object: {...part('group'), ...part('resource'), ...part('namespace'), ...part('name'), ...part('uid')},
    controller: query.get('controller') ?? undefined,
    user: query.get('user') ?? undefined,
    request: query.get('request') ?? undefined,
    after: count(query, 'after'),
    before: count(query, 'before') ?? Infinity,
    since: time(query, 'since') ?? -Infinity,
    until: time(query, 'until') ?? Infinity,
    isDescending: order === 'desc',
    limit: Math.min(count(query, 'limit') || defaultLimit, query.get('table') === 'true' ? maxRows : maxLimit),
    objects: query.get('objects') === 'true',
    table: query.get('table') === 'true',
    labels: selector('labelSelector', parseLabelSelector),
    fields: selector('fieldSelector', parseFieldSelector),
  };
};

/** Returns a quick check, without reading a record, that none which is selected fails. */
export const quickCheck = ({object, controller, request, since, until}: RecordQuery): ((entry: Entry) => boolean) => {
  const {group, resource, namespace, name, uid} = object;
  const one = group !== undefined && resource && namespace && name ? {group, resource, namespace, name} : undefined;
  const parts = [name, uid, controller, request].filter(part => part !== undefined && part !== '').map(part => JSON.stringify(part));
  return entry => {
    if (entry.time < since || entry.time > until) return false;
    if (entry.form !== forms.json) return !one || entry.isNamed(one);
    if (parts.length === 0) return true;
    const {text} = entry;
    return parts.every(part => text.includes(part));
  };
};

/** Whether an object has all parts that are given. */
export const isOf = (object: RecordedObject | undefined, given: Partial<RecordedObject>): boolean =>
  object !== undefined && Object.entries(given).every(([part, value]) => (object[part as keyof RecordedObject] ?? '') === value);

/** Whether a record is selected. A reconcile is also found by what it wrote. */
export const isSelected = (record: Kept, {kinds: wanted, object, controller, user, request}: RecordQuery): boolean => {
  if (wanted && !wanted.has(record.kind)) return false;
  if (record.kind === 'reconcile') {
    if (user !== undefined || request !== undefined || (controller !== undefined && record.controller !== controller)) return false;
    return Object.keys(object).length === 0 || isOf(record.object, object) || record.writes.some(write => isOf(write.object, object));
  }
  if (controller !== undefined || !isOf(record.object, object)) return false;
  if (record.kind === 'scheduling') return user === undefined && request === undefined;
  return (user === undefined || record.user === user) && (request === undefined || record.request === request);
};

/** The text of a field by its path, as `spec.nodeName`; empty if it has none. */
const fieldText = (object: object, path: string): string => {
  let value: unknown = object;
  for (const part of path.split('.')) value = (value as Readonly<Record<string, unknown>> | null | undefined)?.[part];
  return value === null || value === undefined || typeof value === 'object' ? '' : String(value);
};

/** Whether an object of a moment is selected by its labels and fields. */
export const isSelectedObject = (object: Readonly<KubeObject>, {labels, fields}: Pick<RecordQuery, 'labels' | 'fields'>): boolean =>
  (!labels || labels.matches(object.metadata?.labels)) && (!fields || fields.matches(path => fieldText(object, path)));
