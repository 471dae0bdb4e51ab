// The files below the system's log directory. Symbolic links are followed only if they stay below it or below other
// allowed directories.

import {constants} from 'node:fs';
import * as fs from 'node:fs/promises';
import {join, posix} from 'node:path';
import type {Readable} from 'node:stream';
import {isWithin} from '#src/base/files/within.js';
import {pathRefusal, type PathRefusal} from './root-path.js';

/** A file or directory. A file stays open until it is read or disposed of. */
export type LogEntry =
  | {readonly kind: 'folder'; readonly names: readonly {readonly name: string; readonly isFolder: boolean}[]; readonly isWhole: boolean}
  | (AsyncDisposable & {
      readonly kind: 'file';
      readonly bytes: number;
      readonly modifiedAt: number;
      start(length: number): Promise<Buffer>;
      /** Returns a range of the file, and closes it at the end. */
      read(from: number, length: number): Readable;
    });

/** A log directory. */
export interface LogFolder {
  /**
   * Returns the entry at a path below the directory, which is normalized first; undefined if it does not exist, leads
   * out of the directory, or is neither a file nor a directory.
   */
  at(path: string): Promise<LogEntry | undefined>;
  /** Returns why a query for a path is refused; undefined if it is not. */
  refusal(path: string): Promise<PathRefusal | undefined>;
}

/** The maximum number of listed names. */
const maxNames = 10_000;

/** Returns the log directory at `root`. `linked`: other directories that links may lead to. */
export const logFolder = (root: string, linked: readonly string[] = [], limit = maxNames): LogFolder => ({
  refusal: path => pathRefusal(root, path),
  async at(path) {
    const roots = await Promise.all([root, ...linked].map(each => fs.realpath(each).catch(() => each)));
    const file = await opened(join(root, posix.normalize(`/${path}`).replace(/\/+$/, '')));
    if (!file) return undefined;
    let isKept = false;
    try {
      // The path of the open file: it cannot be exchanged for a link after the check.
      const real = await fs.readlink(`/proc/self/fd/${file.fd}`);
      if (!roots.some(each => isWithin(real, each))) return undefined;
      const stats = await file.stat();
      if (stats.isDirectory()) return await folderOf(`/proc/self/fd/${file.fd}`, limit);
      if (!stats.isFile()) return undefined;
      isKept = true;
      return fileOf(file, stats.size, stats.mtimeMs);
    } finally {
      if (!isKept) await file.close();
    }
  },
});

/** Non-blocking, as opening a pipe would wait. */
const opened = async (path: string): Promise<fs.FileHandle | undefined> => {
  try {
    return await fs.open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (
      ['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG', 'ENXIO', 'ERR_INVALID_ARG_VALUE'].includes((error as NodeJS.ErrnoException).code ?? '')
    )
      return undefined;
    throw error;
  }
};

const folderOf = async (path: string, limit: number): Promise<LogEntry> => {
  const names: {name: string; isFolder: boolean}[] = [];
  let isWhole = true;
  for await (const entry of await fs.opendir(path)) {
    if (names.length >= limit) {
      isWhole = false;
      break;
    }
    names.push({name: entry.name, isFolder: entry.isDirectory()});
  }
  return {kind: 'folder', names: names.sort((a, b) => (a.name < b.name ? -1 : 1)), isWhole};
};

const fileOf = (file: fs.FileHandle, bytes: number, modifiedAt: number): LogEntry => ({
  kind: 'file',
  bytes,
  modifiedAt,
  async start(length) {
    const {buffer, bytesRead} = await file.read(Buffer.alloc(length), 0, length, 0);
    return buffer.subarray(0, bytesRead);
  },
  read: (from, length) => file.createReadStream({start: from, end: from + length - 1}),
  [Symbol.asyncDispose]: () => file.close(),
});
