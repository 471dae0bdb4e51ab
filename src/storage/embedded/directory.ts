import {accessSync, chmodSync, closeSync, constants, fsyncSync, openSync, readSync, realpathSync} from 'node:fs';
import {join} from 'node:path';
import {makeFolder} from '#src/base/files/folder.js';
import {StoreUnusable} from '#src/storage/errors.js';
import {messageOf} from '#src/base/message.js';

/** The files LMDB keeps in a directory. */
const files = ['data.mdb', 'lock.mdb'];

/** Directories of the stores that this process has open. */
const open = new Set<string>();

/** LMDB's magic number: the library crashes on other files. */
const magic = {at: 24, value: 0xbeefc0de} as const;

const reasonOf = (error: unknown): string => {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === 'EACCES' || code === 'EPERM') return 'permission denied';
  if (code === 'EROFS') return 'the file system is read-only';
  if (code === 'ENOTDIR' || code === 'EEXIST') return 'it is not a directory';
  if (code === 'ENOSPC') return 'no space left on the device';
  return messageOf(error);
};

/** Returns an error of one line that says why a store cannot be opened. */
export const unusable = (directory: string, error: unknown): StoreUnusable =>
  error instanceof StoreUnusable
    ? error
    : new StoreUnusable(`--data-dir: cannot keep a store in ${directory}: ${reasonOf(error)}`, {cause: error});

/**
 * Creates the directory and files of a store, readable by the owner only, and reserves it within this process. Returns its real path;
 * `release` must be called once the store is closed.
 */
export const reserve = (directory: string): string => {
  try {
    makeFolder(directory);
    const path = realpathSync(directory);
    if (open.has(path)) throw new StoreUnusable(`the store in ${directory} is already open in this process`);
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
    chmodSync(path, 0o700);
    // Closing a file drops this process's locks on it, so this must come before LMDB opens them.
    for (const file of files) {
      closeSync(openSync(join(path, file), 'a', 0o600));
      chmodSync(join(path, file), 0o600);
    }
    checkMagic(join(path, 'data.mdb'));
    syncDirectory(path);
    open.add(path);
    return path;
  } catch (error) {
    throw unusable(directory, error);
  }
};

export const release = (path: string): void => void open.delete(path);

/** Throws for a file that is not LMDB's. */
export const checkMagic = (path: string): void => {
  const file = openSync(path, 'r');
  try {
    const head = Buffer.alloc(magic.at + 4);
    const length = readSync(file, head, 0, head.length, 0);
    if (length > 0 && head.readUInt32LE(magic.at) !== magic.value) throw new Error('its data.mdb is not a store');
  } finally {
    closeSync(file);
  }
};

/** New files survive a power failure only once their directory is synced. */
const syncDirectory = (path: string): void => {
  const directory = openSync(path, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
};
