import type {RootDatabase} from 'lmdb';
import {keyEncoder, type LayoutKey} from './layout.js';

export type Tree = RootDatabase<Buffer, LayoutKey>;

/**
 * The settings of a tree. Without overlappingSync a write resolves only once it is on disk. Batching by turns would leave promises that are not awaited, whose
 * rejection on a full disk ends the process; batches are explicit instead.
 */
export const treeSettings = {overlappingSync: false, eventTurnBatching: false, encoding: 'binary', keyEncoder, maxDbs: 1} as const;

/** The value of a key that says all by being there. */
export const nothing = Buffer.alloc(0);

/** The writes of one transaction, gathered and then made durable together. */
export class Writes {
  readonly #tree: Tree;
  readonly #keys: LayoutKey[] = [];
  /** What is put under the key of the same index; absent where it is removed. */
  readonly #values: (Buffer | undefined)[] = [];

  constructor(tree: Tree) {
    this.#tree = tree;
  }

  put(key: LayoutKey, value: Buffer): void {
    this.#keys.push(key);
    this.#values.push(value);
  }

  remove(key: LayoutKey): void {
    this.#keys.push(key);
    this.#values.push(undefined);
  }

  /** Resolves once all are on disk; rejects with the cause when none is. */
  async durable(): Promise<void> {
    try {
      await this.#tree.batch(() => {
        this.#keys.forEach((key, index) => {
          const value = this.#values[index];
          void (value ? this.#tree.put(key, value) : this.#tree.remove(key));
        });
      });
    } catch (error) {
      throw new Error(`the store could not write: ${await causeOf(error)}`, {cause: error});
    }
  }
}

/** Returns the cause of a failed commit. LMDB reports it by a promise that rejects soon after, or never. */
const causeOf = async (error: unknown): Promise<string> => {
  const committed = (error as {commitError?: Promise<never>}).commitError?.catch((cause: unknown) => cause);
  const cause = await Promise.race([committed ?? error, new Promise(resolve => setImmediate(() => resolve(error)))]);
  return cause instanceof Error ? cause.message : String(cause);
};
