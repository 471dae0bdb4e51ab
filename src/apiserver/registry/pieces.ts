import {held} from '#src/base/clock.js';
import {ownTurn} from '#src/base/turn.js';
import type {RecordFilter, StoredRecord} from '#src/storage/store.js';
import {behind} from './continue-token.js';
import {recordFilterOf, type Filter} from './filter.js';
import type {Resource} from './registry.js';

/** What is read of a collection: at most `limit` records (0: all) that pass the filter. */
export interface Reading {
  readonly start: string;
  readonly end: string;
  readonly limit: number;
  /** The exact revision; the newest unless given. */
  readonly revision: number | undefined;
  readonly filter: Filter;
  /** How much is read at a time. */
  readonly bytes: number;
  /** Throws when nobody waits for the objects any more. */
  readonly check?: (() => void) | undefined;
  /** Whether what lies at hand will do. */
  readonly near?: boolean;
}

/** Records that passed the filter, of a revision. `next` is where the rest of the collection begins, if there is any. */
export interface Piece {
  readonly records: readonly StoredRecord[];
  readonly revision: number;
  readonly next: string | undefined;
}

/** Reads a collection piece by piece at one revision, each in a turn of its own. What is told may be empty. */
export const piecesOf = (resource: Resource, reading: Reading): AsyncIterableIterator<Piece, undefined> => new PieceReader(resource, reading);

/** No generator, which would keep the piece it told last: readers who stall are many. */
class PieceReader implements AsyncIterableIterator<Piece, undefined> {
  readonly #resource: Resource;
  readonly #reading: Reading;
  readonly #recordFilter: RecordFilter | undefined;
  #from: string | undefined;
  #left: number;
  #revision: number | undefined;
  #hasBegun = false;

  constructor(resource: Resource, reading: Reading) {
    this.#resource = resource;
    this.#reading = reading;
    this.#recordFilter = recordFilterOf(resource, reading.filter);
    this.#from = reading.start;
    this.#left = reading.limit || Infinity;
    this.#revision = reading.revision;
  }

  async next(): Promise<IteratorResult<Piece, undefined>> {
    const {store, clock} = this.#resource.settings;
    const {end, bytes, check, near = false} = this.#reading;
    if (this.#from === undefined) return {done: true, value: undefined};
    if (this.#hasBegun) await held(clock, ownTurn);
    this.#hasBegun = true;
    check?.();
    const [left, revision] = [this.#left, this.#revision];
    const range = await store.range({start: this.#from, end, bytes, filter: this.#recordFilter, near, ...(left === Infinity ? {} : {limit: left}), ...(revision === undefined ? {} : {revision})});
    const {records} = range;
    this.#revision = range.revision;
    this.#left -= records.length;
    const next = range.more ? behind(range.reached ?? records.at(-1)!.key) : undefined;
    this.#from = this.#left === 0 ? undefined : next;
    return {done: false, value: {records, revision: range.revision, next}};
  }

  async return(): Promise<IteratorResult<Piece, undefined>> {
    this.#from = undefined;
    return {done: true, value: undefined};
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

/** The records of pieces that hold any, behind those that were read before. */
export class RecordPieces implements AsyncIterableIterator<readonly StoredRecord[], undefined> {
  #begun: readonly StoredRecord[];
  #rest: AsyncIterator<Piece, undefined> | undefined;

  constructor(begun: readonly StoredRecord[], rest: AsyncIterator<Piece, undefined> | undefined) {
    this.#begun = begun;
    this.#rest = rest;
  }

  async next(): Promise<IteratorResult<readonly StoredRecord[], undefined>> {
    const begun = this.#begun;
    this.#begun = [];
    if (begun.length > 0) return {done: false, value: begun};
    for (;;) {
      const piece = (await this.#rest?.next())?.value;
      if (!piece) return {done: true, value: undefined};
      if (piece.records.length > 0) return {done: false, value: piece.records};
    }
  }

  async return(): Promise<IteratorResult<readonly StoredRecord[], undefined>> {
    this.#begun = [];
    this.#rest = undefined;
    return {done: true, value: undefined};
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
