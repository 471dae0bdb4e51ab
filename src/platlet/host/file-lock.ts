// Locks of files between processes, as flock(2) makes them. Node.js has no such call: util-linux's `flock` locks a file
// that it gets open, and the lock stays for as long as that file is open here.

import {spawn} from 'node:child_process';
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

/** Thrown for a file that another process has locked. */
export class LockedError extends Error {
  override readonly name = 'LockedError';
}

/** Locks an open file; resolves once no other process has it. Rejects at once without `waits`. */
const lock = (file: FileHandle, waits: boolean, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const child = spawn('flock', ['--exclusive', ...(waits ? [] : ['--nonblock']), '3'], {
      stdio: ['ignore', 'ignore', 'pipe', file.fd],
      signal,
    });
    let text = '';
    child.stderr!.setEncoding('utf8').on('data', (part: string) => (text += part));
    child.on('error', reject);
    child.on('close', code => {
      if (code === 0) resolve();
      else if (code === 1 && !waits) reject(new LockedError('another process has locked the file'));
      else reject(new Error(text.trim() || `flock ended with ${code}`));
    });
  });

/**
 * Creates a file if it is missing, and locks it. Waits for a process that has it locked, until the signal aborts, or
 * rejects with a `LockedError` if it is not to wait. Rejects with the error of the system, or of `flock`.
 */
export const lockFile = async (path: string, signal: AbortSignal, waits = true): Promise<FileLock> => {
  const file = await fs.open(path, 'a', 0o600);
  try {
    await lock(file, waits, signal);
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

const lookMs = 1_000;

/** Resolves once another process wants a lock; never, if the signal aborts before. */
export const untilContended = (held: Pick<FileLock, 'isContended'>, clock: Clock, signal: AbortSignal): Promise<void> =>
  new Promise(resolve => {
    runEvery(clock, lookMs, signal, async () => {
      if (await held.isContended()) resolve();
    });
  });
