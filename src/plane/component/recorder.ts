import {resolve} from 'node:path';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import type {Meter} from '#src/base/meter.js';
import {OptionError} from '#src/options/option-error.js';
import type {ApiserverOptions} from '#src/options/programs/apiserver.js';
import {defaultRecordSize, recordBytes} from '#src/options/shared/record.js';
import {RecordFolder} from '#src/recorder/folder.js';
import {Recorder} from '#src/recorder/recorder.js';

interface OpenRecorderParts {
  readonly clock: Pick<Clock, 'now'>;
  /** The time of the machine, by which records are written to the disk. */
  readonly diskClock: Clock;
  readonly log: Log;
  readonly meter: Meter;
}

/**
 * Opens the flight recorder of an API server; undefined if nothing is to be recorded. Throws for a folder without use.
 */
export const openRecorder = async (
  {record, recordDir}: Pick<ApiserverOptions, 'record' | 'recordDir'>,
  {clock, diskClock, log, meter}: OpenRecorderParts,
): Promise<Recorder | undefined> => {
  if (record === 'off' || (record === '' && recordDir === '')) return undefined;
  const recorder = new Recorder({
    clock,
    maxBytes: recordBytes(record || defaultRecordSize)!,
    folder: recordDir === '' ? undefined : await openFolder(resolve(recordDir), {diskClock, log, meter}),
  });
  const help = 'Number of records that the flight recorder left out because its disk was full, failed or was too slow.';
  meter.observed({name: 'flight_recorder_left_out_records_total', help, type: 'counter'}, () => [[{}, recorder.left]]);
  const looked = 'Number of records that the flight recorder looked at to answer requests.';
  meter.observed({name: 'flight_recorder_read_records_total', help: looked, type: 'counter'}, () => [[{}, recorder.log.lookedAt]]);
  return recorder;
};

const openFolder = async (path: string, {diskClock, log, meter}: Omit<OpenRecorderParts, 'clock'>): Promise<RecordFolder> => {
  let failing = 0;
  const help = 'Whether the flight recorder fails to write to its disk (1) or not (0).';
  meter.observed({name: 'flight_recorder_disk_failing', help, type: 'gauge'}, () => [[{}, failing]]);
  const [failed, resumed] = [
    (error: unknown) => {
      failing = 1;
      log.error(
        {err: error, folder: path},
        'the flight recorder cannot write: its records wait in memory, and are left out once they are too many',
      );
    },
    () => {
      failing = 0;
      log.info({folder: path}, 'the flight recorder writes again');
    },
  ];
  try {
    return await RecordFolder.open({path, clock: diskClock, failed, resumed});
  } catch (cause) {
    throw new OptionError(`--record-dir: cannot use ${path}: ${messageOf(cause)}`, {cause});
  }
};
