// The file system as a port. Writes replace a file atomically and durably; `followFiles` reports changes of files.

import {randomBytes} from 'node:crypto';
import {closeSync, constants, fsync, openSync, renameSync, rmSync, statSync, watch, writeFileSync, type Stats} from 'node:fs';
import {open, readdir, readFile, rename, rm} from 'node:fs/promises';
import {basename, dirname, join} from 'node:path';
import {promisify} from 'node:util';
import {runEvery, type Clock} from '#src/base/clock.js';
import {makeFolder} from './folder.js';
import type {Log} from '#src/base/log.js';

/** The file system port of a process. */
export interface Files {
  /** Returns the content of a file, or undefined if it does not exist. Other failures are thrown. */
  read(path: string): Promise<Buffer | undefined>;
  /** Replaces a file atomically. Missing folders are created with mode 0700. */
  write(path: string, content: string | Buffer, mode: number): Promise<void>;
  /**
   * Returns a text that changes whenever a file or folder is written or replaced; empty when it does not exist. Cheap;
   * never throws.
   */
  stamp(path: string): string;
  /** Returns the names of the folders in a folder, in alphabetical order; none if it does not exist. */
  foldersIn(path: string): Promise<readonly string[]>;
  /** Creates a folder and its missing parents with mode 0700; an existing one is left unchanged. */
  makeFolder(path: string): void;
  /** Removes a folder with everything in it; a missing one is no error. */
  removeFolder(path: string): Promise<void>;
  /** Calls `changed` when a folder may have changed. Only a hint: it may be late, repeated or missing. */
  watch(folder: string, changed: () => void): Disposable;
}

/** Returns the content of a required file. Throws an error of one line when it is missing. */
export const contentOf = async (files: Pick<Files, 'read'>, path: string): Promise<Buffer> => {
  const content = await files.read(path);
  if (content === undefined) throw new Error(`open ${path}: no such file or directory`);
  return content;
};

const isMissing = (error: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');

/** Never opens an existing file and never follows a link. */
const exclusiveFlags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** Resolves once the file's data is on disk. File handles opened under Yarn's Plug'n'Play have no `sync` method. */
const flushed = promisify(fsync);

/** Returns the path that a file is written to before it replaces another, in a folder that exists from then on. */
const temporaryFor = (path: string): string => {
  const folder = dirname(path);
  makeFolder(folder);
  return join(folder, `.${basename(path)}.${randomBytes(12).toString('hex')}`);
};

/**
 * Replaces a file atomically: readers see the old content or the new, never a part. The temporary file beside it has a
 * random name and the final mode from its creation. A link at `path` is replaced, not followed.
 */
const replace = async (path: string, content: string | Buffer, mode: number): Promise<void> => {
  const temporary = temporaryFor(path);
  const file = await open(temporary, exclusiveFlags, mode);
  try {
    try {
      await file.writeFile(content);
      await flushed(file.fd);
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, {force: true});
    throw error;
  }
};

/** Replaces a file as `replace` does, at once and without flushing it: a tenth of the work for a small file. */
const replaceNow = (path: string, content: string | Buffer, mode: number): void => {
  const temporary = temporaryFor(path);
  const file = openSync(temporary, exclusiveFlags, mode);
  try {
    try {
      writeFileSync(file, content);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, {force: true});
    throw error;
  }
};

/** Warns when users other than this process's and root may write to a folder: they can replace the keys in it. */
export const warnOfSharedFolder = (folder: string, log: Log): void => {
  const found = statsOf(folder);
  const writableBy = found && otherWriters(found);
  if (writableBy) log.warn({folder, writableBy}, 'others may write to a folder that holds keys');
};

const statsOf = (path: string): Stats | undefined => {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
};

const otherWriters = ({uid, gid, mode}: Stats): string | undefined => {
  if (!process.getuid || !process.getgid) return undefined; // Windows has no such modes.
  if (uid !== 0 && uid !== process.getuid()) return `user ${uid}`;
  const isSticky = (mode & 0o1000) !== 0; // All users may add files, but not replace those of others.
  if (mode & 0o002 && !isSticky) return 'everybody';
  return mode & 0o020 && !isSticky && gid !== process.getgid() ? `group ${gid}` : undefined;
};

const nothing: Disposable = {[Symbol.dispose]() {}};

/** The file system of the machine. */
export const systemFiles: Files = {
  async read(path) {
    try {
      return await readFile(path);
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  },
  write: replace,
  stamp(path) {
    try {
      const found = statSync(path, {throwIfNoEntry: false});
      return found ? `${found.dev}:${found.ino}:${found.size}:${found.mtimeMs}:${found.ctimeMs}` : '';
    } catch (error) {
      return isMissing(error) ? '' : String((error as NodeJS.ErrnoException).code); // The stamp changes once the file becomes readable.
    }
  },
  async foldersIn(path) {
    try {
      const entries = await readdir(path, {withFileTypes: true});
      return entries
        .filter(entry => entry.isDirectory() || entry.isSymbolicLink())
        .map(({name}) => name)
        .sort();
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
  },
  makeFolder,
  removeFolder: path => rm(path, {recursive: true, force: true}),
  watch(folder, changed) {
    try {
      const watcher = watch(folder, {persistent: false}, changed);
      watcher.on('error', () => watcher.close());
      return {[Symbol.dispose]: () => watcher.close()};
    } catch {
      return nothing; // The folder is missing, or no watches are left: `followFiles` polls as well.
    }
  },
};

/**
 * The file system for small files in folders that end with the process. What is written is not flushed to the disk,
 * which takes 5 ms for each file, and as long for its removal.
 */
export const passingFiles: Files = {
  ...systemFiles,
  async write(path, content, mode) {
    replaceNow(path, content, mode);
  },
};

/** The files to follow, and how often to poll them. */
export interface FollowFilesOptions {
  readonly files: Files;
  readonly clock: Clock;
  readonly paths: readonly string[];
  readonly signal: AbortSignal;
  readonly periodMs?: number;
  /** Called after a possible change. Runs never overlap; a failure does not prevent the next run. */
  readonly check: () => void | Promise<void>;
}

/** Files are often replaced in pairs: a short wait lets both arrive. */
const settleMs = 100;

/**
 * Calls `check` soon after a change in the folders of `paths`, until the signal aborts. Folders are watched rather than
 * files, so that renames and swapped links are noticed. Some file systems report no changes, and watches can be lost:
 * the files' stamps are therefore compared once a minute, and when they differ `check` runs and the watches are set up
 * again.
 */
export const followFiles = ({files, clock, paths, signal, periodMs = 60_000, check}: FollowFilesOptions): void => {
  const folders = [...new Set(paths.map(dirname))];
  let watches: Disposable[] = [];
  let scheduled: Disposable | undefined;
  let checking = Promise.resolve();

  const checkOnce = async () => {
    if (signal.aborted) return;
    const hold = clock.hold();
    try {
      await check();
    } finally {
      hold[Symbol.dispose]();
    }
  };
  const checkNext = (): Promise<void> => (checking = checking.catch(() => {}).then(checkOnce));
  const changed = () => {
    scheduled ??= clock.schedule(settleMs, () => {
      scheduled = undefined;
      return checkNext();
    });
  };
  const stopWatching = () => {
    for (const each of watches) each[Symbol.dispose]();
  };
  const watchAgain = () => {
    stopWatching();
    watches = signal.aborted ? [] : folders.map(folder => files.watch(folder, changed));
  };

  watchAgain();
  const stamps = () => [...folders, ...paths].map(path => files.stamp(path)).join();
  let known: string | undefined; // A change between the caller's first read and the first poll is found by that poll.
  runEvery(clock, periodMs, signal, () => {
    const now = stamps();
    if (now === known) return;
    known = now;
    watchAgain();
    return checkNext();
  });
  signal.addEventListener('abort', () => {
    stopWatching();
    scheduled?.[Symbol.dispose]();
  });
};
