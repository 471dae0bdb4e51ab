/** The longest frame that is waited for, in bytes. */
const longest = 1 << 28;

/** Cuts a byte stream into frames that begin with their length in four bytes. A frame may come in any number of pieces. */
export class Frames {
  readonly #each: (frame: Buffer) => void;
  #rest: Buffer[] = [];
  #held = 0;
  /** How many bytes it takes before there is something to do. */
  #wanted = 4;

  constructor(each: (frame: Buffer) => void) {
    this.#each = each;
  }

  /** Throws for a frame that is longer than any event. */
  push(chunk: Buffer): void {
    this.#rest.push(chunk);
    this.#held += chunk.length;
    if (this.#held < this.#wanted) return;
    const bytes = this.#rest.length === 1 ? chunk : Buffer.concat(this.#rest);
    let at = 0;
    for (this.#wanted = 4; bytes.length - at >= this.#wanted; this.#wanted = 4) {
      const length = bytes.readUInt32BE(at);
      if (length > longest) throw new Error(`the watch holds an event of ${length} bytes`);
      this.#wanted = 4 + length;
      if (bytes.length - at < this.#wanted) break;
      this.#each(bytes.subarray(at + 4, at + this.#wanted));
      at += this.#wanted;
    }
    this.#held = bytes.length - at;
    this.#rest = this.#held > 0 ? [bytes.subarray(at)] : [];
  }

  /** Whether a frame has begun and not ended. */
  get isPartial(): boolean {
    return this.#held > 0;
  }
}
