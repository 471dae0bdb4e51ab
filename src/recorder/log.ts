// The store of the recorder: records in segments, oldest first, of which the oldest are dropped when the bytes reach
// the bound. Each segment stands alone: it has the state of an object before its first change in it.

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
  /** The bytes of all segments but the last. */
  #olderBytes = 0;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#olderBytes + (this.#last?.bytes ?? 0);
  }

  get lastSeq(): number {
    return this.#last ? this.#last.firstSeq + this.#last.count - 1 : 0;
  }

  /** The segments that have records. */
  get segments(): readonly Segment[] {
    return this.#segments.filter(({count}) => count > 0);
  }

  /** Returns the segment to append to, which has room for so many bytes. The oldest are dropped for it. */
  room(bytes: number): MemorySegment {
    if (this.#last?.hasRoom(bytes)) this.#fit(0);
    else this.#begin(bytes);
    return this.#last!;
  }

  #begin(bytes: number): void {
    const size = Math.max(this.#segmentBytes, bytes);
    this.#segmentBytes = Math.min(4 * this.#segmentBytes, largestSegmentBytes, Math.ceil(this.maxBytes / parts));
    this.#fit(size);
    const next = new MemorySegment(this.lastSeq + 1, this.#memory(size));
    this.#spare = undefined;
    this.#olderBytes += this.#last?.bytes ?? 0;
    this.#last = next;
    this.#segments.push(next);
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
    if (this.#readers === 0) this.#spare = segment.memory;
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
