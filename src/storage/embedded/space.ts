// Whether a disk has space for a commit. Checked beforehand: LMDB survives a write without space, but its message about
// it overruns a buffer, which can end the process (lmdb 3.5).

import {closeSync, openSync, rmSync, statfsSync, writeSync} from 'node:fs';
import {join} from 'node:path';

/** A file that is written as a test and removed at once. */
export const spaceFile = 'space';

/** What a commit needs besides its values: the pages on the way to each key, and those of the list of free pages. */
const baseBytes = 256 << 10;
const keyBytes = 1 << 10;
const maxKeysBytes = 1 << 20;

const pieceBytes = 256 << 10;
const piece = Buffer.alloc(pieceBytes, 1);

/** Throws with the system's reason unless a directory has space for a commit of some keys with some bytes of values. */
export const checkSpace = (directory: string, keys: number, valueBytes: number): void => {
  const needed = baseBytes + Math.min(keys * keyBytes, maxKeysBytes) + valueBytes;
  const {bavail, bsize} = statfsSync(directory);
  if (bavail * bsize >= needed) return;
  // Not every file system reports its free space.
  const path = join(directory, spaceFile);
  const file = openSync(path, 'w', 0o600);
  try {
    for (let left = needed; left > 0; left -= pieceBytes) {
      const length = Math.min(left, pieceBytes);
      if (writeSync(file, piece, 0, length) < length) throw Object.assign(new Error('no space left on the device'), {code: 'ENOSPC'});
    }
  } finally {
    closeSync(file);
    rmSync(path, {force: true});
  }
};
