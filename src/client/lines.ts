/**
 * Splits a byte stream into lines; blank lines are dropped. All whole lines of a chunk are decoded together: no byte of
 * a longer character is that of a line feed.
 */
export class Lines {
  readonly #each: (line: string) => void;
  #rest: Buffer[] = [];

  constructor(each: (line: string) => void) {
    this.#each = each;
  }

  push(chunk: Buffer): void {
    const end = chunk.lastIndexOf(10);
    if (end === -1) {
      if (chunk.length > 0) this.#rest.push(chunk);
      return;
    }
    const whole =
      this.#rest.length === 0 ? chunk.toString('utf8', 0, end) : Buffer.concat([...this.#rest, chunk.subarray(0, end)]).toString();
    this.#rest = end + 1 < chunk.length ? [chunk.subarray(end + 1)] : [];
    for (let from = 0; from < whole.length;) {
      const feed = whole.indexOf('\n', from);
      const to = feed === -1 ? whole.length : feed;
      const line = whole.slice(from, to);
      if (line.trim() !== '') this.#each(line);
      from = to + 1;
    }
  }

  /** Whether a line is incomplete. */
  get isPartial(): boolean {
    return this.#rest.length > 0;
  }
}
