// Objects as they were at a moment: from the states that the recorder keeps, and from the store, where an object that
// has not changed since is as it was.

import type {Clock} from '#src/base/clock.js';
import {Yielder} from '#src/base/turn.js';
import {badRequest} from '#src/api/status.js';
import {parseTime, wireMicroTime} from '#src/api/time.js';
import type {KubeObject} from '#src/api/types.js';
import type {RecordedObject} from '#src/observe/flight-recorder.js';
import {forms, type Entry} from './entry.js';
import {isOf, isSelectedObject, type RecordQuery} from './query.js';
import {objectId, type Recorder} from './recorder.js';
import type {ObjectsAt} from './records.js';

/** A table of the API, as far as it is looked at. */
interface Table {
  readonly rows: readonly unknown[];
}

/** An object of the server at present. */
export interface StoredObject {
  /** Empty or absent: cluster-scoped. */
  readonly namespace?: string | undefined;
  readonly name: string;
  /** Parses the object, as it was when it was listed, with or without the owners of its fields. */
  read(hasOwners: boolean): Readonly<KubeObject> | Promise<Readonly<KubeObject>>;
}

/** The objects of the server at present. */
export interface StoredObjects {
  /** Returns those of a resource, in a namespace or of a name if one is given; none of a resource that there is not. */
  list(object: RecordedObject): Promise<readonly StoredObject[]>;
  /**
   * Returns a table of objects with the columns of their resource, and ages at a time; undefined without the resource.
   */
  table(resource: RecordedObject, objects: readonly Readonly<KubeObject>[], now: number): Table | undefined;
  /** Whether a resource may have columns of the owners of fields. */
  showsOwners(resource: RecordedObject): boolean;
}

interface ObjectsParts {
  readonly recorder: Recorder;
  readonly clock: Clock;
  readonly stored: StoredObjects;
  mayList(object: RecordedObject): Promise<boolean>;
}

/** What was there at a moment. */
interface Moment {
  /** Whether the state of an entry was there. */
  hadState(entry: Entry): boolean;
  /** Whether an object that has not changed since was there. */
  had(object: Readonly<KubeObject>): boolean;
  /** The time, if it is known. */
  readonly time: number | undefined;
}

const createdAt = (timestamp: string | undefined): number => parseTime(timestamp) ?? -Infinity;

/** Returns a moment. Throws 400 for what is neither time nor revision. */
const momentOf = (at: string | null): Moment => {
  if (at === null) return {hadState: () => true, had: () => true, time: undefined};
  if (/^\d{1,15}$/.test(at)) {
    const revision = Number(at);
    return {
      hadState: entry => entry.revision <= revision,
      had: ({metadata}) => Number(metadata?.resourceVersion) <= revision,
      time: undefined,
    };
  }
  const time = parseTime(at);
  if (time === undefined) throw badRequest(`at: "${at}" is neither a time as 2006-01-02T15:04:05Z nor a resource version`);
  return {
    // The state before the first change that is kept was there since the creation.
    hadState: entry => (entry.form === forms.state ? createdAt(entry.createdAt()) : entry.time) <= time,
    had: ({metadata}) => createdAt(metadata?.creationTimestamp) <= time,
    time,
  };
};

/** An object, or the entry with its state. */
type Found = Entry | Readonly<KubeObject>;

const isEntry = (found: Found): found is Entry => 'form' in found;

/**
 * Returns the selected objects as they were at the moment `at`, by name, in pages of `limit`. Of what was before the
 * first record that is kept, only objects are known that are there at present or have a record.
 */
export const objectsAt = async (query: RecordQuery, given: URLSearchParams, parts: ObjectsParts): Promise<ObjectsAt> => {
  if (query.object.resource === undefined) throw badRequest('resource: is required');
  const {recorder, clock, stored} = parts;
  const moment = momentOf(given.get('at'));
  const object = {group: '', resource: query.object.resource, ...query.object};
  const hasOwners = !query.table || stored.showsOwners(object);
  const {found, time} = await allAt(object, moment, hasOwners, parts);
  const after = given.get('continue') ?? '';
  const stateOf = (entry: Entry) => (hasOwners ? recorder.state(entry) : recorder.stateWithoutOwners(entry));
  const shown = (each: Found) => (isEntry(each) ? stateOf(each)! : recorder.shown(object, each));
  const ids = [...found.keys()].filter(id => id > after).sort();
  const objects: KubeObject[] = [];
  const rows = new TableRows(object, time ?? clock.now(), stored);
  const pieces = new Yielder(clock);
  let next: string | undefined;
  for (const [index, id] of ids.entries()) {
    const pause = pieces.pause();
    if (pause) await pause;
    const each = shown(found.get(id)!);
    if (isSelectedObject(each, query)) objects.push(each);
    // Rows need a part of what the objects take.
    if (query.table && objects.length >= rowsAtOnce) rows.take(objects.splice(0));
    if (objects.length + rows.count < query.limit || index === ids.length - 1) continue;
    next = nextOf(given, id);
    break;
  }
  const [first] = recorder.log.segments;
  const rest = {...(first ? {since: wireMicroTime(first.firstTime)} : {}), ...(next === undefined ? {} : {next})};
  return query.table ? {table: rows.take(objects), ...rest} : {objects, ...rest};
};

const rowsAtOnce = 200;

/** The rows of a table, made of a few objects at a time. */
class TableRows {
  readonly #of: RecordedObject;
  readonly #now: number;
  readonly #stored: StoredObjects;
  readonly #rows: unknown[] = [];

  constructor(of: RecordedObject, now: number, stored: StoredObjects) {
    this.#of = of;
    this.#now = now;
    this.#stored = stored;
  }

  get count(): number {
    return this.#rows.length;
  }

  /** Adds objects, and returns the table with all so far. Throws 400 without the resource. */
  take(objects: readonly KubeObject[]): Table {
    const table = this.#stored.table(this.#of, objects, this.#now);
    if (!table) throw badRequest(`table: there is no resource "${this.#of.resource}" in group "${this.#of.group}"`);
    for (const row of table.rows) this.#rows.push(row);
    return {...table, rows: this.#rows};
  }
}

/** Returns all objects of a moment, by their names, and its time if it is known. */
const allAt = async (
  object: RecordedObject,
  moment: Moment,
  hasOwners: boolean,
  {recorder, clock, stored, mayList}: ObjectsParts,
): Promise<{readonly found: ReadonlyMap<string, Found>; readonly time: number | undefined}> => {
  // Before the records are read: what changes meanwhile has a record.
  const present = await stored.list(object);
  using _ = recorder.log.reading();
  const pieces = new Yielder(clock);
  const found = new Map<string, Found>();
  const known = new Set<string>();
  const isOne = Boolean(object.namespace && object.name);
  let {time} = moment;
  for (const segment of recorder.log.after(0)) {
    const records = await segment.recordsOf(object);
    recorder.log.looked(records.count);
    for (let index = 0; index < records.count; index++) {
      const pause = pieces.pause();
      if (pause) await pause;
      const entry = records.entry(index);
      if (isOne && !entry.isNamed(object)) continue;
      const own = entry.object();
      if (!isOf(own, object)) continue;
      const id = objectId(own);
      // The state before the first change in a segment tells nothing new of an object with an earlier change.
      const isKnown = known.has(id);
      known.add(id);
      if ((entry.form === forms.state && isKnown) || !moment.hadState(entry)) continue;
      if (moment.time === undefined) time = Math.max(entry.time, time ?? 0);
      if (entry.form === forms.deleted) found.delete(id);
      else if (await mayList(own)) found.set(id, entry);
    }
  }
  for (const {namespace, name, read} of present) {
    const own = {...object, namespace, name};
    const id = objectId(own);
    if (known.has(id)) continue; // Most have a record, and are not parsed.
    const pause = pieces.pause();
    if (pause) await pause;
    const each = await read(hasOwners);
    if (moment.had(each) && (await mayList(own))) found.set(id, each);
  }
  return {found, time};
};

const nextOf = (given: URLSearchParams, after: string): string => {
  const next = new URLSearchParams(given);
  next.set('continue', after);
  return next.toString();
};
