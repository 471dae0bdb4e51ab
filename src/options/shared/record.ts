import {parseQuantity} from '#src/api/quantity.js';
import type {FlagRow} from '#src/options/flag.js';

/** The bytes of a flight recorder unless set. */
export const defaultRecordSize = '64Mi';

const [least, most] = [1024 ** 2, 1024 ** 4];

/** Returns the bytes that a size such as `64Mi` stands for; undefined if it is none, or not from 1Mi to 1Ti. */
export const recordBytes = (size: string): number | undefined => {
  try {
    const {unscaled, exponent} = parseQuantity(size);
    const bytes = Math.floor(Number(unscaled) * 10 ** exponent);
    return bytes >= least && bytes <= most ? bytes : undefined;
  } catch {
    return undefined;
  }
};

/** The flags of a flight recorder. */
export const recordFlags = {
  record: {
    type: 'string',
    label: 'size',
    help: 'How many bytes of what happens the flight recorder keeps, such as 64Mi, or off (docs/recorder.md).',
    shownDefault: `off, or ${defaultRecordSize} with --record-dir`,
    check: (size: string) =>
      ['', 'off'].includes(size) || recordBytes(size) !== undefined ? undefined : 'must be off, or a size from 1Mi to 1Ti',
  },
  'record-dir': {
    type: 'path',
    help: 'The directory in which the flight recorder keeps its records over restarts, for this server alone. Without it they are in memory.',
  },
} as const satisfies Readonly<Record<string, FlagRow>>;

/** Refuses a directory for what is not recorded. */
export const validateRecording = ({record, recordDir}: {readonly record: string; readonly recordDir: string}): string | undefined =>
  record === 'off' && recordDir !== '' ? '--record=off conflicts with --record-dir' : undefined;
