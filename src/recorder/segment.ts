import type {RecordedObject} from '#src/observe/flight-recorder.js';
import {Entry, forms, headerLength, writeHeader, writeLengths, type Appended, type Form, type Records} from './entry.js';

/** A series of records that follow each other. */
export interface Segment {
  /** The number and the time of its first record. */
  readonly firstSeq: number;
  readonly firstTime: number;
  /** The time of its last record. */
  readonly lastTime: number;
  readonly count: number;
  /** What counts towards the bound. */
  readonly bytes: number;
  /** The memory that it has for itself. */
  readonly memory?: Buffer;
  read(): Records | Promise<Records>;
}

/** What a record takes in the indexes of a segment, beside its bytes. */
const indexBytes = 64;

/** Records in memory, appended as bytes: so many of them cost the garbage collector nothing. */
export class MemorySegment implements Segment, Records {
  readonly firstSeq: number;
  readonly #bytes: Buffer;
  #used = 0;
  readonly #offsets: number[] = [];
  /** By revision, the records that have the state of an object. Stores of different resources may use the same. */
  readonly #states = new Map<number, number>();

  constructor(firstSeq: number, bytes: Buffer) {
    this.firstSeq = firstSeq;
    this.#bytes = bytes;
  }

  get count(): number {
    return this.#offsets.length;
  }

  get bytes(): number {
    return this.#bytes.length + indexBytes * this.#offsets.length;
  }

  get memory(): Buffer {
    return this.#bytes;
  }

  get firstTime(): number {
    return this.entry(0).time;
  }

  get lastTime(): number {
    return this.entry(this.count - 1).time;
  }

  read(): this {
    return this;
  }

  /** What is written, from an offset on. */
  written(from = 0): Buffer {
    return this.#bytes.subarray(from, this.#used);
  }

  entry(index: number): Entry {
    return new Entry(this, this.#bytes, this.#offsets[index]!, this.firstSeq + index);
  }

  stateOf(object: RecordedObject, revision: number): Entry | undefined {
    const index = this.#states.get(revision);
    if (index === undefined) return undefined;
    const entry = this.entry(index);
    return isSame(entry.report().object, object) ? entry : undefined;
  }

  hasRoom(bytes: number): boolean {
    return this.#used + bytes <= this.#bytes.length;
  }

  /** Appends a record that is JSON. */
  appendJson(time: number, text: string): void {
    this.#append(forms.json, time, 0, -1, text, undefined, 0);
  }

  /** Appends a record of an object with its text, and its state from a byte on if there is one. */
  appendOf(form: Form, time: number, of: Appended, text: string, state: Uint8Array | undefined, from: number): void {
    const offset = this.#used;
    this.#append(form, time, of.revision, of.previous ?? -1, text, state, from);
    writeLengths(this.#bytes, offset, of);
    if (state) this.#states.set(of.revision, this.#offsets.length - 1);
  }

  #append(form: Form, time: number, revision: number, previous: number, text: string, state: Uint8Array | undefined, from: number): void {
    const bytes = this.#bytes;
    const offset = this.#used;
    const textBytes = bytes.write(text, offset + headerLength);
    let end = offset + headerLength + textBytes;
    if (state) {
      if (Buffer.isBuffer(state)) state.copy(bytes, end, from);
      else bytes.set(state.subarray(from), end);
      end += state.length - from;
    }
    writeHeader(bytes, offset, {form, time, revision, previous, length: end - offset, textBytes});
    this.#offsets.push(offset);
    this.#used = end;
  }
}

/** The most bytes of a record. */
export const mostBytes = (textLength: number, stateBytes: number): number => headerLength + 3 * textLength + stateBytes;

const isSame = (one: RecordedObject | undefined, other: RecordedObject): boolean =>
  one !== undefined &&
  one.uid === other.uid &&
  one.name === other.name &&
  one.namespace === other.namespace &&
  one.resource === other.resource &&
  one.group === other.group;
