// The store of the recorder: records in segments, oldest first, of which the oldest are dropped when the bytes reach
// the bound. Each segment stands alone: it has the state of an object before its first change in it.

import type {RecordFolder} from './folder.js';
import {MemorySegment, type Segment} from './segment.js';

/**
 * Segments grow to this size, or this part of the bound; smaller ones at first, since most planes of tests record
 * little.
 */
const largestSegmentBytes = 4 * 1024 * 1024;
const firstSegmentBytes = 64 * 1024;
const parts = 16;
/** For the indexes of what is appended next. */
const spareBytes = 1024;

export class RecordLog {
  readonly maxBytes: number;
  readonly #segments: Segment[] = [];
  #last: MemorySegment | undefined;
  #segmentBytes = firstSegmentBytes;
  /** The memory of a dropped segment, for the next one: none is reused while records are read. */
  #spare: Buffer | undefined;
  #readers = 0;
  #lookedAt = 0;
  /** The bytes of all segments but the last. */
  #olderBytes = 0;

  readonly #folder: RecordFolder | undefined;

  constructor(maxBytes: number, folder?: RecordFolder) {
    this.maxBytes = maxBytes;
    this.#folder = folder;
    this.#segments.push(...(folder?.found ?? []));
    this.#olderBytes = this.#segments.reduce((sum, {bytes}) => sum + bytes, 0);
    this.#fit(0);
  }

  get bytes(): number {
    return this.#olderBytes + (this.#last?.bytes ?? 0);
  }

  /** How many records were looked at to answer requests. */
  get lookedAt(): number {
    return this.#lookedAt;
  }

  looked(count: number): void {
    this.#lookedAt += count;
  }

  get lastSeq(): number {
    const last = this.#segments.at(-1);
    return last ? last.firstSeq + last.count - 1 : 0;
  }

  /** The segments that have records. */
  get segments(): readonly Segment[] {
    return this.#segments.filter(({count}) => count > 0);
  }

  /**
   * Returns the segment to append to, which has room for so many bytes, and for a state of so many that stay elsewhere.
   * The oldest are dropped for it.
   */
  room(bytes: number, elsewhere = 0): MemorySegment {
    if (this.#last?.hasRoom(bytes, elsewhere)) this.#fit(elsewhere);
    else this.#begin(bytes, elsewhere);
    return this.#last!;
  }

  #begin(bytes: number, elsewhere: number): void {
    const size = Math.max(this.#segmentBytes, bytes);
    this.#segmentBytes = Math.min(4 * this.#segmentBytes, largestSegmentBytes, Math.ceil(this.maxBytes / parts));
    this.#fit(size + elsewhere);
    const next = new MemorySegment(this.lastSeq + 1, this.#memory(size));
    this.#spare = undefined;
    this.#olderBytes += this.#last?.bytes ?? 0;
    this.#last = next;
    this.#segments.push(next);
    this.#folder?.begin(this, next);
  }

  #fit(added: number): void {
    while (this.bytes + added > this.maxBytes - spareBytes && this.#segments.length > 1) this.#drop(this.#segments.shift()!);
  }

  #memory(size: number): Buffer {
    const spare = this.#spare;
    return spare?.length === size ? spare : Buffer.allocUnsafeSlow(size);
  }

  #drop(segment: Segment): void {
    this.#olderBytes -= segment.bytes;
    segment.drop?.();
    // What is still written is not reused.
    if (this.#readers === 0 && !this.#folder) this.#spare = segment.memory;
  }

  /** Puts the file of a segment in its place. Returns false if it is no longer kept. */
  replace(segment: Segment, file: Segment): boolean {
    const index = this.#segments.indexOf(segment);
    if (index === -1) return false;
    this.#segments[index] = file;
    this.#olderBytes += file.bytes - segment.bytes;
    return true;
  }

  /** Keeps the memory of records while they are read, until the returned handle is disposed. */
  reading(): Disposable {
    this.#readers++;
    return {[Symbol.dispose]: () => void this.#readers--};
  }

  /** The segments with records behind `seq`, oldest first. Those that are dropped meanwhile are among them. */
  after(seq: number): readonly Segment[] {
    return this.#segments.filter(({firstSeq, count}) => firstSeq + count - 1 > seq);
  }

  /** The segments with records before `seq`, newest first. */
  before(seq: number): readonly Segment[] {
    return this.#segments.filter(({firstSeq, count}) => count > 0 && firstSeq < seq).toReversed();
  }
}
