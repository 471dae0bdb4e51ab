// Tells processes that use one store of each other where LMDB's list of them cannot: its lock file was deleted, or both have the same process id, each in a
// namespace of its own. The owner renews the time of a file; a start that finds such a file in one of these cases watches whether it is renewed.

import {existsSync, readFileSync, readlinkSync, rmSync, statSync, utimesSync, writeFileSync} from 'node:fs';
import {hostname} from 'node:os';
import {join} from 'node:path';
import {every, type Clock} from '#src/base/clock.js';
import {systemRandom} from '#src/base/random.js';
import {StoreUnusable} from '#src/storage/errors.js';

/** Names the process that uses the store; removed when it closes the store. */
export const ownerFile = 'owner.json';

const renewEveryMs = 1000;
/** How long a start watches the file of an owner that may live. */
const watchMs = 3500;

interface Owner {
  readonly id: string;
  readonly process: number;
  readonly host: string;
  /** The namespace of the process id; empty where there is no such thing. */
  readonly namespace: string;
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

/**
 * Rejects with `StoreUnusable` if a process that LMDB cannot see uses the store. To be called before its lock file is created. Takes a few seconds where the last
 * owner ended without closing the store and either the lock file is gone or it had this process id in another namespace.
 */
export const checkAbsence = async (directory: string, lockFile: string, clock: Clock): Promise<void> => {
  const owner = ownerOf(directory);
  if (!owner) return;
  const hasLock = existsSync(join(directory, lockFile));
  if (hasLock && !(owner.process === process.pid && owner.namespace !== namespace())) return;
  const before = renewedAt(directory);
  using _ = clock.keepAlive();
  await new Promise<void>(resolve => clock.schedule(watchMs, resolve));
  const after = renewedAt(directory);
  if (after === undefined || after === before) return;
  throw new StoreUnusable(
    `the store in ${directory} is in use by process ${owner.process} on ${owner.host}${hasLock ? ', in another namespace of process ids' : `, whose ${lockFile} was deleted`}: stop that one ("fuser -v ${join(directory, 'data.mdb')}" on the host finds it), or give another --data-dir`,
  );
};

/** The presence of this process as the owner of a store. */
export class Presence implements Disposable {
  readonly #directory: string;
  readonly #id = systemRandom.uuid();
  readonly #ending = new AbortController();
  readonly #lost: () => void;
  readonly #clock: Clock;

  /** `lost` is called once another process has claimed the store: this one must not write to it any more. */
  constructor(directory: string, clock: Clock, lost: () => void) {
    this.#directory = directory;
    this.#lost = lost;
    this.#clock = clock;
    this.#write();
    every(clock, renewEveryMs, this.#ending.signal, () => this.#renew());
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
    const owner: Owner = {id: this.#id, process: process.pid, host: hostname(), namespace: namespace()};
    try {
      writeFileSync(join(this.#directory, ownerFile), `${JSON.stringify(owner)}\n`, {mode: 0o600});
    } catch {
      // The disk may be full; it is tried again.
    }
  }
}
