import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {EngineChange} from '#src/storage/local/engine.js';
import {HistoryBound} from './history-bound.js';
import {changeLength, encodeNumber, metaKeys, tables} from './layout.js';
import type {RecordTree} from './record-tree.js';
import type {TreeWriter} from './tree-writer.js';
import type {Writes} from './writes.js';

/** How many changes one commit of a compaction examines. */
const sweepBatch = 500;

interface CompactionParts {
  readonly clock: Clock;
  readonly log: Log;
  /** The bound on the bytes of history; zero for none. */
  readonly historyBytes: number;
  /** Returns the newest visible revision. */
  revision(): number;
}

/**
 * Removes history on request and when it exceeds its bound. The compacted revision is recorded first; the superseded
 * changes are then removed in commits of bounded size.
 */
export class Compaction {
  readonly #records: RecordTree;
  readonly #writer: TreeWriter;
  readonly #bound: HistoryBound;
  #sweeping: Promise<void> = Promise.resolve();
  #compacting: Promise<void> = Promise.resolve();
  #closing = false;

  constructor(records: RecordTree, writer: TreeWriter, {clock, log, historyBytes, revision}: CompactionParts) {
    this.#records = records;
    this.#writer = writer;
    this.#bound = new HistoryBound(
      {
        revision,
        compacted: () => records.compacted,
        freedAt: at => this.#freedAt(at),
        sweep: () => this.#swept(),
        compact: upTo => this.compact(upTo),
      },
      {clock, log, maxBytes: historyBytes, swept: records.meta(metaKeys.swept)},
    );
  }

  /** Called after changes became durable. */
  committed(changes: readonly EngineChange[]): void {
    const [first, last] = [changes[0], changes.at(-1)];
    if (!first || !last || changes.some(({damage}) => damage)) return this.#bound.changed();
    let freed = 0;
    for (const {key, record, previous} of changes) {
      if (!record) freed += changeLength(key, undefined);
      if (previous) freed += changeLength(key, previous);
    }
    this.#bound.committed({from: first.revision, to: last.revision}, freed);
  }

  async close(): Promise<void> {
    this.#closing = true;
    await this.#bound.close();
    await this.#compacting;
    await this.#sweeping;
  }

  /** Resolves once the superseded changes up to a revision are removed. */
  compact(revision: number): Promise<void> {
    const done = this.#compacting.then(() => this.#compact(revision));
    this.#compacting = done.catch(() => {});
    return done;
  }

  async #compact(revision: number): Promise<void> {
    if (revision <= this.#records.compacted) return;
    const writes = this.#writer.begin();
    writes.put(metaKeys.compacted, encodeNumber(metaKeys.compacted, revision));
    await this.#writer.commit(writes);
    this.#records.compacted = revision;
    await this.#swept();
  }

  /** Resumes the unfinished sweep of an earlier process and starts to count the history. */
  resume(): void {
    void this.#swept().catch(() => {}); // The next compaction continues the sweep.
    this.#bound.begin();
  }

  /** Removes the changes that compaction superseded, those that an earlier process did not reach included. */
  #swept(): Promise<void> {
    const swept = this.#sweeping.then(() => this.#sweep());
    this.#sweeping = swept.catch(() => {});
    return swept;
  }

  async #sweep(): Promise<void> {
    for (let swept = this.#records.meta(metaKeys.swept); swept < this.#records.compacted && !this.#closing;) {
      const upTo = Math.min(this.#records.compacted, swept + sweepBatch);
      const writes = this.#writer.begin();
      for (let revision = swept + 1; revision <= upTo; revision++) this.#forget(writes, revision);
      writes.put(metaKeys.swept, encodeNumber(metaKeys.swept, upTo));
      const freed = this.#bound.take(swept, upTo);
      try {
        await this.#writer.commit(writes);
      } catch (error) {
        this.#bound.giveBack(freed);
        throw error;
      }
      swept = upTo;
    }
  }

  #forget(writes: Writes, revision: number): void {
    const head = this.#records.change(revision)?.head;
    if (!head) return;
    const {key, isDeletion, previous} = head;
    if (previous !== 0) writes.remove(previous);
    if (!isDeletion) return;
    const gone = tables.gone + key;
    writes.remove(revision);
    if (this.#records.revisionAt(gone) === revision) writes.remove(gone);
  }

  /** The bytes that `#forget` removes. */
  #freedAt(revision: number): number {
    const change = this.#records.change(revision);
    if (!change?.head) return 0;
    const {isDeletion, previous} = change.head;
    const own = isDeletion ? change.bytes.length : 0;
    const superseded = previous === 0 ? undefined : this.#records.change(previous);
    // A deletion frees itself.
    return own + (superseded && superseded.head?.isDeletion !== true ? superseded.bytes.length : 0);
  }
}
