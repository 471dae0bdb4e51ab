// Reads the flight recorder of the server (docs/recorder.md), where it has one.

import type {RecordedObject} from '#src/observe/flight-recorder.js';
import type {ChangeRecord, FlightRecord, ObjectsAt, RecorderInfo, RecordPage} from '#src/recorder/records.js';
import type {Moment} from '#page/base/moment.js';
import {messageOf} from '#src/base/message.js';
import {ApiError, call, mayPass} from './call.js';
import type {AnyObject} from './objects.js';
import {follow} from './follow.js';

export type {RecordedObject, ReconcileCause} from '#src/observe/flight-recorder.js';
export type {ChangeRecord, FlightRecord, RecorderInfo, ReconcileRecord} from '#src/recorder/records.js';

export type Recorder = {readonly info: RecorderInfo} | {readonly why: string};

/** Reads what the recorder says of itself, or why there is none. */
export const readRecorder = async (signal?: AbortSignal): Promise<Recorder> => {
  try {
    return {info: await call<RecorderInfo>('/recorder/v1', {signal})};
  } catch (error) {
    if (signal?.aborted || mayPass(error)) throw error;
    if (error instanceof ApiError && error.status === 404)
      return {
        why: 'This server records nothing: its history is not known. plat up and startPlane have a recorder where it is turned on (docs/recorder.md); other clusters have none.',
      };
    if (error instanceof ApiError && error.status === 403) return {why: `You may not read what this server records: ${error.message}`};
    return {why: messageOf(error)};
  }
};

export type RecordQuery = Readonly<Record<string, string | undefined>>;

/** Returns records, the latest of them if there are more than `most`, in the order of the query. */
export const readRecords = async (
  query: RecordQuery,
  most: number,
  signal?: AbortSignal,
): Promise<{readonly records: FlightRecord[]; readonly isWhole: boolean}> => {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  let next: string | undefined = new URLSearchParams([...given, ['limit', String(Math.min(most, 1000))]]).toString();
  const records: FlightRecord[] = [];
  while (next !== undefined && records.length < most) {
    const page: RecordPage = await call<RecordPage>(`/recorder/v1/records?${next}`, {signal});
    records.push(...page.records);
    next = page.next;
  }
  return {records, isWhole: next === undefined};
};

/** The most pages of a moment that are read, and the objects of each: rows of a table are smaller. */
const [mostPages, pageSize, rowsOfPage] = [20, 1000, 10_000];

/** Reads the objects of a moment, in pages. */
export async function* pagesAt(
  {time, revision}: Moment,
  {group, plural}: {readonly group: string; readonly plural: string},
  query: Readonly<Record<string, string>>,
  signal?: AbortSignal,
): AsyncGenerator<ObjectsAt, void> {
  const given = Object.entries({limit: String(query['table'] ? rowsOfPage : pageSize), ...query}).filter(([, value]) => value !== '');
  const fixed = {at: revision ?? new Date(time).toISOString(), group, resource: plural};
  let next: string | undefined = new URLSearchParams([...Object.entries(fixed), ...given]).toString();
  for (let count = 0; next !== undefined && count < mostPages; count++) {
    const page: ObjectsAt = await call<ObjectsAt>(`/recorder/v1/objects?${next}`, {signal});
    yield page;
    next = page.next;
  }
}

/** Returns objects as they were at a moment. */
export const objectsAt = async (
  at: Moment,
  resource: {readonly group: string; readonly plural: string},
  query: {readonly namespace?: string; readonly name?: string; readonly labelSelector?: string},
  signal?: AbortSignal,
): Promise<AnyObject[]> => {
  const objects: AnyObject[] = [];
  for await (const page of pagesAt(at, resource, query as Readonly<Record<string, string>>, signal))
    objects.push(...((page.objects ?? []) as readonly AnyObject[]));
  return objects;
};

/** Returns a change with the object as it was after it; undefined if it is no longer kept. */
export const changeWithState = async ({seq}: ChangeRecord, signal?: AbortSignal): Promise<ChangeRecord | undefined> => {
  const {records} = await readRecords({after: String(seq - 1), before: String(seq + 1), objects: 'true'}, 1, signal);
  return records.find((each): each is ChangeRecord => each.kind === 'change');
};

/** Names an object in records. */
export const keyOf = ({group, resource, namespace = '', name = ''}: RecordedObject): string => `${group}/${resource}/${namespace}/${name}`;

/** The record of an event of the stream; undefined if it is none. */
const recordOf = (event: string): FlightRecord | undefined => {
  const data = /^data: (.*)$/m.exec(event)?.[1];
  return data === undefined ? undefined : (JSON.parse(data) as FlightRecord);
};

interface RecordListener {
  record(record: FlightRecord): void;
  /** Called with why what is shown does not follow, or late; with undefined once it follows. */
  behind(why: string | undefined): void;
}

/** The most records that one request asks for which stands for a WebSocket. */
const mostAsked = 4000;

/** Follows records behind a position as they are made, by WebSocket: of event streams a browser opens only six. */
export const followRecords = (query: RecordQuery, from: number, signal: AbortSignal, {record, behind}: RecordListener): void => {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '');
  let after = from;
  let rest = '';
  const take = (one: FlightRecord): void => {
    after = one.seq;
    record(one);
  };
  follow(signal, {
    path() {
      rest = '';
      return `/recorder/v1/records?${new URLSearchParams([...given, ['after', String(after)], ['watch', '1']])}`;
    },
    message(text) {
      const events = (rest + text).split('\n\n');
      rest = events.pop()!;
      for (const event of events) {
        const one = recordOf(event);
        if (one) take(one);
      }
    },
    async ask() {
      const {records} = await readRecords({...query, after: String(after)}, mostAsked, signal);
      records.forEach(take);
    },
    behind,
  });
};
