// Locks of files between processes, as flock(2) makes them. Node.js has no such call: util-linux's `flock` locks a file
// that it gets open, and the lock stays for as long as that file is open here.

import {spawn} from 'node:child_process';
import {confineErrors} from '#src/base/emitters/confined.js';
import * as fs from 'node:fs/promises';
import type {FileHandle} from 'node:fs/promises';
import {runEvery, type Clock} from '#src/base/clock.js';

/** A file that this process has locked. */
export interface FileLock extends AsyncDisposable {
  /** Whether another process waits for the lock, or the file has been removed. */
  isContended(): Promise<boolean>;
}

/** Where the kernel lists locks; the one of a process that waits begins with an arrow. */
const lockTable = '/proc/locks';

/** Whether the kernel's list of locks has one that waits for a file. */
export const hasWaiter = (table: string, inode: number): boolean =>
  table.split('\n').some(line => {
    const [, arrow, kind, , , , file = ''] = line.trim().split(/\s+/);
    return arrow === '->' && kind === 'FLOCK' && file.endsWith(`:${inode}`);
  });

/** Locks an open file, and waits for a process that has it locked if asked to. Resolves to whether it is locked. */
const lock = (file: FileHandle, waits: boolean, signal: AbortSignal): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const child = confineErrors(
      spawn('flock', ['--exclusive', ...(waits ? [] : ['--nonblock']), '3'], {
        stdio: ['ignore', 'ignore', 'pipe', file.fd],
        signal,
      }),
    );
    let text = '';
    child.stderr!.setEncoding('utf8').on('data', (part: string) => (text += part));
    child.on('error', reject);
    child.on('close', code => {
      if (code === 0 || (code === 1 && !waits)) resolve(code === 0);
      else reject(new Error(text.trim() || `flock ended with ${code}`));
    });
  });

/** Creates a file if it is missing, and locks it. Returns undefined if it is not locked. */
const locked = async (path: string, waits: boolean, signal: AbortSignal): Promise<FileLock | undefined> => {
  const file = await fs.open(path, 'a', 0o600);
  try {
    if (!(await lock(file, waits, signal))) return void (await file.close());
  } catch (error) {
    await file.close();
    throw error;
  }
  const {ino} = await file.stat();
  return {
    async isContended() {
      const there = await fs.stat(path).catch(() => undefined);
      return there?.ino !== ino || hasWaiter(await fs.readFile(lockTable, 'utf8'), ino);
    },
    [Symbol.asyncDispose]: () => file.close(),
  };
};

/**
 * Creates a file if it is missing, and locks it. Waits for a process that has it locked, until the signal aborts.
 * Rejects with the error of the system, or of `flock`.
 */
export const lockFile = async (path: string, signal: AbortSignal): Promise<FileLock> => (await locked(path, true, signal))!;

/** The same without waiting: undefined if another process has the file locked. */
export const tryLockFile = (path: string, signal: AbortSignal): Promise<FileLock | undefined> => locked(path, false, signal);

const lookMs = 1_000;

/** Resolves once another process wants a lock; never, if the signal aborts before. */
export const untilContended = (held: Pick<FileLock, 'isContended'>, clock: Clock, signal: AbortSignal): Promise<void> =>
  new Promise(resolve => {
    runEvery(clock, lookMs, signal, async () => {
      if (await held.isContended()) resolve();
    });
  });
