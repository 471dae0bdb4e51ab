import {OwnedCaches} from '#src/base/cache-bound.js';
import {sizeOfChange, type History, type StorageEngine} from './engine.js';

/**
 * The bytes of records after which a piece ends. A watcher holds one piece, and waits until its consumer has taken it.
 */
const pieceBytes = 512 << 10;
/** How many revisions a piece covers at most. */
const scanned = 256;
/** The approximate size of a change beside its values, in bytes. */
const changeBytes = 200;
/** The bytes of all pieces that are kept for other watchers. */
const maxBytes = 16 << 20;

const caches = new OwnedCaches<HistoryPieces>('store_history_pieces', ({bytes}) => ({bytes, maxBytes: maxBytes + (1 << 20)}));

interface Piece {
  readonly history: History;
  readonly bytes: number;
}

interface KeyRange {
  readonly start: string;
  readonly end: string;
}

/**
 * Reads history in pieces for watches that resume. Watches of one range share the pieces: after an interruption many
 * clients resume from about the same revision. Their changes are then decoded once, and encoded once.
 */
export class HistoryPieces {
  readonly #engine: StorageEngine;
  /** By range and the revision after which they begin, the most recently used last. */
  readonly #pieces = new Map<string, Piece>();
  #bytes = 0;

  constructor(engine: StorageEngine) {
    this.#engine = engine;
    caches.add(this);
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Returns the changes of a range after a revision, up to another one or the end of a piece. Pieces end at few
   * revisions, so that watches meet at their beginnings.
   */
  read({start, end}: KeyRange, after: number, upTo: number): History {
    const name = `${after}\0${start}\0${end}`;
    const known = this.#pieces.get(name);
    if (known) {
      this.#pieces.delete(name);
      this.#pieces.set(name, known);
      return known.history;
    }
    const history = this.#engine.history({start, end, after, upTo, scan: scanned - (after % scanned), bytes: pieceBytes});
    if (history.changes.length > 0) this.#keep(name, history);
    return history;
  }

  clear(): void {
    this.#pieces.clear();
    this.#bytes = 0;
  }

  #keep(name: string, history: History): void {
    let bytes = 0;
    for (const change of history.changes) bytes += changeBytes + sizeOfChange(change);
    this.#pieces.set(name, {history, bytes});
    this.#bytes += bytes;
    for (const [oldest, piece] of this.#pieces) {
      if (this.#bytes <= maxBytes) break;
      this.#pieces.delete(oldest);
      this.#bytes -= piece.bytes;
    }
  }
}
