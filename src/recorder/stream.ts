// The event stream of records as they are made.

import {Readable} from 'node:stream';
import {runEvery, type Clock} from '#src/base/clock.js';
import {readPage} from './read.js';
import type {RecordQuery} from './query.js';
import type {Recorder} from './recorder.js';
import type {FlightRecord} from './records.js';
import type {Visible} from './visible.js';

/** A reader that has so many bytes to read is disconnected. */
const maxOutboxBytes = 4 * 1024 * 1024;
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

/** Returns the stream of the selected records behind `after`, or from now on. It ends when its reader is too slow. */
export const recordStream = (query: RecordQuery, {recorder, clock, visible}: StreamParts): Readable => {
  const source = new Readable({read() {}});
  let after = query.after ?? recorder.log.lastSeq;
  let isSending = false;
  let [own, ownSince] = [visible(), clock.monotonic()];
  const shown = (record: FlightRecord) => {
    if (clock.monotonic() - ownSince > answersMs) [own, ownSince] = [visible(), clock.monotonic()];
    return own.shown(record);
  };
  const send = async (): Promise<void> => {
    if (isSending) return;
    isSending = true;
    while (!source.destroyed && after < recorder.log.lastSeq) {
      const upTo = recorder.log.lastSeq;
      const page = await readPage({...query, after, before: upTo + 1, isDescending: false}, new URLSearchParams(), {
        recorder,
        clock,
        shown,
      });
      after = page.next === undefined ? upTo : Number(new URLSearchParams(page.next).get('after'));
      for (const record of page.records) source.push(eventOf(record));
      if (source.readableLength > maxOutboxBytes) source.destroy();
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
  runEvery(clock, quietMs, quiet.signal, () => void source.push(':\n\n'));
  source.push(':\n\n');
  trySend();
  return source;
};
