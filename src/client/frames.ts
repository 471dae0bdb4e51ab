/** The maximum length of a frame in bytes. */
const longest = 1 << 28;

/** Splits a byte stream into frames prefixed with their length in four bytes. */
export class Frames {
  readonly #each: (frame: Buffer) => void;
  #rest: Buffer[] = [];
  #held = 0;
  /** The number of bytes needed to continue. */
  #wanted = 4;

  constructor(each: (frame: Buffer) => void) {
    this.#each = each;
  }

  /** Throws for a frame beyond the maximum length. */
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

  /** Whether a frame is incomplete. */
  get isPartial(): boolean {
    return this.#held > 0;
  }
}
