// The note that a store was closed with all of its writes on disk. A data file that is still the one of the note was
// not written by anybody since: then a start need not read all of its pages again. Whoever opens the store takes the
// note away first, so that there is none after a process that was killed or a power failure.

import {readFileSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {messageOf} from '#src/base/message.js';
import type {Log} from '#src/base/log.js';

export const closedFile = 'closed.json';

/** Returns what changes whenever a file is written, replaced, or restored from a copy. */
const identityOf = (path: string): string => {
  const {dev, ino, size, mtimeNs, ctimeNs} = statSync(path, {bigint: true});
  return JSON.stringify({dev: `${dev}`, ino: `${ino}`, size: `${size}`, modified: `${mtimeNs}`, changed: `${ctimeNs}`});
};

/**
 * Notes that the data file of a directory is complete. Without the note, which may fail, the next start reads it all.
 */
export const noteClosed = (directory: string, dataFile: string, log: Log): void => {
  try {
    writeFileSync(join(directory, closedFile), `${identityOf(join(directory, dataFile))}\n`, {mode: 0o600, flush: true});
  } catch (error) {
    log.v(1).info({directory, reason: messageOf(error)}, 'the next start checks the whole data file');
  }
};

/**
 * Whether the data file is as it was when the store was closed. Takes the note away; the directory is to be synced
 * before the store is opened.
 */
export const takeClosed = (directory: string, dataFile: string): boolean => {
  const path = join(directory, closedFile);
  try {
    return readFileSync(path, 'utf8').trim() === identityOf(join(directory, dataFile));
  } catch {
    return false;
  } finally {
    rmSync(path, {force: true});
  }
};
