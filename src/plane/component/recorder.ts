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
  readonly log: Log;
  readonly meter: Meter;
}

/**
 * Opens the flight recorder of an API server; undefined if nothing is to be recorded. Throws for a folder without use.
 */
export const openRecorder = (
  {record, recordDir}: Pick<ApiserverOptions, 'record' | 'recordDir'>,
  {clock, log, meter}: OpenRecorderParts,
): Recorder | undefined => {
  if (record === 'off' || (record === '' && recordDir === '')) return undefined;
  const failed = (error: unknown) =>
    log.error({err: error, folder: recordDir}, 'the flight recorder stops, since it cannot write: what follows is not recorded');
  const recorder = new Recorder({
    clock,
    maxBytes: recordBytes(record || defaultRecordSize)!,
    folder: recordDir === '' ? undefined : openFolder(recordDir, failed),
  });
  const help = 'Number of records that the flight recorder left out because its disk was full, failed or was too slow.';
  meter.observed({name: 'flight_recorder_left_out_records_total', help, type: 'counter'}, () => [[{}, recorder.left]]);
  return recorder;
};

const openFolder = (directory: string, failed: (error: unknown) => void): RecordFolder => {
  const path = resolve(directory);
  try {
    return new RecordFolder({path, failed});
  } catch (cause) {
    throw new OptionError(`--record-dir: cannot use ${path}: ${messageOf(cause)}`, {cause});
  }
};
