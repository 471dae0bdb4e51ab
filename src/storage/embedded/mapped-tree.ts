// The tree of a store, which is reopened when much of its file is resident. LMDB maps the data file, and each page that
// was read counts as memory of the process until the file is unmapped: without that, reads would make the process as
// large as the file, which holds the history of all writes.

import {readFileSync} from 'node:fs';
import {OwnedCaches} from '#src/base/cache-bound.js';
import {runEvery, guarded, type Clock} from '#src/base/clock.js';
import type {Tree} from './writes.js';

/** How much of the data file stays mapped, in bytes. */
export interface MapLimits {
  /** Above this the file is unmapped at the next check, between two commits. */
  readonly maxBytes: number;
  /** Above this the file is unmapped once the mapping is `restMs` milliseconds old. */
  readonly restBytes: number;
  readonly restMs: number;
}

export const mapDefaults: MapLimits = {maxBytes: 32 << 20, restBytes: 4 << 20, restMs: 60_000};

const checkMs = 2000;

export interface MapOptions extends Partial<MapLimits> {
  /** Returns the resident bytes of all mapped files of the process; undefined where the system does not report them. */
  readonly resident?: () => number | undefined;
}

interface MappedTreeParts extends MapLimits {
  readonly clock: Clock;
  /** Opens the tree that was just closed. */
  readonly open: () => Tree;
  /** Whether the files are still those of the tree and can be opened. */
  readonly isReopenable: () => boolean;
  readonly resident?: () => number | undefined;
}

const mapped = new OwnedCaches<MappedTree>('store_mapped_pages', ({bytes, maxBytes}) => ({bytes, maxBytes}));

/**
 * Returns the resident bytes of all mapped files of this process; undefined where the system does not report them.
 */
export const residentFileBytes = (): number | undefined => {
  try {
    const kilobytes = /^RssFile:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'latin1'))?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) << 10;
  } catch {
    return undefined;
  }
};

/** Members that the types of LMDB's binding do not declare. */
interface TreeInternals {
  readonly status: 'open' | 'closing' | 'closed';
  readonly env: {close(): void};
}

/**
 * Closes a tree without writes in progress, synchronously: its own `close` waits for the promises of earlier writes,
 * and readers must not find the tree closed meanwhile.
 */
export const closeNow = (tree: Tree): void => {
  void tree.close();
  const {status, env} = tree as unknown as TreeInternals;
  if (status !== 'closed') env.close();
};

/**
 * A tree that is reopened from time to time. Reads may use `now` until the end of the turn; writes use the tree that
 * `write` passes to them.
 */
export class MappedTree {
  readonly #parts: MappedTreeParts;
  readonly #ending = new AbortController();
  /** Undefined only after reopening has failed. */
  #tree: Tree | undefined;
  #writing = 0;
  #isDue = false;
  /** The resident bytes of other mapped files, taken when nothing of this one was mapped. */
  #others: number | undefined;
  #openedAt: number;
  #bytes = 0;

  constructor(tree: Tree, parts: MappedTreeParts) {
    const {clock} = parts;
    this.#tree = tree;
    this.#parts = parts;
    this.#openedAt = clock.monotonic();
    this.#others = this.#resident();
    mapped.add(this);
    if (this.#others !== undefined) runEvery(clock, checkMs, this.#ending.signal, () => this.#check());
  }

  /** The resident bytes of the data file at the last check. */
  get bytes(): number {
    return this.#bytes;
  }

  get maxBytes(): number {
    return this.#parts.maxBytes;
  }

  get now(): Tree {
    return (this.#tree ??= this.#parts.open());
  }

  /** Passes the tree to a write, during which it stays open. */
  async write(work: (tree: Tree) => Promise<void>): Promise<void> {
    this.#writing++;
    try {
      await work(this.now);
    } finally {
      this.#writing--;
      this.#reopenIfDue();
    }
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await this.#tree?.close();
  }

  #resident(): number | undefined {
    return (this.#parts.resident ?? residentFileBytes)();
  }

  #check(): void {
    const {clock, maxBytes, restBytes, restMs} = this.#parts;
    this.#bytes = Math.max(0, (this.#resident() ?? 0) - (this.#others ?? 0));
    const most = clock.monotonic() - this.#openedAt < restMs ? maxBytes : restBytes;
    this.#isDue = this.#bytes > most;
    this.#reopenIfDue();
  }

  #reopenIfDue(): void {
    const {clock, isReopenable, open} = this.#parts;
    if (!this.#isDue || this.#writing > 0 || this.#ending.signal.aborted) return;
    this.#isDue = false;
    this.#openedAt = clock.monotonic();
    if (!this.#tree || !isReopenable()) return;
    closeNow(this.#tree);
    this.#tree = undefined;
    this.#others = this.#resident();
    this.#bytes = 0;
    // Otherwise the next read or write tries again.
    guarded(() => void (this.#tree = open()), clock.unhandled);
  }
}
