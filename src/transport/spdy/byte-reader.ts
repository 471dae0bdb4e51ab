import type {Readable} from 'node:stream';

/** Takes bytes off a stream in the amounts that are wanted. Nothing is read that nobody asked for. */
export class ByteReader {
  readonly #chunks: AsyncIterator<Buffer>;
  #held: Buffer;

  /** `head` is what was read of the stream already. */
  constructor(stream: Readable, head: Buffer) {
    this.#chunks = stream.iterator({destroyOnReturn: false}) as AsyncIterator<Buffer>;
    this.#held = head;
  }

  /** So many bytes; nothing when the stream ends before the first of them. Throws when it ends among them. */
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

  /** What there is, at least one byte and at most `most`; nothing at the end. */
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
