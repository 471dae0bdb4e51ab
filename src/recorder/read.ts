import type {Clock} from '#src/base/clock.js';
import {Yielder} from '#src/base/turn.js';
import type {Entry, Records} from './entry.js';
import {isSelected, quickCheck, type RecordQuery} from './query.js';
import type {Recorder} from './recorder.js';
import type {FlightRecord, RecordPage} from './records.js';

/** The most records that one page looks at: a page may end early, and the next one goes on. */
const maxLookedAt = 100_000;
/** The bytes of a page of whole objects. */
const maxPageBytes = 8 * 1024 * 1024;

interface ReadParts {
  readonly recorder: Recorder;
  readonly clock: Clock;
  /** Returns a record as far as it may be shown; by default all of it. */
  shown?(record: FlightRecord): Promise<FlightRecord | undefined>;
  /** A page of whole objects ends when it has as many bytes. */
  readonly maxBytes?: number;
}

/** Returns a page of the records that are selected, in their order. `next` continues the given parameters. */
export const readPage = async (query: RecordQuery, given: URLSearchParams, parts: ReadParts): Promise<RecordPage> => {
  const {recorder, clock, shown, maxBytes = maxPageBytes} = parts;
  const {log} = recorder;
  using _ = log.reading();
  const pieces = new Yielder(clock);
  const mayBe = quickCheck(query);
  const {after = 0, before, isDescending, limit, object} = query;
  const {group = '', resource = ''} = object;
  const isOfKind = isOfOneKind(query);
  const records: FlightRecord[] = [];
  let [lookedAt, bytes, at] = [0, 0, after];
  for (const segment of isDescending ? log.before(before) : log.after(after)) {
    const all = await (isOfKind ? segment.recordsOf({group, resource}) : segment.read());
    for (const entry of isDescending ? backward(all, before) : forward(all, after)) {
      if (isDescending ? entry.seq <= after : entry.seq >= before) return {records};
      if (records.length >= limit || lookedAt >= maxLookedAt || bytes >= maxBytes) return {records, next: nextOf(given, isDescending, at)};
      at = entry.seq;
      lookedAt++;
      log.looked(1);
      const record = mayBe(entry) && isSelectedEntry(entry, query) ? recorder.record(entry, query) : undefined;
      const visible = record && shown ? await shown(record) : record;
      if (visible) records.push(visible);
      if (visible && query.objects) bytes += entry.length + entry.stateBytes;
      const pause = pieces.pause();
      if (pause) await pause;
    }
  }
  return {records};
};

/** Whether only changes of one resource are selected: others name objects in their text. */
const isOfOneKind = ({kinds, object: {group, resource}}: RecordQuery): boolean =>
  kinds?.size === 1 && kinds.has('change') && group !== undefined && resource !== undefined;

/** Returns the index of the first record from a position on. */
const indexFrom = (records: Records, seq: number): number => {
  let [low, high] = [0, records.count];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (records.entry(middle).seq < seq) low = middle + 1;
    else high = middle;
  }
  return low;
};

function* forward(records: Records, after: number): Generator<Entry, void> {
  for (let index = indexFrom(records, after + 1); index < records.count; index++) yield records.entry(index);
}

function* backward(records: Records, before: number): Generator<Entry, void> {
  for (let index = indexFrom(records, before) - 1; index >= 0; index--) yield records.entry(index);
}

const isSelectedEntry = (entry: Entry, query: RecordQuery): boolean => {
  const report = entry.report();
  return report.kind !== 'state' && isSelected(report, query);
};

const nextOf = (given: URLSearchParams, isDescending: boolean, at: number): string => {
  const next = new URLSearchParams(given);
  next.set(isDescending ? 'before' : 'after', String(at));
  return next.toString();
};
