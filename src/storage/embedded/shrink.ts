// Gives the free pages of a data file back to the file system: LMDB itself never makes its file smaller.

import {chmodSync, closeSync, fsyncSync, lstatSync, mkdirSync, openSync, renameSync, rmSync, statfsSync, statSync} from 'node:fs';
import {join} from 'node:path';
import type {RootDatabaseOptionsWithPath} from 'lmdb';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {claim} from './claim.js';
import {copyFolder, dataFile, lockFile, syncDirectory} from './directory.js';
import {isSoundEntry} from './layout.js';
import {checkPages, type PageUse} from './pages.js';
import {treeSettings, type Tree} from './writes.js';

/** A smaller file is left as it is. */
const defaultFromBytes = 64 << 20;

/** The part of the file that must be free. */
const freePart = 0.5;

/** A copy may take this much more than the pages in use, for the first writes to it. */
const spareBytes = 1 << 20;

export interface ShrinkOptions {
  /** The size from which a data file is compacted; 64 MiB unless given. */
  readonly fromBytes?: number;
  /** Puts a file in the place of another. */
  readonly rename?: (from: string, to: string) => void;
}

interface ShrinkParts extends ShrinkOptions {
  /** The real path of the directory. */
  readonly path: string;
  readonly naming: string;
  /** How the data file was used at the start, if that is known. */
  readonly use: PageUse | undefined;
  readonly open: (options: RootDatabaseOptionsWithPath) => Tree;
  /** Throws if another process has claimed the store, or replaced its files. */
  readonly checkOwned: () => void;
  readonly log: Log;
  readonly clock: Clock;
}

/**
 * Replaces the data file of a tree that this process has claimed by a compact copy of it, if the file is large and at
 * least half of it is free. Returns the tree to go on with: that of the copy, or the same one where there is nothing to
 * do or no copy could be made. A process that is killed in between leaves the old data file or the new one, both
 * complete. Rejects if the data file could not be replaced once its lock file was.
 */
export const shrunk = async (tree: Tree, parts: ShrinkParts): Promise<Tree> => {
  const {path, use, log, fromBytes = defaultFromBytes} = parts;
  // Left by an earlier process; not in use, since the tree is claimed.
  removeCopy(path, log);
  if (!use || use.bytes < fromBytes || use.free < use.bytes * freePart) return tree;
  let copy: Tree;
  try {
    copy = await copied(tree, use, parts);
  } catch (error) {
    return unchanged(tree, parts, error);
  }
  return await swapped(tree, copy, parts);
};

const removeCopy = (path: string, log: Log): void => {
  try {
    rmSync(join(path, copyFolder), {recursive: true, force: true});
  } catch (error) {
    log.warn({directory: path, err: error}, 'a left copy of the data file could not be removed');
  }
};

/** Returns the tree of a compact copy, which is on disk, checked, and claimed by this process. */
const copied = async (tree: Tree, use: PageUse, {path, naming, open, clock}: ShrinkParts): Promise<Tree> => {
  // A file that is elsewhere, behind a link, cannot be replaced by a rename.
  if (!lstatSync(join(path, dataFile)).isFile()) throw new Error(`${dataFile} is not a file`);
  const needed = use.bytes - use.free + spareBytes;
  const {bavail, bsize} = statfsSync(path);
  if (bavail * bsize < needed) throw new Error(`a copy needs ${needed} bytes, and ${bavail * bsize} are left in the file system`);
  const folder = join(path, copyFolder);
  mkdirSync(folder, {mode: 0o700});
  await tree.backup(folder, true);
  const copy = open({path: folder, ...treeSettings});
  try {
    // This write also makes the numbers of the copy's meta pages consecutive.
    claim(copy, path, naming);
    for (const file of [dataFile, lockFile]) chmodSync(join(folder, file), 0o600);
    syncFile(join(folder, dataFile));
    syncDirectory(folder);
    await checkPages(join(folder, dataFile), isSoundEntry, clock);
    return copy;
  } catch (error) {
    await copy.close();
    throw error;
  }
};

const syncFile = (path: string): void => {
  const file = openSync(path, 'r+');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
};

/**
 * Moves the files of the copy, which stays open, over those of the tree. The lock file goes with its data file: it
 * holds the number of the last transaction. This process is in both lock files as the owner, and the lock file is moved
 * first, so whoever opens any pair of them meanwhile finds the store in use.
 */
const swapped = async (tree: Tree, copy: Tree, parts: ShrinkParts): Promise<Tree> => {
  const {path, checkOwned, log, rename = renameSync} = parts;
  const before = statSync(join(path, dataFile)).size;
  const replace = (file: string): void => rename(join(path, copyFolder, file), join(path, file));
  try {
    checkOwned();
    replace(lockFile);
  } catch (error) {
    await copy.close();
    return unchanged(tree, parts, error);
  }
  try {
    replace(dataFile);
    syncDirectory(path);
  } catch (error) {
    await copy.close();
    throw new Error(`cannot put a compact copy in the place of ${dataFile}: ${messageOf(error)}`, {cause: error});
  }
  await tree.close();
  removeCopy(path, log);
  log.info({directory: path, before, after: statSync(join(path, dataFile)).size}, 'the data file was compacted at the start');
  return copy;
};

const unchanged = (tree: Tree, {path, checkOwned, log}: ShrinkParts, error: unknown): Tree => {
  checkOwned();
  log.warn({directory: path, err: error}, 'the data file could not be compacted: the store starts with it as it is');
  removeCopy(path, log);
  return tree;
};
