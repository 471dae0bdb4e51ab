/** Small chunks are copied together once there are so many: a buffer takes some 200 bytes besides its content. */
const mostSmall = 256;
const smallBytes = 1024;

/** The chunks of a body, as they arrive. They take little more memory than the body, however small they are. */
export class BodyChunks {
  #chunks: Buffer[] = [];
  /** The number of last chunks that are small. */
  #small = 0;

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#small = chunk.length < smallBytes ? this.#small + 1 : 0;
    if (this.#small < mostSmall) return;
    this.#chunks.push(Buffer.concat(this.#chunks.splice(-mostSmall)));
    this.#small = 0;
  }

  get count(): number {
    return this.#chunks.length;
  }

  /** Returns the whole, and keeps nothing. */
  take(): Buffer {
    const chunks = this.#chunks;
    this.clear();
    return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
  }

  clear(): void {
    this.#chunks = [];
    this.#small = 0;
  }
}
