import type {RecordedObject} from '#src/observe/flight-recorder.js';
import {
  Entry,
  forms,
  headerLength,
  isWhole,
  lengthOf,
  writeChecksum,
  writeHeader,
  writeLengths,
  type Appended,
  type Form,
  type Records,
} from './entry.js';

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
  /** Removes what it has on disk. */
  drop?(): void;
}

/** What a record takes in the indexes of a segment, beside its bytes. */
const indexBytes = 64;

/** Records in memory, appended as bytes: so many of them cost the garbage collector nothing. */
export class MemorySegment implements Segment, Records {
  readonly firstSeq: number;
  readonly #bytes: Buffer;
  #used = 0;
  readonly #offsets: number[] = [];
  /** By revision, the records that have the state of an object. */
  readonly #states = new Map<number, number>();
  /** By revision and object, those whose revision another has: stores of different resources count for themselves. */
  readonly #alsoStates = new Map<string, number>();

  constructor(firstSeq: number, bytes: Buffer) {
    this.firstSeq = firstSeq;
    this.#bytes = bytes;
  }

  get count(): number {
    return this.#offsets.length;
  }

  get bytes(): number {
    return this.#bytes.length + indexBytes * (this.#offsets.length + 4 * this.#alsoStates.size);
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

  /** Returns the segment of the whole records that bytes begin with. */
  static of(firstSeq: number, bytes: Buffer): MemorySegment {
    const segment = new MemorySegment(firstSeq, bytes);
    while (isWhole(bytes, segment.#used)) segment.#found();
    return segment;
  }

  /** How many bytes are written. */
  get used(): number {
    return this.#used;
  }

  /** What is written from the offset of a record on, with checksums. */
  sealed(from = 0): Buffer {
    for (let at = from; at < this.#used; at += lengthOf(this.#bytes, at)) writeChecksum(this.#bytes, at);
    return this.#bytes.subarray(from, this.#used);
  }

  entry(index: number): Entry {
    return new Entry(this, this.#bytes, this.#offsets[index]!, this.firstSeq + index);
  }

  stateOf(object: RecordedObject, revision: number): Entry | undefined {
    const first = this.#entryAt(this.#states.get(revision));
    if (!first || isSame(first.report().object, object)) return first;
    return this.#entryAt(this.#alsoStates.get(stateKey(object, revision)));
  }

  #entryAt(index: number | undefined): Entry | undefined {
    return index === undefined ? undefined : this.entry(index);
  }

  #noteState(revision: number, object: RecordedObject): void {
    const index = this.count - 1;
    if (this.#states.has(revision)) this.#alsoStates.set(stateKey(object, revision), index);
    else this.#states.set(revision, index);
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
    if (state) this.#noteState(of.revision, of.object);
  }

  #found(): void {
    const offset = this.#used;
    this.#offsets.push(offset);
    this.#used += lengthOf(this.#bytes, offset);
    const entry = this.entry(this.count - 1);
    if (entry.hasState) this.#noteState(entry.revision, entry.report().object!);
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

const stateKey = ({group, resource, namespace = '', name = '', uid = ''}: RecordedObject, revision: number): string =>
  `${revision}/${group}/${resource}/${namespace}/${name}/${uid}`;

const isSame = (one: RecordedObject | undefined, other: RecordedObject): boolean =>
  one !== undefined &&
  one.uid === other.uid &&
  one.name === other.name &&
  one.namespace === other.namespace &&
  one.resource === other.resource &&
  one.group === other.group;
