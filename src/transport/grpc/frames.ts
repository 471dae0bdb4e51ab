/** One message as it goes over the wire: a flag (not compressed), its length in four bytes, itself. */
export const frameOf = (message: Buffer): Buffer => {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
};

/** Cuts what comes over the wire into messages, however it is chopped up. */
export class Frames {
  #chunks: Buffer[] = [];
  #length = 0;
  /** How many bytes the next message takes, its head included, once that is known. */
  #wanted = 5;

  /** The messages that are whole with these bytes. Throws for one that is compressed, which nobody asked for. */
  push(chunk: Buffer): Buffer[] {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    const messages: Buffer[] = [];
    while (this.#length >= this.#wanted) {
      const bytes = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
      if (bytes[0] !== 0) throw new Error('a message came compressed');
      this.#wanted = 5 + bytes.readUInt32BE(1);
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
