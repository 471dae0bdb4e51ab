// The store of the recorder: records in segments, oldest first, of which the oldest are dropped when the bytes reach
// the bound. Each segment stands alone: it has the state of an object before its first change in it.

import type {Segment} from './entry.js';
import {MemorySegment} from './memory-segment.js';

/** A segment takes at most this part of the bound, and as many bytes. */
const parts = 16;
const largestSegmentBytes = 4 * 1024 * 1024;

export class RecordLog {
  readonly maxBytes: number;
  readonly #segmentBytes: number;
  readonly #segments: Segment[] = [];
  #last: MemorySegment;
  /** The bytes of all segments but the last. */
  #olderBytes = 0;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
    this.#segmentBytes = Math.min(largestSegmentBytes, Math.ceil(maxBytes / parts));
    this.#last = new MemorySegment(1, this.#segmentBytes);
    this.#segments.push(this.#last);
  }

  get bytes(): number {
    return this.#olderBytes + this.#last.bytes;
  }

  get lastSeq(): number {
    return this.#last.firstSeq + this.#last.count - 1;
  }

  get segments(): readonly Segment[] {
    return this.#segments;
  }

  /** The first and the last segment that have records. */
  get first(): Segment | undefined {
    return this.#segments.find(({count}) => count > 0);
  }

  get last(): Segment | undefined {
    return this.#segments.findLast(({count}) => count > 0);
  }

  /** The segment that records are appended to, after which `fit` is called. */
  open(): MemorySegment {
    if (this.#last.bytes < this.#segmentBytes) return this.#last;
    this.#olderBytes += this.#last.bytes;
    this.#last = new MemorySegment(this.lastSeq + 1, this.#segmentBytes);
    this.#segments.push(this.#last);
    return this.#last;
  }

  /** Drops the oldest segments beyond the bound. */
  fit(): void {
    while (this.bytes > this.maxBytes && this.#segments.length > 1) this.#olderBytes -= this.#segments.shift()!.bytes;
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
