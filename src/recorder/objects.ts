// Objects as they were at a moment, from the states that the recorder keeps.

import type {Clock} from '#src/base/clock.js';
import {Yielder} from '#src/base/turn.js';
import {badRequest} from '#src/api/status.js';
import {parseTime, wireMicroTime} from '#src/api/time.js';
import type {ChangeReport, RecordedObject} from '#src/observe/flight-recorder.js';
import {forms, type Entry, type StateNote} from './entry.js';
import {isOf, type RecordQuery} from './query.js';
import {objectId, type Recorder} from './recorder.js';
import type {ObjectsAt} from './records.js';

interface ObjectsParts {
  readonly recorder: Recorder;
  readonly clock: Clock;
  mayList(object: RecordedObject): Promise<boolean>;
}

/**
 * Returns whether an entry is of the moment or before it. Throws 400 for a moment that is neither time nor revision.
 */
const isAtMost = (at: string | null): ((entry: Entry, {kind}: {readonly kind: string}) => boolean) => {
  if (at === null) return () => true;
  if (/^\d{1,15}$/.test(at)) return ({revision}) => revision <= Number(at);
  const ms = parseTime(at);
  if (ms === undefined) throw badRequest(`at: "${at}" is neither a time as 2006-01-02T15:04:05Z nor a resource version`);
  return (entry, {kind}) => kind === 'state' || entry.time <= ms;
};

/**
 * Returns the selected objects as they were at the moment `at`, by name, in pages of `limit`. Of an object that has not
 * changed since the first record that is kept nothing is known.
 */
export const objectsAt = async (
  query: RecordQuery,
  given: URLSearchParams,
  {recorder, clock, mayList}: ObjectsParts,
): Promise<ObjectsAt> => {
  if (query.object.resource === undefined) throw badRequest('resource: is required');
  const object = {group: '', ...query.object};
  const isBefore = isAtMost(given.get('at'));
  using _ = recorder.log.reading();
  const pieces = new Yielder(clock);
  const last = new Map<string, Entry>();
  const known = new Set<string>();
  for (const segment of recorder.log.after(0)) {
    const records = await segment.read();
    for (let index = 0; index < records.count; index++) {
      const pause = pieces.pause();
      if (pause) await pause;
      const entry = records.entry(index);
      if (entry.form === forms.json) continue;
      const report = entry.report() as ChangeReport | StateNote;
      if (!isOf(report.object, object)) continue;
      const id = objectId(report.object);
      // The state before the first change in a segment tells nothing new of an object with an earlier change.
      const isKnown = known.has(id);
      known.add(id);
      if ((report.kind === 'state' && isKnown) || !isBefore(entry, report)) continue;
      if (report.kind === 'change' && report.type === 'deleted') last.delete(id);
      else if (await mayList(report.object)) last.set(id, entry);
    }
  }
  const after = given.get('continue') ?? '';
  const ids = [...last.keys()].filter(id => id > after).sort();
  const page = ids.slice(0, query.limit);
  const [first] = recorder.log.segments;
  return {
    objects: page.map(id => recorder.state(last.get(id)!)),
    ...(first ? {since: wireMicroTime(first.firstTime)} : {}),
    ...(ids.length > page.length ? {next: nextOf(given, page.at(-1)!)} : {}),
  };
};

const nextOf = (given: URLSearchParams, after: string): string => {
  const next = new URLSearchParams(given);
  next.set('continue', after);
  return next.toString();
};
