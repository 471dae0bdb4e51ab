// The store of the recorder: records in segments, oldest first, of which the oldest are dropped when the bytes reach
// the bound. A record is appended as bytes, in memory as on disk:
//
//     u32 length | u32 length of the text | f64 time | f64 position of the state before, or -1 | text | state
//
// The text is JSON. The state is an object's JSON, which only changes have. A position counts the bytes since the first
// record. The record's number is not stored: segments know that of their first one.

const headerLength = 24;

/** Segments grow to this size; smaller ones at first, since most planes of tests record little. */
const segmentBytes = 1024 * 1024;
const firstSegmentBytes = 64 * 1024;

/** A series of records. */
export interface Segment {
  readonly bytes: Buffer;
  /** The position of its first byte, and the number of its first record. */
  readonly start: number;
  readonly firstSeq: number;
  /** How many bytes are used, and the records in them. */
  used: number;
  count: number;
  /** The objects of which it has states. */
  readonly objects: string[];
}

/** A record, which is decoded as far as it is read. */
export class Entry {
  readonly segment: Segment;
  readonly offset: number;
  readonly seq: number;

  constructor(segment: Segment, offset: number, seq: number) {
    this.segment = segment;
    this.offset = offset;
    this.seq = seq;
  }

  get length(): number {
    return this.segment.bytes.readUInt32LE(this.offset);
  }

  get time(): number {
    return this.segment.bytes.readDoubleLE(this.offset + 8);
  }

  /** The position of the record with the object's state before; -1 if there is none. */
  get previous(): number {
    return this.segment.bytes.readDoubleLE(this.offset + 16);
  }

  get position(): number {
    return this.segment.start + this.offset;
  }

  /** Whether the text contains a part, which costs less than reading it. */
  mentions(part: Buffer): boolean {
    const from = this.offset + headerLength;
    return this.segment.bytes.subarray(from, from + this.#textLength).includes(part);
  }

  text(): unknown {
    const from = this.offset + headerLength;
    return JSON.parse(this.segment.bytes.toString('utf8', from, from + this.#textLength));
  }

  /** The JSON of the state; empty without one. */
  state(): string {
    return this.segment.bytes.toString('utf8', this.offset + headerLength + this.#textLength, this.offset + this.length);
  }

  get #textLength(): number {
    return this.segment.bytes.readUInt32LE(this.offset + 4);
  }
}

/** What one object costs in the index of states, beside its name twice. */
const indexBytes = 100;

export class RecordLog {
  readonly maxBytes: number;
  readonly #segments: Segment[] = [];
  /** The position of the last state of each object. */
  readonly #states = new Map<string, number>();
  #stateBytes = 0;
  #segmentsBytes = 0;
  #nextSeq = 1;
  /** The memory of a dropped segment, for the next one: none is reused while records are read. */
  #spare: Buffer | undefined;
  #readers = 0;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#segmentsBytes + this.#stateBytes;
  }

  get lastSeq(): number {
    return this.#nextSeq - 1;
  }

  get segments(): readonly Segment[] {
    return this.#segments;
  }

  /** Whether the last state of an object is kept. */
  hasState(object: string): boolean {
    return this.#states.has(object);
  }

  /**
   * Appends a record, with the state of an object from byte `stateFrom` on if there is one. A state that would take too
   * large a part of the bound is left out.
   */
  append(time: number, text: string, object?: string, state?: Uint8Array, stateFrom = 0): void {
    const stateBytes = state && state.length - stateFrom <= this.maxBytes / 8 ? state.length - stateFrom : 0;
    // A character takes three bytes at most.
    const most = headerLength + 3 * text.length + stateBytes;
    if (most > this.maxBytes / 4) return;
    const segment = this.#room(most);
    const {bytes, used} = segment;
    const textBytes = bytes.write(text, used + headerLength, 'utf8');
    const length = headerLength + textBytes + stateBytes;
    bytes.writeUInt32LE(length, used);
    bytes.writeUInt32LE(textBytes, used + 4);
    bytes.writeDoubleLE(time, used + 8);
    const previous = object === undefined ? undefined : this.#states.get(object);
    bytes.writeDoubleLE(previous ?? -1, used + 16);
    if (object !== undefined && stateBytes > 0) {
      if (Buffer.isBuffer(state)) state.copy(bytes, used + headerLength + textBytes, stateFrom);
      else bytes.set(state!.subarray(stateFrom), used + headerLength + textBytes);
      this.#noteState(segment, object, segment.start + used, previous !== undefined);
    }
    segment.used += length;
    segment.count++;
    this.#nextSeq++;
  }

  get first(): Entry | undefined {
    for (const entry of this.after(0)) return entry;
    return undefined;
  }

  get last(): Entry | undefined {
    for (const entry of this.before(Infinity)) return entry;
    return undefined;
  }

  /** The records behind `seq`, oldest first. Those that are dropped meanwhile are among them. */
  *after(seq: number): Generator<Entry, void> {
    this.#readers++;
    try {
      for (const segment of this.#segments.slice()) {
        if (segment.firstSeq + segment.count - 1 <= seq) continue;
        let own = segment.firstSeq;
        for (let offset = 0; offset < segment.used; offset += segment.bytes.readUInt32LE(offset), own++)
          if (own > seq) yield new Entry(segment, offset, own);
      }
    } finally {
      this.#readers--;
    }
  }

  /** The records before `seq`, newest first. */
  *before(seq: number): Generator<Entry, void> {
    this.#readers++;
    try {
      for (const segment of this.#segments.toReversed()) {
        if (segment.firstSeq >= seq) continue;
        const offsets: number[] = [];
        for (let offset = 0; offset < segment.used; offset += segment.bytes.readUInt32LE(offset)) offsets.push(offset);
        for (let own = Math.min(offsets.length, seq - segment.firstSeq) - 1; own >= 0; own--)
          yield new Entry(segment, offsets[own]!, segment.firstSeq + own);
      }
    } finally {
      this.#readers--;
    }
  }

  /** The record at a position, if it is kept. Its number is not known. */
  at(position: number): Entry | undefined {
    const segment = position < 0 ? undefined : this.#segments.findLast(({start}) => start <= position);
    return segment && position < segment.start + segment.used ? new Entry(segment, position - segment.start, 0) : undefined;
  }

  #noteState(segment: Segment, object: string, position: number, isKnown: boolean): void {
    if (!isKnown) this.#stateBytes += indexBytes + 2 * object.length;
    this.#states.set(object, position);
    segment.objects.push(object);
    this.#stateBytes += 8;
  }

  #room(length: number): Segment {
    const last = this.#segments.at(-1);
    if (last && last.used + length <= last.bytes.length) return last;
    const size = Math.min(last ? Math.min(segmentBytes, 4 * last.bytes.length) : firstSegmentBytes, this.maxBytes >> 3);
    const segment: Segment = {
      bytes: this.#memory(Math.max(size, length)),
      start: last ? last.start + last.used : 0,
      firstSeq: this.#nextSeq,
      used: 0,
      count: 0,
      objects: [],
    };
    this.#add(segment);
    return segment;
  }

  #memory(length: number): Buffer {
    const spare = this.#spare;
    if (spare?.length !== length) return Buffer.allocUnsafeSlow(length);
    this.#spare = undefined;
    return spare;
  }

  #add(segment: Segment): void {
    this.#segments.push(segment);
    this.#segmentsBytes += segment.bytes.length;
    while (this.bytes > this.maxBytes && this.#segments.length > 1) this.#drop(this.#segments.shift()!);
  }

  #drop(segment: Segment): void {
    this.#segmentsBytes -= segment.bytes.length;
    this.#stateBytes -= 8 * segment.objects.length;
    const end = segment.start + segment.used;
    for (const object of segment.objects) {
      if ((this.#states.get(object) ?? Infinity) >= end || !this.#states.delete(object)) continue;
      this.#stateBytes -= indexBytes + 2 * object.length;
    }
    if (this.#readers === 0 && segment.bytes.length === segmentBytes) this.#spare = segment.bytes;
  }
}
