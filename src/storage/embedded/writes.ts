import {statfsSync} from 'node:fs';
import type {RootDatabase} from 'lmdb';
import {messageOf} from '#src/base/message.js';
import {StoreFull} from '#src/storage/errors.js';
import {checkSpace} from './space.js';
import {keyEncoder, type LayoutKey} from './layout.js';

export type Tree = RootDatabase<Buffer, LayoutKey>;

/**
 * The settings of a tree. Without overlappingSync a write resolves only once it is on disk. Batching by turns would
 * leave promises that are not awaited, whose rejection on a full disk ends the process; batches are explicit instead.
 */
export const treeSettings = {
  overlappingSync: false,
  eventTurnBatching: false,
  encoding: 'binary',
  keyEncoder,
  maxDbs: 1,
  // Address space only. A map that grows with the file leaves its smaller ones mapped, and their pages count in the
  // memory of the process again each time.
  mapSize: 2 ** 32,
} as const;

/** The value of a key whose presence is the information. */
export const nothing = Buffer.alloc(0);

/** The writes of one transaction, gathered and then made durable together. */
export class Writes {
  readonly #directory: string;
  readonly #keys: LayoutKey[] = [];
  /** The value for the key of the same index; absent for a removal. */
  readonly #values: (Buffer | undefined)[] = [];
  #bytes = 0;

  constructor(directory: string) {
    this.#directory = directory;
  }

  put(key: LayoutKey, value: Buffer): void {
    this.#keys.push(key);
    this.#values.push(value);
    this.#bytes += value.length;
  }

  remove(key: LayoutKey): void {
    this.#keys.push(key);
    this.#values.push(undefined);
  }

  /** Writes to a tree: resolves once all are on disk; rejects with the cause when none is. */
  async durable(tree: Tree): Promise<void> {
    try {
      checkSpace(this.#directory, this.#keys.length, this.#bytes);
    } catch (error) {
      throw fullReasons.has((error as NodeJS.ErrnoException).code) ? new StoreFull({cause: error}) : error;
    }
    try {
      await tree.batch(() => {
        this.#keys.forEach((key, index) => {
          const value = this.#values[index];
          void (value ? tree.put(key, value) : tree.remove(key));
        });
      });
    } catch (error) {
      const cause = await causeOf(error);
      throw isFull(cause, this.#directory) ? new StoreFull({cause}) : new Error(`the store could not write: ${messageOf(cause)}`, {cause});
    }
  }
}

/** Returns the cause of a failed commit. LMDB reports it by a promise that rejects soon after, or never. */
const causeOf = async (error: unknown): Promise<unknown> => {
  const committed = (error as {commitError?: Promise<never>}).commitError?.catch((cause: unknown) => cause);
  return await Promise.race([committed ?? error, new Promise(resolve => setImmediate(() => resolve(error)))]);
};

/** The numbers of errors of a full disk, of a quota, of a limit on the size of files, and of a full map. */
const fullCodes: ReadonlySet<unknown> = new Set([28, 122, 27, -30792]);

/** The same as the codes of the system's errors. */
const fullReasons: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** LMDB reports a write that was cut short for lack of space as an I/O error. */
const deviceError = 5;

/** With less free space than this such an error counts as a full disk. */
const littleSpace = 4 << 20;

const hasLittleSpace = (directory: string): boolean => {
  const {bavail, bsize} = statfsSync(directory);
  return bavail * bsize < littleSpace;
};

const isFull = (error: unknown, directory: string): boolean =>
  fullCodes.has((error as {code?: unknown}).code) ||
  ((error as {code?: unknown}).code === deviceError && hasLittleSpace(directory)) ||
  /no space left|quota exceeded|file too large|MDB_MAP_FULL/i.test(messageOf(error));
