import type {RecordedObject} from '#src/observe/flight-recorder.js';
import {
  Entry,
  forms,
  headerLength,
  isStateOf,
  isWhole,
  lengthOf,
  writeChecksum,
  writeFields,
  writeHeader,
  type Appended,
  type Form,
  type Header,
  type Records,
} from './entry.js';
import {indexText, KindIndex} from './kind-index.js';
import {StateIndex} from './state-index.js';

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
  /** Returns the records of the objects of a resource. */
  recordsOf(resource: RecordedObject): Records | Promise<Records>;
  /** Removes what it has on disk. */
  drop?(): void;
}

/** What is kept of the state of an object. */
export interface KeptState {
  readonly bytes: Uint8Array;
  /** Where its JSON begins. */
  readonly jsonFrom: number;
  /** Whether its own memory is kept, and no copy. */
  readonly isElsewhere: boolean;
}

/** What a record takes in the indexes of a segment, beside its bytes. */
const indexBytes = 64;

/** Records in memory, appended as bytes: so many of them cost the garbage collector nothing. */
export class MemorySegment implements Segment, Records {
  readonly firstSeq: number;
  readonly #bytes: Buffer;
  #used = 0;
  readonly #offsets: number[] = [];
  readonly #view: DataView;
  /** By position, the states that are those of the store itself. */
  readonly #elsewhere = new Map<number, Uint8Array>();
  #bytesElsewhere = 0;
  /** The records that have the state of an object. */
  readonly #states = new StateIndex();
  readonly #kinds = new KindIndex();
  /** Of records from a file the index is made when it is asked for. */
  #isIndexed = true;

  constructor(firstSeq: number, bytes: Buffer) {
    this.firstSeq = firstSeq;
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  get count(): number {
    return this.#offsets.length;
  }

  get bytes(): number {
    return this.#bytes.length + this.#bytesElsewhere + indexBytes * (this.#offsets.length + 4 * this.#elsewhere.size) + this.#kinds.bytes;
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
    segment.#isIndexed = false;
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

  /** The index of the file that these records are in. */
  index(): string {
    return indexText(this.#indexed(), this.#offsets, this.#used);
  }

  recordsOf(resource: RecordedObject): Records {
    return new RecordsAt(this, this.#indexed().positionsOf(resource));
  }

  #indexed(): KindIndex {
    if (this.#isIndexed) return this.#kinds;
    for (let index = 0; index < this.count; index++) {
      const entry = this.entry(index);
      if (entry.form !== forms.json) this.#kinds.add(entry.kind(), index);
    }
    this.#isIndexed = true;
    return this.#kinds;
  }

  entry(index: number): Entry {
    return new Entry(this, this.#bytes, this.#offsets[index]!, this.firstSeq + index);
  }

  stateOf(object: RecordedObject, revision: number): Entry | undefined {
    // Stores of different resources count for themselves, so that several objects may have a revision.
    const index = this.#states.find(revision, each => isStateOf(this.#bytes, this.#offsets[each]!, object, revision));
    return index === undefined ? undefined : this.entry(index);
  }

  stateElsewhere(index: number): Uint8Array | undefined {
    return this.#elsewhere.get(index);
  }

  /** Whether there is room for so many bytes, and for a state of so many that is elsewhere. */
  hasRoom(bytes: number, elsewhere: number): boolean {
    const {length} = this.#bytes;
    return this.#used + bytes <= length && (this.#bytesElsewhere === 0 || this.#bytesElsewhere + elsewhere <= 2 * length);
  }

  /** Appends a record that is JSON. */
  appendJson(time: number, text: string): void {
    const offset = this.#used;
    const textBytes = this.#bytes.write(text, offset + headerLength);
    this.#end({
      form: forms.json,
      time,
      revision: 0,
      previous: -1,
      length: headerLength + textBytes,
      textBytes,
      jsonFrom: 0,
      isElsewhere: false,
    });
  }

  /** Appends a record of an object, with its state if there is one. */
  appendOf(form: Form, time: number, of: Appended, state: KeptState | undefined): void {
    const {revision, previous = -1} = of;
    const offset = this.#used;
    const stateAt = writeFields(this.#bytes, offset, of);
    const {jsonFrom = 0, isElsewhere = false} = state ?? {};
    let end = stateAt;
    if (state && isElsewhere) {
      this.#elsewhere.set(this.count, state.bytes);
      this.#bytesElsewhere += state.bytes.length;
    } else if (state) {
      this.#bytes.set(state.bytes, stateAt);
      end += state.bytes.length;
    }
    this.#end({form, time, revision, previous, length: end - offset, textBytes: stateAt - offset - headerLength, jsonFrom, isElsewhere});
    this.#kinds.add(of.object, this.count - 1);
    if (state) this.#states.add(revision, this.count - 1);
  }

  #found(): void {
    const offset = this.#used;
    this.#offsets.push(offset);
    this.#used += lengthOf(this.#bytes, offset);
    const entry = this.entry(this.count - 1);
    if (entry.hasState) this.#states.add(entry.revision, this.count - 1);
  }

  #end(header: Header): void {
    writeHeader(this.#view, this.#used, header);
    this.#offsets.push(this.#used);
    this.#used += header.length;
  }
}

/** The records at some positions of a segment. */
class RecordsAt implements Records {
  readonly #all: Records;
  readonly #positions: readonly number[];
  /** What is appended later is not among them. */
  readonly count: number;

  constructor(all: Records, positions: readonly number[]) {
    this.#all = all;
    this.#positions = positions;
    this.count = positions.length;
  }

  get firstSeq(): number {
    return this.#all.firstSeq;
  }

  entry(index: number): Entry {
    return this.#all.entry(this.#positions[index]!);
  }

  stateElsewhere(position: number): Uint8Array | undefined {
    return this.#all.stateElsewhere(position);
  }

  stateOf(object: RecordedObject, revision: number): Entry | undefined {
    return this.#all.stateOf(object, revision);
  }
}

/** The most bytes of a record. */
export const mostBytes = (textLength: number, stateBytes: number): number => headerLength + 3 * textLength + stateBytes;
