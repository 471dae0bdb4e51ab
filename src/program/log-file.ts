import {closeSync, fstatSync, openSync, renameSync, writeSync} from 'node:fs';
import {dirname} from 'node:path';
import {makeFolder} from '#src/base/files/folder.js';
import {messageOf} from '#src/base/message.js';
import {OptionError} from '#src/options/option-error.js';

/** The size of a log file before it is renamed. There are at most two files of it. */
const maxLogBytes = 10 << 20;

/** Returns the name that a full log file is renamed to. */
export const olderLogFile = (path: string): string => `${path}.1`;

/**
 * Returns a function that appends lines to a file, which only this user can read, at once. A full file replaces the
 * older one. Lines are lost rather than the program ended when the disk is full. Throws an error that names `option`
 * for a file that cannot be written.
 */
export const logFileWriter = (path: string, maxBytes = maxLogBytes, option = '--log-file'): ((line: string) => void) => {
  let file = opened(path, option);
  let bytes = fstatSync(file).size;
  const rotate = () => {
    bytes = 0; // A file that cannot be renamed grows on.
    renameSync(path, olderLogFile(path));
    const full = file;
    file = opened(path, option);
    closeSync(full);
  };
  return line => {
    try {
      if (bytes > 0 && bytes + line.length > maxBytes) rotate();
      bytes += writeSync(file, line);
    } catch {
      // There is nowhere to report it.
    }
  };
};

const opened = (path: string, option: string): number => {
  try {
    makeFolder(dirname(path));
    return openSync(path, 'a', 0o600);
  } catch (cause) {
    throw new OptionError(`${option}: cannot write ${path}: ${messageOf(cause)}`, {cause});
  }
};
