import {randomBytes} from 'node:crypto';
import {constants, fsync, statSync, watch, type Stats} from 'node:fs';
import {open, readFile, rename, rm} from 'node:fs/promises';
import {basename, dirname, join} from 'node:path';
import {promisify} from 'node:util';
import {every, type Clock} from './clock.js';
import {makeFolder} from './folder.js';
import type {Log} from './log.js';

/** The files a process reads, keeps and follows. */
export interface Files {
  /** The content of a file, or undefined if there is none. Other failures are thrown. */
  read(path: string): Promise<Buffer | undefined>;
  /** Replaces a file as a whole: readers see the old content or the new, never a part. Folders on the way are made with mode 0700. */
  write(path: string, content: string | Buffer, mode: number): Promise<void>;
  /** Differs once a file or folder has been replaced or written; empty when there is none. Cheap enough to be asked often; never throws. */
  stamp(path: string): string;
  /** Calls `stirred` when something may have changed in a folder. A hint: it may come late, often, or never. */
  watch(folder: string, changed: () => void): Disposable;
}

/** The content of a file that has to be there. Throws one line when it is not. */
export const contentOf = async (files: Pick<Files, 'read'>, path: string): Promise<Buffer> => {
  const content = await files.read(path);
  if (content === undefined) throw new Error(`open ${path}: no such file or directory`);
  return content;
};

const isMissing = (error: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');

/** Never opens what somebody else put there, and never follows a link. */
const exclusiveFlags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** Resolves once all that was written is on disk. The handles that Yarn's Plug'n'Play opens have no `sync` of their own. */
const flushed = promisify(fsync);

/**
 * Replaces a file as a whole, durably: readers see the old content or the new, never a part. The draft beside it has a name nobody can guess and the
 * mode from its creation. A link at `path` is replaced, not followed.
 */
const replace = async (path: string, content: string | Buffer, mode: number): Promise<void> => {
  const folder = dirname(path);
  makeFolder(folder);
  const temporary = join(folder, `.${basename(path)}.${randomBytes(12).toString('hex')}`);
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
  const isSticky = (mode & 0o1000) !== 0; // Everybody may add files, and none may replace another's.
  if (mode & 0o002 && !isSticky) return 'everybody';
  return mode & 0o020 && !isSticky && gid !== process.getgid() ? `group ${gid}` : undefined;
};

const nothing: Disposable = {[Symbol.dispose]() {}};

/** The machine's files. */
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
      return isMissing(error) ? '' : String((error as NodeJS.ErrnoException).code); // A file that becomes readable is looked at then.
    }
  },
  watch(folder, changed) {
    try {
      const watcher = watch(folder, {persistent: false}, changed);
      watcher.on('error', () => watcher.close());
      return {[Symbol.dispose]: () => watcher.close()};
    } catch {
      return nothing; // No folder yet, or no watches left: those who follow files also look from time to time.
    }
  },
};

/** What to follow, and how often to look when nothing stirs. */
export interface FollowFilesOptions {
  readonly files: Files;
  readonly clock: Clock;
  readonly paths: readonly string[];
  readonly signal: AbortSignal;
  readonly periodMs?: number;
  /** Looks whether something changed. Never runs twice at once; one that fails does not keep the next from running. */
  readonly check: () => void | Promise<void>;
}

/** Files are often replaced in pairs: a moment's wait lets both arrive. */
const settleMs = 100;

/**
 * Calls `look` soon after something stirs in the folders of `paths`, until the signal aborts. Folders are watched rather than files, so that renames
 * and links that are swapped are noticed. Watches tell nothing of some file systems, and may be lost: once a minute the files are compared with what
 * they were, and where they differ they are looked at and watched anew.
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
  let known: string | undefined; // What changed between the first reading and the first look is seen by that.
  every(clock, periodMs, signal, () => {
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
