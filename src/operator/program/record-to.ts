import {wireMicroTime} from '#src/api/time.js';
import {systemClock, type Clock} from '#src/base/clock.js';
import type {FlightRecorder} from '#src/observe/flight-recorder.js';
import {logFileWriter} from '#src/program/log-file.js';

/** The options of `recordTo`. */
export interface RecordToOptions {
  /** A full file is renamed to FILE.1, in place of the one before: there are at most two of them. Default 10 MiB. */
  readonly maxBytes?: number;
  /** The clock of the times. Default: that of the system. */
  readonly clock?: Pick<Clock, 'now'>;
}

/**
 * Returns a recorder that appends what a manager reports to a file, as lines of JSON with the fields of the records of
 * `/recorder/v1`, and a time. Only this user can read the file. Throws if it cannot be written.
 */
export const recordTo = (file: string, {maxBytes = 10 << 20, clock = systemClock}: RecordToOptions = {}): FlightRecorder => {
  const write = logFileWriter(file, maxBytes, 'recordTo');
  const line = (kind: string, report: object): void => write(`${JSON.stringify({kind, time: wireMicroTime(clock.now()), ...report})}\n`);
  return {
    change: ({revision, previous, ...report}) =>
      line('change', {...report, revision: String(revision), ...(previous === undefined ? {} : {previous: String(previous)})}),
    reconcile: report => line('reconcile', report),
    admission: report => line('admission', report),
    scheduling: report => line('scheduling', report),
  };
};
