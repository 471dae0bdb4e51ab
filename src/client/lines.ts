/** Splits a byte stream into lines; blank lines are dropped. */
export class Lines {
  readonly #each: (line: string) => void;
  #rest: Buffer[] = [];

  constructor(each: (line: string) => void) {
    this.#each = each;
  }

  push(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      this.#emit(chunk.subarray(start, end));
      start = end + 1;
    }
    if (start < chunk.length) this.#rest.push(start === 0 ? chunk : chunk.subarray(start));
  }

  /** Whether a line is incomplete. */
  get isPartial(): boolean {
    return this.#rest.length > 0;
  }

  #emit(last: Buffer): void {
    const line = this.#rest.length === 0 ? last.toString() : Buffer.concat([...this.#rest, last]).toString();
    this.#rest = [];
    if (line.trim() !== '') this.#each(line);
  }
}
