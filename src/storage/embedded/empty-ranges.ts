import {OwnedCaches} from '#src/base/cache-bound.js';

/** How many ranges are remembered; keys are bounded by the tree. */
const maxRanges = 1024;
const maxBytes = 256 << 10;

const emptyRanges = new OwnedCaches<EmptyRanges>('store_empty_ranges', ({bytes}) => ({bytes, maxBytes}));

/**
 * Ranges of a prefix that are known to hold no record. Admission asks for some with each pod, such as the limit ranges
 * of its namespace, and an unsuccessful search of the tree costs as much as a successful one.
 */
export class EmptyRanges {
  /** The end of each range by its start, a prefix that ends with a slash. */
  readonly #ends = new Map<string, string>();
  bytes = 0;

  constructor() {
    emptyRanges.add(this);
  }

  has(start: string, end: string): boolean {
    return this.#ends.get(start) === end;
  }

  /** Called when a range was read that holds no record, neither committed nor being written. */
  add(start: string, end: string): void {
    if (!start.endsWith('/') || this.#ends.has(start)) return;
    if (this.#ends.size >= maxRanges || this.bytes + start.length > maxBytes) this.#clear();
    this.#ends.set(start, end);
    this.bytes += start.length;
  }

  /** Called before a record is written under a key. */
  written(key: string): void {
    if (this.#ends.size === 0) return;
    for (let at = key.indexOf('/'); at >= 0; at = key.indexOf('/', at + 1)) {
      const start = key.slice(0, at + 1);
      if (this.#ends.delete(start)) this.bytes -= start.length;
    }
  }

  #clear(): void {
    this.#ends.clear();
    this.bytes = 0;
  }
}
