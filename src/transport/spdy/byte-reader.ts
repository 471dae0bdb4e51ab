import type {Readable} from 'node:stream';

/** Reads given numbers of bytes from a stream, never more than requested. */
export class ByteReader {
  readonly #chunks: AsyncIterator<Buffer>;
  #held: Buffer;

  /** `head` contains the bytes of the stream that were read already. */
  constructor(stream: Readable, head: Buffer) {
    this.#chunks = stream.iterator({destroyOnReturn: false}) as AsyncIterator<Buffer>;
    this.#held = head;
  }

  /**
   * Returns `length` bytes; undefined when the stream ends before the first of them. Throws when it ends among them.
   */
  async exactly(length: number): Promise<Buffer | undefined> {
    while (this.#held.length < length) {
      const {value, done} = await this.#chunks.next();
      if (done) {
        if (this.#held.length > 0) throw new Error('unexpected EOF');
        return undefined;
      }
      this.#held = this.#held.length === 0 ? (value as Buffer) : Buffer.concat([this.#held, value as Buffer]);
    }
    return this.#take(length);
  }

  /** Returns at least one byte and at most `most`; undefined at the end. */
  async some(most: number): Promise<Buffer | undefined> {
    while (this.#held.length === 0) {
      const {value, done} = await this.#chunks.next();
      if (done) return undefined;
      this.#held = value as Buffer;
    }
    return this.#take(Math.min(most, this.#held.length));
  }

  #take(length: number): Buffer {
    const taken = this.#held.subarray(0, length);
    this.#held = this.#held.subarray(length);
    return taken;
  }
}
