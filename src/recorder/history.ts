import type {Clock} from '#src/base/clock.js';
import type {RecordedObject} from '#src/observe/flight-recorder.js';
import {readQuery} from './query.js';
import {readPage} from './read.js';
import type {Recorder} from './recorder.js';
import type {FlightRecord} from './records.js';

/**
 * Returns all records of an object that are kept, oldest first: changes with the object's state, reconciles, decisions.
 */
export const historyOf = async (object: RecordedObject, recorder: Recorder, clock: Clock): Promise<readonly FlightRecord[]> => {
  const query = {...readQuery(new URLSearchParams()), object, objects: true, limit: Infinity};
  const records: FlightRecord[] = [];
  for (let after: number | undefined = 0; after !== undefined;) {
    const page = await readPage({...query, after}, new URLSearchParams(), {recorder, clock});
    records.push(...page.records);
    after = page.next === undefined ? undefined : Number(new URLSearchParams(page.next).get('after'));
  }
  return records;
};
