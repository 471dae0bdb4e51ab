/** The frame of a message: a flag (not compressed), four bytes of length, and the message. */
export const frameOf = (message: Buffer): Buffer => {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
};

/** Thrown for a message above the limit. */
export class LongMessage extends Error {
  override readonly name = 'LongMessage';
}

/** Splits received bytes into messages, however they are divided into chunks. */
export class Frames {
  #chunks: Buffer[] = [];
  #length = 0;
  /** The length of the next message including its head, once known. */
  #wanted = 5;
  readonly #maxBytes: number;

  constructor(maxBytes = Infinity) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Returns the messages that these bytes complete. Throws for a compressed one, which was not requested, and
   * `LongMessage`.
   */
  push(chunk: Buffer): Buffer[] {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    const messages: Buffer[] = [];
    while (this.#length >= this.#wanted) {
      const bytes = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
      if (bytes[0] !== 0) throw new Error('a message came compressed');
      const length = bytes.readUInt32BE(1);
      if (length > this.#maxBytes) throw new LongMessage(`grpc: received message larger than max (${length} vs. ${this.#maxBytes})`);
      this.#wanted = 5 + length;
      if (bytes.length < this.#wanted) {
        this.#chunks = [bytes];
        break;
      }
      messages.push(bytes.subarray(5, this.#wanted));
      const rest = bytes.subarray(this.#wanted);
      this.#chunks = rest.length > 0 ? [rest] : [];
      this.#length = rest.length;
      this.#wanted = 5;
    }
    return messages;
  }
}
