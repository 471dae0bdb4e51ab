// The event stream of records as they are made.

import {Readable} from 'node:stream';
import {runEvery, type Clock} from '#src/base/clock.js';
import {readPage} from './read.js';
import type {RecordLog} from './log.js';
import type {RecordQuery} from './query.js';
import type {Recorder} from './recorder.js';
import type {FlightRecord} from './records.js';
import type {Visible} from './visible.js';

/** So many bytes wait for a reader, and one page of records: what it does not read stays where it is recorded. */
const waitingBytes = 64 << 10;
/** The bytes of a page of whole objects. */
const pageBytes = 256 << 10;
/** How long the answers of the authorizer count in one stream. */
const answersMs = 10_000;
/** A comment now and then shows both sides whether the connection is alive. */
const quietMs = 15_000;

interface StreamParts {
  readonly recorder: Recorder;
  readonly clock: Clock;
  /** What the user may see at the moment. */
  visible(): Visible;
}

const eventOf = (record: FlightRecord): string => `id: ${record.seq}\nevent: ${record.kind}\ndata: ${JSON.stringify(record)}\n\n`;

/**
 * Returns the stream of the selected records behind `after`, or from now on. It ends when its reader is so slow that
 * what it has not read is no longer kept.
 */
export const recordStream = (query: RecordQuery, {recorder, clock, visible}: StreamParts): Readable => {
  const {log} = recorder;
  let hasRoom = true;
  const read = (): void => {
    hasRoom = true;
    trySend();
  };
  const source = new Readable({read, highWaterMark: waitingBytes});
  let after = Math.max(query.after ?? log.lastSeq, lastDropped(log));
  let isSending = false;
  let [own, ownSince] = [visible(), clock.monotonic()];
  const shown = (record: FlightRecord) => {
    if (clock.monotonic() - ownSince > answersMs) [own, ownSince] = [visible(), clock.monotonic()];
    return own.shown(record);
  };
  const send = async (): Promise<void> => {
    if (isSending) return;
    isSending = true;
    while (!source.destroyed && after < log.lastSeq) {
      if (after < lastDropped(log)) return void source.destroy();
      if (!hasRoom) break;
      const upTo = log.lastSeq;
      const parts = {recorder, clock, shown, maxBytes: pageBytes};
      const page = await readPage({...query, after, before: upTo + 1, isDescending: false}, new URLSearchParams(), parts);
      after = page.next === undefined ? upTo : Number(new URLSearchParams(page.next).get('after'));
      for (const record of page.records) hasRoom = source.push(eventOf(record));
    }
    isSending = false;
  };
  const trySend = (): void => {
    void send().catch((error: Error) => source.destroy(error));
  };
  // Several records of one turn are sent together.
  let isPlanned = false;
  const listening = recorder.onRecord(() => {
    if (isPlanned) return;
    isPlanned = true;
    setImmediate(() => {
      isPlanned = false;
      trySend();
    });
  });
  const quiet = new AbortController();
  source.once('close', () => {
    listening[Symbol.dispose]();
    quiet.abort();
  });
  runEvery(clock, quietMs, quiet.signal, () => void (hasRoom && source.push(':\n\n')));
  source.push(':\n\n');
  trySend();
  return source;
};

/** The position of the last record that is no longer kept. */
const lastDropped = (log: RecordLog): number => (log.segments[0]?.firstSeq ?? 1) - 1;
