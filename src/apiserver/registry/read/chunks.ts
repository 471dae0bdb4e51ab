// Range reads in chunks, so that a large collection is neither held in memory nor read in one turn of the event loop.
// All chunks are of the revision of the first one.

import {withClockHeld} from '#src/base/clock.js';
import {FairYielder} from '#src/base/turn.js';
import type {RecordFilter, StoredRecord} from '#src/storage/store.js';
import {keyAfter} from './continue-token.js';
import {recordFilterOf, type Filter} from './filter.js';
import type {PageRecords} from './page-records.js';
import type {Resource} from '#src/apiserver/registry/resource.js';

/** A read of a range of keys: at most `limit` records (0: all) that match the filter. */
export interface RangeRead {
  readonly start: string;
  readonly end: string;
  readonly limit: number;
  /** The exact revision; undefined: the newest. */
  readonly revision: number | undefined;
  readonly filter: Filter;
  /** The size of a chunk. */
  readonly bytes: number;
  /** Throws when the request has ended. */
  readonly check?: (() => void) | undefined;
  /** Whether the watch cache may serve the read, which can be behind the store. */
  readonly near?: boolean;
  /** The user for whom it is read: the reads of several users take turns. */
  readonly flow?: string | undefined;
}

/**
 * Records of one revision that matched the filter, possibly none. `next` is the key at which the rest of the range
 * begins, if there is any.
 */
export interface Chunk {
  readonly records: readonly StoredRecord[];
  readonly revision: number;
  readonly next: string | undefined;
}

/** Returns the chunks of a range at one revision, each read in an event loop turn of its own. */
export const readChunks = (resource: Resource, read: RangeRead): AsyncIterableIterator<Chunk, undefined> => new ChunkReader(resource, read);

/** Not a generator, since a generator keeps the chunk it yielded last in memory while its consumer stalls. */
class ChunkReader implements AsyncIterableIterator<Chunk, undefined> {
  readonly #resource: Resource;
  readonly #read: RangeRead;
  readonly #recordFilter: RecordFilter | undefined;
  readonly #turns: FairYielder;
  #next: string | undefined;
  #remaining: number;
  #revision: number | undefined;
  #isStarted = false;

  constructor(resource: Resource, read: RangeRead) {
    this.#resource = resource;
    this.#read = read;
    this.#recordFilter = recordFilterOf(resource, read.filter);
    this.#turns = new FairYielder(resource.settings.clock);
    this.#next = read.start;
    this.#remaining = read.limit || Infinity;
    this.#revision = read.revision;
  }

  async next(): Promise<IteratorResult<Chunk, undefined>> {
    const {store, clock} = this.#resource.settings;
    const {end, bytes, check, near = false, flow = ''} = this.#read;
    if (this.#next === undefined) return {done: true, value: undefined};
    const turn = this.#isStarted ? this.#turns.next(flow) : this.#turns.pause(flow);
    if (turn) await withClockHeld(clock, () => turn);
    this.#isStarted = true;
    check?.();
    const [left, revision] = [this.#remaining, this.#revision];
    const range = await store.range({
      start: this.#next,
      end,
      bytes,
      filter: this.#recordFilter,
      near,
      ...(left === Infinity ? {} : {limit: left}),
      ...(revision === undefined ? {} : {revision}),
    });
    const {records} = range;
    this.#revision = range.revision;
    this.#remaining -= records.length;
    const next = range.more ? keyAfter(range.reached ?? records.at(-1)!.key) : undefined;
    this.#next = this.#remaining === 0 ? undefined : next;
    return {done: false, value: {records, revision: range.revision, next}};
  }

  async return(): Promise<IteratorResult<Chunk, undefined>> {
    this.#next = undefined;
    return {done: true, value: undefined};
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

/** Returns a function that returns a promise to await before more of a read, if requests have worked long enough. */
export const turnsOf = ({settings: {clock}}: Resource, {flow = '', check}: RangeRead): (() => Promise<void> | undefined) => {
  const turns = new FairYielder(clock);
  return () => {
    const turn = turns.pause(flow);
    return turn && withClockHeld(clock, () => turn).then(check);
  };
};

/** Records that were read before, of which the first piece was taken. */
interface KeptRecords {
  readonly first: readonly StoredRecord[] | undefined;
  readonly kept: PageRecords;
  pause(): Promise<void> | undefined;
}

/** The records of chunks that are not empty, after those that were read before. */
export class RecordChunks implements AsyncIterableIterator<readonly StoredRecord[], undefined> {
  readonly #before: KeptRecords;
  #next: readonly StoredRecord[] | undefined;
  #rest: AsyncIterator<Chunk, undefined> | undefined;

  constructor(before: KeptRecords, rest: AsyncIterator<Chunk, undefined> | undefined) {
    this.#before = before;
    this.#next = before.first;
    this.#rest = rest;
  }

  async next(): Promise<IteratorResult<readonly StoredRecord[], undefined>> {
    const value = this.#next;
    if (value) {
      this.#next = undefined;
      if (value.length > 0) return {done: false, value};
    }
    const piece = this.#before.kept.take();
    if (piece) {
      await this.#before.pause();
      return {done: false, value: piece};
    }
    for (;;) {
      const chunk = (await this.#rest?.next())?.value;
      if (!chunk) return {done: true, value: undefined};
      if (chunk.records.length > 0) return {done: false, value: chunk.records};
    }
  }

  async return(): Promise<IteratorResult<readonly StoredRecord[], undefined>> {
    this.#next = undefined;
    this.#before.kept[Symbol.dispose]();
    this.#rest = undefined;
    return {done: true, value: undefined};
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
