import {lowerBound} from '#src/storage/local/keys.js';

/** A larger chunk is split in two. */
const longestChunk = 512;

/** A sorted set of keys, in chunks so that insertion stays cheap. Copies share the chunks until one of them changes. */
export class SortedKeys {
  readonly #chunks: string[][];
  /** The chunks that copies share. */
  #shared = new WeakSet<string[]>();

  constructor(chunks: string[][] = []) {
    this.#chunks = chunks;
  }

  copy(): SortedKeys {
    const copy = new SortedKeys([...this.#chunks]);
    this.#shared = copy.#shared = new WeakSet(this.#chunks);
    return copy;
  }

  add(key: string): void {
    const at = Math.min(this.#chunkOf(key), Math.max(0, this.#chunks.length - 1));
    const present = this.#chunks[at];
    if (!present) {
      this.#chunks.push([key]);
      return;
    }
    const index = lowerBound(present.length, i => present[i]!, key);
    if (present[index] === key) return;
    const chunk = this.#own(at);
    chunk.splice(index, 0, key);
    if (chunk.length > longestChunk) this.#chunks.splice(at + 1, 0, chunk.splice(chunk.length >> 1));
  }

  delete(key: string): void {
    const at = this.#chunkOf(key);
    const present = this.#chunks[at];
    if (!present) return;
    const index = lowerBound(present.length, i => present[i]!, key);
    if (present[index] !== key) return;
    const chunk = this.#own(at);
    chunk.splice(index, 1);
    if (chunk.length === 0) this.#chunks.splice(at, 1);
  }

  /** The keys of [start, end), in order. The set must not change meanwhile. */
  *between(start: string, end: string): Generator<string, undefined> {
    const first = this.#chunkOf(start);
    const last = this.#chunkOf(end);
    for (let at = first; at <= last && at < this.#chunks.length; at++) {
      const chunk = this.#chunks[at]!;
      const behind = at === last ? this.#before(at, end) : chunk.length;
      for (let index = at === first ? this.#before(at, start) : 0; index < behind; index++) yield chunk[index]!;
    }
  }

  count(start: string, end: string): number {
    const first = this.#chunkOf(start);
    const last = this.#chunkOf(end);
    let count = this.#before(last, end) - this.#before(first, start);
    for (let at = first; at < last; at++) count += this.#chunks[at]!.length;
    return count;
  }

  /** Returns a chunk for modification. */
  #own(at: number): string[] {
    const chunk = this.#chunks[at]!;
    if (!this.#shared.has(chunk)) return chunk;
    return (this.#chunks[at] = [...chunk]);
  }

  #before(at: number, key: string): number {
    const chunk = this.#chunks[at];
    return chunk ? lowerBound(chunk.length, i => chunk[i]!, key) : 0;
  }

  /** Returns the chunk of `key`: the first whose last key is not before it. */
  #chunkOf(key: string): number {
    return lowerBound(this.#chunks.length, i => this.#chunks[i]!.at(-1)!, key);
  }
}
