// The writes of a store: each waits until it is on disk, and fails once another process has claimed the store.

import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {StoreFull} from '#src/storage/errors.js';
import {metaKeys} from './layout.js';
import type {MappedTree} from './mapped-tree.js';
import {Writes} from './writes.js';

/** How many bytes must be writable before a full disk counts as usable again. */
const probeBytes = 256 << 10;

const lostMessage = 'another process has claimed the data directory, or its lock file was replaced: this one does not write to it any more';

interface WriterParts {
  readonly directory: string;
  readonly log: Log;
  /** Whether another process may have opened the store, since its lock file was replaced. */
  readonly isLockReplaced: () => boolean;
}

export class TreeWriter {
  readonly #tree: MappedTree;
  readonly #directory: string;
  readonly #log: Log;
  readonly #isLockReplaced: () => boolean;
  /** Whether another process has claimed the store. */
  #isLost = false;
  #hasFailed = false;
  /** Whether the last write found no space. */
  #isFull = false;

  constructor(tree: MappedTree, {directory, log, isLockReplaced}: WriterParts) {
    this.#tree = tree;
    this.#directory = directory;
    this.#log = log;
    this.#isLockReplaced = isLockReplaced;
  }

  /** Begins a transaction; returns its writes, none yet. */
  begin(): Writes {
    return new Writes(this.#directory);
  }

  /** Resolves once gathered writes are on disk; rejects with the cause when none is. */
  async commit(writes: Writes): Promise<void> {
    this.#checkLock();
    if (this.#isLost) throw new Error(lostMessage);
    try {
      await this.#tree.write(tree => writes.durable(tree));
    } catch (error) {
      this.#hasFailed = true;
      if (error instanceof StoreFull && !this.#isFull) {
        this.#isFull = true;
        this.#log.error(
          {directory: this.#directory, err: error},
          'no space is left for the data directory: writes fail until there is some',
        );
      }
      throw error;
    }
    if (!this.#isFull) return;
    this.#isFull = false;
    this.#log.info({directory: this.#directory}, 'the data directory has space again');
  }

  /** Whether all writes are on disk, and nobody else writes. */
  get isSound(): boolean {
    return !this.#isLost && !this.#hasFailed && !this.#isLockReplaced();
  }

  /** Ends all writes: another process has claimed the store. */
  lose(): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#log.error({directory: this.#directory}, lostMessage);
  }

  /** Called before each write: a process that opened the store by a new lock file must not find this one writing. */
  #checkLock(): void {
    if (this.#isLockReplaced()) this.lose();
  }

  /** Returns why writes fail, if they do. */
  async problem(): Promise<string | undefined> {
    this.#checkLock();
    if (this.#isLost) return `${lostMessage}: ${this.#directory}`;
    if (!this.#isFull) return undefined;
    try {
      const writes = this.begin();
      writes.put(metaKeys.probe, Buffer.alloc(probeBytes));
      await this.commit(writes);
      const cleanup = this.begin();
      cleanup.remove(metaKeys.probe);
      await this.commit(cleanup);
      return undefined;
    } catch (error) {
      return `${messageOf(error)} in ${this.#directory}`;
    }
  }
}
