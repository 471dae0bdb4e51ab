// Merges the entries of a plane into a kubeconfig file and removes them again, under kubectl's lock. The text is
// changed by merge.ts; a file that cannot be parsed is never written.

import {existsSync} from 'node:fs';
import {lstat, open, readlink, rm} from 'node:fs/promises';
import {dirname, resolve} from 'node:path';
import {sleep, systemClock} from '#src/base/clock.js';
import {systemFiles, warnOfSharedFolder} from '#src/base/files/files.js';
import {makeFolder} from '#src/base/files/folder.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {OptionError} from '#src/options/option-error.js';
import {defaultContext, entryNames, kubeconfig, type AdminSettings, type EntryNames} from './settings.js';

/** A kubeconfig file with the entries of a plane. */
export interface MergedKubeconfig {
  /** The names of the entries. */
  readonly names: EntryNames;
  /** Removes the entries from the file. */
  remove(): Promise<void>;
}

export interface KubeconfigParts {
  readonly settings: AdminSettings;
  /** The plane's data directory. */
  readonly directory: string;
  /** The context it has where the name is free; `plat` by default. */
  readonly context?: string | undefined;
  readonly log: Log;
}

/** Throws an error of one line unless `file` is missing or a kubeconfig file of this user. */
export const checkKubeconfig = (file: string): Promise<void> =>
  withFileName(file, async () => {
    const text = await readOwn(await targetOf(file));
    if (text) (await import('./merge.js')).parseKubeconfig(text);
  });

/**
 * Merges a plane's cluster, user and context into a kubeconfig file, as other tools do: under the lock file that
 * kubectl uses, following symbolic links, readable only by this user. Rejects with an error of one line, without
 * changing the file, when it cannot be parsed.
 */
export const mergeKubeconfig = (
  file: string,
  {settings, directory, context = defaultContext, log}: KubeconfigParts,
): Promise<MergedKubeconfig> =>
  withFileName(file, async () => {
    const plane = {settings, directory, context, isGone: (other: string) => !existsSync(other)};
    const fresh = kubeconfig(settings, directory, context);
    let merged: {readonly names: EntryNames; readonly previousContext: string | undefined} = {
      names: entryNames(1, context),
      previousContext: undefined,
    };
    await changed(file, log, async text => {
      // The YAML code is not loaded without need.
      if (!text || withoutServer(text) === withoutServer(fresh)) return fresh;
      const {mergedInto} = await import('./merge.js');
      const {text: after, ...rest} = mergedInto(text, plane);
      merged = rest;
      return after;
    });
    const remove = () =>
      withFileName(file, () =>
        changed(file, log, async text => {
          if (!text) return text;
          const {withoutPlane: takenOut} = await import('./merge.js');
          return takenOut(text, plane, merged);
        }),
      );
    return {names: merged.names, remove};
  });

/** Returns the text of a file without the address that its first cluster had, which may have another port each time. */
const withoutServer = (text: string): string => text.replace(/^ {4}server: \S+$/m, '');

/** Removes the entries of the plane with a data directory from a kubeconfig file, which may be missing. */
export const removeFromKubeconfig = (file: string, directory: string, log: Log): Promise<void> =>
  withFileName(file, async () => {
    if (!existsSync(file)) return;
    const {withoutDirectory} = await import('./merge.js');
    await changed(file, log, async text => (text ? withoutDirectory(text, directory) : text));
  });

const withFileName = async <T>(file: string, run: () => Promise<T>): Promise<T> => {
  try {
    return await run();
  } catch (cause) {
    throw new OptionError(`--kubeconfig ${file}: ${messageOf(cause)}`, {cause});
  }
};

/** Changes the text of a file under its lock. It is written only when the text differs. */
const changed = async (file: string, log: Log, change: (text: string | undefined) => Promise<string | undefined>): Promise<void> => {
  const target = await targetOf(file);
  await locked([...new Set([resolve(file), target])], async () => {
    const before = await readOwn(target);
    const after = await change(before);
    if (after === undefined || after === before) return;
    await systemFiles.write(target, after, 0o600);
    warnOfSharedFolder(dirname(target), log);
  });
};

const maxLinks = 40;

/** The target of a path after symbolic links, which need not exist. */
const targetOf = async (path: string, links = 0): Promise<string> => {
  const absolute = resolve(path);
  const found = await lstat(absolute).catch(() => undefined);
  if (!found?.isSymbolicLink()) return absolute;
  if (links === maxLinks) throw new Error('too many symbolic links');
  return targetOf(resolve(dirname(absolute), await readlink(absolute)), links + 1);
};

/** Returns the text of a file. It must belong to this user, since replacing it would change the owner. */
const readOwn = async (target: string): Promise<string | undefined> => {
  const found = await lstat(target).catch(() => undefined);
  const owner = process.getuid?.();
  if (found && owner !== undefined && found.uid !== owner)
    throw new Error(`it belongs to user ${found.uid}, and this is user ${owner}: name a file of this user`);
  if (found && !found.isFile()) throw new Error('it is not a regular file');
  return (await systemFiles.read(target))?.toString();
};

const [lockPatienceMs, lockPeriodMs] = [10_000, 50];

/**
 * Locks files as kubectl does, by creating a file beside each. Since these are real files, waiting uses the machine's
 * time.
 */
const locked = async (files: readonly string[], run: () => Promise<void>): Promise<void> => {
  const [file, ...others] = files;
  if (file === undefined) return run();
  const lock = `${file}.lock`;
  makeFolder(dirname(file));
  const deadline = systemClock.monotonic() + lockPatienceMs;
  while (!(await isCreated(lock))) {
    if (systemClock.monotonic() > deadline)
      throw new Error(`${lock} exists: another program changes the file, or one that did was killed and the lock is to be removed`);
    await sleep(systemClock, lockPeriodMs);
  }
  try {
    await locked(others, run);
  } finally {
    await rm(lock, {force: true});
  }
};

const isCreated = async (lock: string): Promise<boolean> => {
  try {
    await (await open(lock, 'wx', 0)).close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
};
