import {accessSync, chmodSync, closeSync, constants, existsSync, fsyncSync, openSync, realpathSync, statSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {makeFolder} from '#src/base/files/folder.js';
import {StoreUnusable} from '#src/storage/errors.js';
import type {Clock} from '#src/base/clock.js';
import {messageOf} from '#src/base/message.js';
import {closedFile, takeClosed} from './closing.js';
import {isSoundEntry} from './layout.js';
import {FileDamaged} from './data-file.js';
import {checkPages, type CheckExtent, type PageUse} from './pages.js';
import {checkAbsence, claimSocket, ownerFile} from './presence.js';
import {spaceFile} from './space.js';

/** The files LMDB keeps in a directory. */
export const dataFile = 'data.mdb';
export const lockFile = 'lock.mdb';
const files = [dataFile, lockFile];

/**
 * A marker file beside them, written when a store is created: a store whose data file was lost is not mistaken for a
 * new one.
 */
const markerFile = 'store.json';

/** A folder beside them for a compact copy, which replaces them once it is complete. */
export const copyFolder = 'compact';

/** The directories of the stores that this process has open, with the handles that keep other processes out. */
const open = new Map<string, Disposable | undefined>();

const reasonOf = (error: unknown): string => {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === 'EACCES' || code === 'EPERM') return 'permission denied';
  if (code === 'EROFS') return 'the file system is read-only';
  if (code === 'ENOTDIR' || code === 'EEXIST') return 'it is not a directory';
  if (code === 'ENOSPC') return 'no space left on the device';
  return messageOf(error);
};

/** Returns an error of one line that says why a store cannot be opened. */
export const unusable = (directory: string, error: unknown): StoreUnusable => {
  if (error instanceof StoreUnusable) return error;
  if (error instanceof FileDamaged)
    return new StoreUnusable(
      `--data-dir: ${join(directory, dataFile)} is damaged: ${error.message}: move ${directory} away and restore a snapshot with "plat snapshot restore" (docs/operations.md)`,
      {cause: error},
    );
  return new StoreUnusable(`--data-dir: cannot keep a store in ${directory}: ${reasonOf(error)}`, {cause: error});
};

const sizeOf = (path: string): number => (existsSync(path) ? statSync(path).size : 0);

/** Whether a directory holds the data of a store. */
export const hasStore = (directory: string): boolean => sizeOf(join(directory, dataFile)) > 0;

/** Whether a directory holds the remains of a store whose data file is missing. */
export const hasLostStore = (directory: string): boolean => existsSync(join(directory, markerFile)) && !hasStore(directory);

/** The files and folders that a store consists of. */
export const storeFiles: readonly string[] = [...files, markerFile, ownerFile, copyFolder, spaceFile, closedFile];

/**
 * Checks the data file, if there is one, and throws if LMDB cannot open it safely. Returns its page usage; undefined
 * without a file or if the usage is unknown. `extent` says how much is read.
 */
export const checkData = async (directory: string, clock: Clock, extent: CheckExtent = 'all'): Promise<PageUse | undefined> => {
  if (hasLostStore(directory)) throw new FileDamaged(existsSync(join(directory, dataFile)) ? 'it is empty' : 'it is missing');
  return hasStore(directory) ? await checkPages(join(directory, dataFile), isSoundEntry, clock, extent) : undefined;
};

/** Returns the inode numbers of a directory's files. */
const inodesIn = (directory: string): string => files.map(file => statSync(join(directory, file), {throwIfNoEntry: false})?.ino).join();

/** Returns a check whether the files of a store are those of the time of the call, and can be opened. */
export const reopenable = (directory: string): (() => boolean) => {
  const before = inodesIn(directory);
  return () => {
    try {
      for (const file of files) accessSync(join(directory, file), constants.R_OK | constants.W_OK);
      return inodesIn(directory) === before;
    } catch {
      return false;
    }
  };
};

/**
 * Returns a check that throws if another process has replaced the files since the call: then a tree that was opened in
 * between may consist of files that do not belong together, or that no later start will find.
 */
export const unreplaced = (directory: string): (() => void) => {
  const before = inodesIn(directory);
  return () => {
    if (inodesIn(directory) === before) return;
    throw new StoreUnusable(`the store in ${directory} was just compacted by another process: try again`);
  };
};

/** Marks a directory as that of a store. To be called once its data are on disk. */
export const mark = (directory: string, naming: string): void => {
  const path = join(directory, markerFile);
  if (existsSync(path)) return;
  writeFileSync(path, `${JSON.stringify({naming})}\n`, {mode: 0o600, flush: true});
  syncDirectory(directory);
};

interface Reserved {
  /** The real path of the directory. */
  readonly path: string;
  /** The page usage of its data file; undefined for a new store or if it is unknown. */
  readonly use: PageUse | undefined;
}

/**
 * Creates the directory and files of a store, readable by the owner only, and reserves it within this process;
 * `release` must be called once the store is closed.
 */
export const reserve = async (directory: string, clock: Clock): Promise<Reserved> => {
  try {
    makeFolder(directory);
    const path = realpathSync(directory);
    if (open.has(path)) throw new StoreUnusable(`the store in ${directory} is already open in this process`);
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
    open.set(path, undefined);
    try {
      open.set(path, await claimSocket(path, lockFile, clock));
      return {path, use: await prepare(path, clock)};
    } catch (error) {
      release(path);
      throw error;
    }
  } catch (error) {
    throw unusable(directory, error);
  }
};

const prepare = async (path: string, clock: Clock): Promise<PageUse | undefined> => {
  await checkAbsence(path, lockFile, clock);
  const use = await checkData(path, clock, takeClosed(path, dataFile) ? 'branches' : 'all');
  chmodSync(path, 0o700);
  // Closing a file drops this process's locks on it, so this must come before LMDB opens them.
  for (const file of files) {
    closeSync(openSync(join(path, file), 'a', 0o600));
    chmodSync(join(path, file), 0o600);
  }
  syncDirectory(path);
  return use;
};

export const release = (path: string): void => {
  open.get(path)?.[Symbol.dispose]();
  open.delete(path);
};

/** New files survive a power failure only once their directory is synced. */
export const syncDirectory = (path: string): void => {
  const directory = openSync(path, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
};
