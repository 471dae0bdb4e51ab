import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {Yielder} from '#src/base/turn.js';
import {StoreFull} from '#src/storage/errors.js';

/** The part of an engine that bounding its history needs. */
export interface BoundedHistory {
  revision(): number;
  compacted(): number;
  /** The bytes that compaction frees at a revision. */
  freedAt(revision: number): number;
  /** Resolves once all superseded changes are removed. */
  sweep(): Promise<void>;
  compact(revision: number): Promise<void>;
}

interface BoundParts {
  readonly clock: Clock;
  readonly log: Log;
  /** Zero means no bound. */
  readonly maxBytes: number;
  /** The revision up to which an earlier process has swept. */
  readonly swept: number;
}

/** More changes than that are counted only so long after a start, which other work goes first in. */
const few = 1000;
const restMs = 10_000;

/** A compaction frees this fraction of the bound more than necessary, so that not every write triggers one. */
const slack = 1 / 64;

/**
 * Compacts the oldest revisions early when the records that only history needs exceed a bound in bytes. They are
 * counted after each commit, and some time after a start in the background. The newest record of a key does not count,
 * since compaction cannot free it.
 */
export class HistoryBound {
  readonly #history: BoundedHistory;
  readonly #parts: BoundParts;
  /** The bytes freed by compaction up to `#counted`. */
  #bytes = 0;
  #counted: number;
  #isRunning = false;
  /** The rest after a start, until it has passed. */
  #rest: Disposable | undefined;
  #done: Promise<void> = Promise.resolve();
  #closing = false;

  constructor(history: BoundedHistory, parts: BoundParts) {
    this.#history = history;
    this.#parts = parts;
    this.#counted = parts.swept;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Called after a start. */
  begin(): void {
    if (this.#history.revision() - this.#counted <= few) return this.changed();
    this.#rest = this.#parts.clock.schedule(restMs, () => {
      this.#rest = undefined;
      this.changed();
    });
  }

  /** Called after changes became durable. */
  changed(): void {
    if (this.#isRunning || this.#rest || this.#closing || this.#parts.maxBytes === 0) return;
    this.#isRunning = true;
    this.#done = this.#run();
  }

  /**
   * Called after a commit, with the bytes that compaction would free at its revisions, which need not be read again to
   * be counted.
   */
  committed({from, to}: {readonly from: number; readonly to: number}, bytes: number): void {
    if (this.#isRunning || this.#counted !== from - 1) return this.changed();
    this.#counted = to;
    this.#bytes += bytes;
    if (this.#bytes > this.#parts.maxBytes) this.changed();
  }

  /** Subtracts the bytes that a sweep is about to free. Returns them, to be added again if the sweep fails. */
  take(after: number, upTo: number): number {
    if (this.#parts.maxBytes === 0) return 0;
    let freed = 0;
    for (let revision = after + 1; revision <= upTo; revision++) {
      const bytes = this.#history.freedAt(revision);
      freed += bytes;
      if (revision <= this.#counted) continue;
      this.#counted = revision;
      this.#bytes += bytes;
    }
    this.#bytes -= freed;
    return freed;
  }

  giveBack(bytes: number): void {
    this.#bytes += bytes;
  }

  async close(): Promise<void> {
    this.#closing = true;
    this.#rest?.[Symbol.dispose]();
    await this.#done;
  }

  async #run(): Promise<void> {
    const {clock, log, maxBytes} = this.#parts;
    using _ = clock.hold();
    try {
      const pieces = new Yielder(clock);
      if (this.#bytes > maxBytes && this.#counted >= this.#history.revision()) await this.#shrink(pieces);
      while (this.#counted < this.#history.revision() && !this.#closing) {
        const paused = pieces.pause();
        if (paused) await paused;
        // Meanwhile a sweep may have counted further.
        if (this.#counted < this.#history.revision()) this.#bytes += this.#history.freedAt(++this.#counted);
        if (this.#bytes > maxBytes && this.#counted >= this.#history.revision()) await this.#shrink(pieces);
      }
    } catch (error) {
      // The engine reports a full disk itself.
      if (!this.#closing && !(error instanceof StoreFull))
        log.error({err: error}, `history could not be kept within its bound: ${messageOf(error)}`);
    } finally {
      this.#isRunning = false;
    }
  }

  async #shrink(pieces: Yielder): Promise<void> {
    await this.#history.sweep();
    const {maxBytes} = this.#parts;
    const goal = this.#bytes - maxBytes * (1 - slack);
    if (this.#bytes <= maxBytes) return;
    let target = this.#history.compacted();
    for (let freed = 0; freed < goal && target < this.#counted && !this.#closing;) {
      const paused = pieces.pause();
      if (paused) await paused;
      freed += this.#history.freedAt(++target);
    }
    if (!this.#closing) await this.#history.compact(target);
  }
}
