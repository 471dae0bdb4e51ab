// Reads logs from their end, in pieces: they may be long.

import {closeSync, fstatSync, openSync, readSync} from 'node:fs';

const pieceBytes = 64 << 10;

/** The most that is read of a log for its last lines. */
const maxTailBytes = 16 << 20;

const newline = 0x0a;

const bytesAt = (file: number, from: number, to: number): Buffer => {
  const piece = Buffer.alloc(to - from);
  return piece.subarray(0, readSync(file, piece, 0, piece.length, from));
};

/** Returns where the last lines of an open file begin, not before `begin`. */
export const tailStart = (file: number, lines: number, begin = 0): number => {
  const end = fstatSync(file).size;
  const least = Math.max(begin, end - maxTailBytes);
  if (lines === 0) return end;
  let found = -1; // The newline at the end is not that of a line before.
  for (let to = end; to > least; to -= pieceBytes) {
    const from = Math.max(least, to - pieceBytes);
    const piece = bytesAt(file, from, to);
    for (let at = piece.length - 1; at >= 0; at--) {
      if (piece[at] === newline || (to === end && at === piece.length - 1)) found++;
      if (piece[at] === newline && found === lines) return from + at + 1;
    }
  }
  return Math.min(least, end);
};

/** Returns the last lines of a file, not before `begin`; nothing if it cannot be read. */
export const lastLines = (path: string, lines: number, begin = 0): string => {
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    return bytesAt(file, tailStart(file, lines, begin), fstatSync(file).size).toString();
  } catch {
    return '';
  } finally {
    if (file !== undefined) closeSync(file);
  }
};
