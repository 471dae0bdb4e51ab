// A history: what concurrent clients asked of servers and what they were told, one JSON object a line, in files that
// can be checked again. Times are microseconds of the machine's monotonic clock, which all processes share.

import {createReadStream} from 'node:fs';
import {createInterface} from 'node:readline';
import type {Content} from './content.js';

export type Verb = 'create' | 'get' | 'update' | 'patch' | 'apply' | 'delete';

/**
 * How an operation ended: `ok`; `exists`, `conflict` and `missing` are the answers AlreadyExists, Conflict and
 * NotFound; `refused` had no effect for sure; `unknown` may have had one, also later.
 */
export type Outcome = 'ok' | 'exists' | 'conflict' | 'missing' | 'refused' | 'unknown';

/** An operation on one object. */
export interface Operation {
  readonly type: 'operation';
  readonly client: string;
  readonly verb: Verb;
  readonly key: string;
  readonly called: number;
  readonly returned: number;
  /** What a creation or an update sent; the one field of a patch or an apply. */
  readonly wrote?: Content | undefined;
  /** The revision that the object must have for an update or a deletion. */
  readonly expected?: number | undefined;
  /** Whether a read accepted any state of the past. */
  readonly any?: boolean | undefined;
  readonly outcome: Outcome;
  readonly status: number;
  /** What was answered: the object's revision and content; of a deletion only the uid. */
  readonly revision?: number | undefined;
  readonly content?: Content | undefined;
}

/** A list of all objects or of those of a colour, whole or in pages. */
export interface Listing {
  readonly type: 'list';
  readonly client: string;
  readonly called: number;
  readonly returned: number;
  /** `newest` without a resource version; `any` with 0; `notOlder` and `exact` with `asked`. */
  readonly mode: 'newest' | 'any' | 'notOlder' | 'exact';
  readonly asked?: number | undefined;
  readonly color?: string | undefined;
  readonly pages: number;
  /** The revision of the answer. */
  readonly revision: number;
  readonly items: readonly Item[];
}

export interface Item {
  readonly key: string;
  readonly revision: number;
  readonly content: Content;
}

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

interface OfWatcher {
  readonly type: 'watch';
  readonly watcher: string;
  readonly at: number;
}

/**
 * A stream begins: `from` a revision that the watcher learned from a list, `resumed` after the last revision it was
 * told.
 */
interface StreamBegins extends OfWatcher {
  readonly what: 'from' | 'resumed';
  readonly after: number;
  readonly color?: string | undefined;
}

/** A stream begins with the present objects as events, up to `synced`. */
interface InitialBegins extends OfWatcher {
  readonly what: 'initial';
  readonly color?: string | undefined;
}

export interface EventReceived extends OfWatcher {
  readonly what: 'event';
  readonly event: EventType;
  readonly key: string;
  readonly revision: number;
  readonly content: Content;
}

/** All events up to a revision were sent: by a bookmark, or by the one that ends the initial events. */
export interface RevisionReceived extends OfWatcher {
  readonly what: 'bookmark' | 'synced';
  readonly revision: number;
}

/** The stream ended: by the server, by a cut connection, or with 410 as its history is gone. */
interface StreamEnded extends OfWatcher {
  readonly what: 'ended';
  readonly gone: boolean;
}

/** What happened to a watcher. */
export type WatchRecord = StreamBegins | InitialBegins | EventReceived | RevisionReceived | StreamEnded;

/**
 * What the recording itself found wrong, such as a server that does not come back, and notes on the faults for readers.
 */
export interface Remark {
  readonly type: 'problem' | 'note';
  readonly at: number;
  readonly text: string;
}

export type HistoryRecord = Operation | Listing | WatchRecord | Remark;

/** Microseconds of the machine's monotonic clock. */
export const microseconds = (): number => Number(process.hrtime.bigint() / 1000n);

/** Reads the records of a file. */
export async function* recordsOf(file: string): AsyncIterable<HistoryRecord> {
  for await (const line of createInterface({input: createReadStream(file)})) if (line !== '') yield JSON.parse(line) as HistoryRecord;
}
