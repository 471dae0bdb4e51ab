// Records in memory. A change is kept as the report itself and the bytes of the object's state, so that a write costs
// one small object: text and differences are made when they are read. A state that has its memory for itself is kept as
// it is; one that shares it, as small buffers of Node.js do, is copied, since it would keep the memory around it.

import type {RecordedObject} from '#src/observe/flight-recorder.js';
import type {Entry, Kept, KeptInMemory, Segment, StateNote} from './entry.js';

/** What an entry takes beside its texts and its state, and what its place in the index of states does. */
const entryBytes = 440;
const indexBytes = 120;

const firstChunkBytes = 16 * 1024;
const largestChunkBytes = 256 * 1024;

const none = Buffer.alloc(0);

class MemoryEntry implements Entry {
  readonly seq: number;
  readonly time: number;
  readonly previous: MemoryEntry | undefined;
  readonly kept: KeptInMemory;
  /** The memory that the state is in, and its place there. */
  readonly memory: Uint8Array;
  readonly from: number;
  readonly to: number;

  constructor(
    seq: number,
    time: number,
    kept: KeptInMemory,
    previous: MemoryEntry | undefined,
    memory: Uint8Array,
    from: number,
    to: number,
  ) {
    this.seq = seq;
    this.time = time;
    this.kept = kept;
    this.previous = previous;
    this.memory = memory;
    this.from = from;
    this.to = to;
  }

  get text(): string | undefined {
    return typeof this.kept === 'string' ? this.kept : undefined;
  }

  get report(): Kept | StateNote {
    return typeof this.kept === 'string' ? (JSON.parse(this.kept) as Kept) : this.kept;
  }

  get stateBytes(): number {
    return this.to - this.from;
  }

  state(): string {
    return Buffer.from(this.memory.buffer, this.memory.byteOffset + this.from, this.stateBytes).toString();
  }
}

/** The key of an object in the index of states. */
const stateKey = ({uid, group, resource, namespace = '', name = ''}: RecordedObject): string =>
  uid ?? `${group}/${resource}/${namespace}/${name}`;

const ownMemoryOf = (state: Uint8Array, from: number, to: number): Buffer => {
  const own = Buffer.allocUnsafeSlow(to - from);
  own.set(state.subarray(from, to));
  return own;
};

/** Records in memory that are appended to. The last state of each object in it is found. */
export class MemorySegment implements Segment {
  readonly firstSeq: number;
  readonly #entries: MemoryEntry[] = [];
  readonly #states = new Map<string, MemoryEntry>();
  readonly #largestChunk: number;
  #chunk: Buffer = none;
  #used = 0;
  #bytes = 0;

  /** Its states are copied into pieces of memory that are at most a quarter of `bytes`. */
  constructor(firstSeq: number, bytes: number) {
    this.firstSeq = firstSeq;
    this.#largestChunk = Math.min(largestChunkBytes, bytes >> 2);
  }

  get bytes(): number {
    return this.#bytes;
  }

  get count(): number {
    return this.#entries.length;
  }

  get firstTime(): number {
    return this.#entries[0]?.time ?? 0;
  }

  get lastTime(): number {
    return this.#entries.at(-1)?.time ?? 0;
  }

  entries(): readonly MemoryEntry[] {
    return this.#entries;
  }

  /** Whether it has a state of an object. */
  hasState(object: RecordedObject): boolean {
    return this.#states.has(stateKey(object));
  }

  /** Appends a record without a state. */
  append(time: number, kept: KeptInMemory): void {
    this.#add(time, kept, undefined, none, 0, 0);
    this.#bytes += typeof kept === 'string' ? 2 * kept.length : 0;
  }

  /** Appends a record with what it left of an object, from a byte on; absent if nothing of it is kept. */
  appendState(time: number, kept: KeptInMemory, object: RecordedObject, state: Uint8Array | undefined, from: number): void {
    const key = stateKey(object);
    const previous = this.#states.get(key);
    const entry = state ? this.#addState(time, kept, previous, state, from) : this.#add(time, kept, previous, none, 0, 0);
    this.#bytes += key.length;
    // What follows is not compared with an older state.
    if (!state) return void this.#states.delete(key);
    this.#states.set(key, entry);
    if (!previous) this.#bytes += indexBytes;
  }

  #addState(time: number, kept: KeptInMemory, previous: MemoryEntry | undefined, state: Uint8Array, from: number): MemoryEntry {
    const {length} = state;
    if (state.buffer.byteLength === length) {
      this.#bytes += length;
      return this.#add(time, kept, previous, state, from, length);
    }
    const size = length - from;
    if (this.#used + size > this.#chunk.length) {
      if (size > this.#largestChunk >> 1) {
        this.#bytes += size;
        return this.#add(time, kept, previous, ownMemoryOf(state, from, length), 0, size);
      }
      this.#beginChunk();
    }
    const at = this.#used;
    if (Buffer.isBuffer(state)) state.copy(this.#chunk, at, from);
    else this.#chunk.set(state.subarray(from), at);
    this.#used += size;
    return this.#add(time, kept, previous, this.#chunk, at, this.#used);
  }

  #beginChunk(): void {
    this.#chunk = Buffer.allocUnsafeSlow(Math.min(Math.max(2 * this.#chunk.length, firstChunkBytes), this.#largestChunk));
    this.#bytes += this.#chunk.length;
    this.#used = 0;
  }

  #add(time: number, kept: KeptInMemory, previous: MemoryEntry | undefined, memory: Uint8Array, from: number, to: number): MemoryEntry {
    const entry = new MemoryEntry(this.firstSeq + this.#entries.length, time, kept, previous, memory, from, to);
    this.#entries.push(entry);
    this.#bytes += entryBytes;
    return entry;
  }
}
