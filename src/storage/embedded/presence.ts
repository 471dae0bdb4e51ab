// Keeps two processes from using one store in the cases that LMDB's list of processes misses: the lock file was
// deleted, or both have the same process id in different namespaces. On Linux the lock is an abstract socket, which
// cannot be deleted. It is not visible in other network namespaces (containers), and other systems have no such
// sockets: there the owner keeps updating the modification time of a file, and a starting process watches whether it is
// updated.

import {readFileSync, readlinkSync, rmSync, statSync, utimesSync, writeFileSync} from 'node:fs';
import {hostname} from 'node:os';
import {join} from 'node:path';
import {runEvery, type Clock} from '#src/base/clock.js';
import {claimFolder} from '#src/base/files/claimed-folder.js';
import {systemRandom} from '#src/base/random.js';
import {StoreUnusable} from '#src/storage/errors.js';

/** Names the process that uses the store; removed when it closes the store. */
export const ownerFile = 'owner.json';

const renewEveryMs = 1000;
/** How long a starting process watches the file of an owner that may be alive. */
const watchMs = 3500;

interface Owner {
  readonly id: string;
  readonly process: number;
  readonly host: string;
  /** The namespace of the process id; empty on systems without namespaces. */
  readonly namespace: string;
  /** The inode of the lock file that the process uses. */
  readonly lock: number;
}

const namespace = (): string => {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
};

const ownerOf = (directory: string): Partial<Owner> | undefined => {
  try {
    return (JSON.parse(readFileSync(join(directory, ownerFile), 'utf8')) as Partial<Owner> | null) ?? {};
  } catch (error) {
    // A process that was killed may have left part of the file.
    return error instanceof SyntaxError ? {} : undefined;
  }
};

const renewedAt = (directory: string): number | undefined => statSync(join(directory, ownerFile), {throwIfNoEntry: false})?.mtimeMs;

const inodeOf = (path: string): number | undefined => statSync(path, {throwIfNoEntry: false})?.ino;

/** Returns the error for a store that another process uses, which names that process as far as it is known. */
const inUse = (directory: string, lockFile: string, owner: Partial<Owner> = {}): StoreUnusable => {
  const lock = inodeOf(join(directory, lockFile));
  const isElsewhere = owner.namespace !== undefined && owner.namespace !== namespace();
  const isDeleted = lock === undefined || (owner.lock !== undefined && owner.lock !== lock);
  const holder = owner.process === undefined ? 'another process' : `process ${owner.process}`;
  const where = isElsewhere ? ` on ${owner.host}, in another namespace of process ids` : '';
  const hint = isElsewhere || isDeleted ? ` ("fuser -v ${join(directory, 'data.mdb')}" on the host finds it)` : '';
  return new StoreUnusable(
    `the store in ${directory} is in use by ${holder}${where}${isDeleted ? `, whose ${lockFile} was deleted` : ''}: stop that one${hint}, or give another --data-dir`,
  );
};

/**
 * Claims a directory for the store of this process. Rejects with `StoreUnusable` if another process has it. Undefined
 * where the system has no such claims.
 */
export const claimSocket = async (directory: string, lockFile: string, clock: Clock): Promise<Disposable | undefined> => {
  const claim = await claimFolder(directory, 'plat-store', clock);
  if (claim === 'taken') throw inUse(directory, lockFile, ownerOf(directory));
  return claim;
};

/**
 * Rejects with `StoreUnusable` if the store is used by a process that has neither a socket visible to this one nor an entry in LMDB's list. To be called before the lock
 * file is created. Takes a few seconds where the last owner ended without closing the store and had this process id in another namespace, or where the lock file is missing or was replaced.
 */
export const checkAbsence = async (directory: string, lockFile: string, clock: Clock): Promise<void> => {
  const owner = ownerOf(directory);
  if (!owner) return;
  const lock = inodeOf(join(directory, lockFile));
  const isTwin = owner.process === process.pid && owner.namespace !== namespace();
  if (lock !== undefined && (owner.lock === undefined || owner.lock === lock) && !isTwin) return;
  const before = renewedAt(directory);
  using _ = clock.keepAlive();
  await new Promise<void>(resolve => clock.schedule(watchMs, resolve));
  const after = renewedAt(directory);
  if (after !== undefined && after !== before) throw inUse(directory, lockFile, ownerOf(directory));
};

/** The presence of this process as the owner of a store. */
export class Presence implements Disposable {
  readonly #directory: string;
  readonly #lockPath: string;
  #lock: number | undefined;
  readonly #id = systemRandom.uuid();
  readonly #ending = new AbortController();
  readonly #lost: () => void;
  readonly #clock: Clock;

  /** `lost` is called once another process has claimed the store: this one must not write to it any more. */
  constructor(directory: string, lockFile: string, clock: Clock, lost: () => void) {
    this.#directory = directory;
    this.#lockPath = join(directory, lockFile);
    this.#lock = inodeOf(this.#lockPath);
    this.#lost = lost;
    this.#clock = clock;
    this.#write();
    runEvery(clock, renewEveryMs, this.#ending.signal, () => this.#renew());
  }

  [Symbol.dispose](): void {
    if (this.#ending.signal.aborted) return;
    this.#ending.abort();
    if (ownerOf(this.#directory)?.id === this.#id) rmSync(join(this.#directory, ownerFile), {force: true});
  }

  /** Throws if another process has claimed the store. */
  check(): void {
    const owner = ownerOf(this.#directory);
    if (owner?.id === undefined || owner.id === this.#id) return;
    throw new StoreUnusable(
      `the store in ${this.#directory} was claimed by process ${owner.process} on ${owner.host} meanwhile: stop that one`,
    );
  }

  /** Notes which lock file this process uses now, after it has replaced it. */
  noteLock(): void {
    this.#lock = inodeOf(this.#lockPath);
    this.#write();
  }

  /** Whether the lock file was deleted and made again, so that another process may have opened the store. */
  get isLockReplaced(): boolean {
    const lock = inodeOf(this.#lockPath);
    return lock !== undefined && lock !== this.#lock;
  }

  #renew(): void {
    const owner = ownerOf(this.#directory);
    if (!owner?.id) return this.#write();
    if (owner.id !== this.#id) {
      this.#ending.abort();
      return this.#lost();
    }
    const now = this.#clock.now() / 1000;
    try {
      utimesSync(join(this.#directory, ownerFile), now, now);
    } catch {
      // It is tried again.
    }
  }

  #write(): void {
    const owner: Owner = {id: this.#id, process: process.pid, host: hostname(), namespace: namespace(), lock: this.#lock ?? 0};
    try {
      writeFileSync(join(this.#directory, ownerFile), `${JSON.stringify(owner)}\n`, {mode: 0o600});
    } catch {
      // The disk may be full; it is tried again.
    }
  }
}
