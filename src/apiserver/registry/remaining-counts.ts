import {CacheBound} from '#src/base/cache-bound.js';
import {Lru} from '#src/base/lru.js';

const bound = new CacheBound('remaining_counts', 256 << 10);

/** Where a page of a list ended: the next key, and the range and revision of the list. */
interface Position {
  readonly next: string;
  readonly end: string;
  readonly revision: number;
}

/**
 * How many objects follow the last pages of a kind. A client that reads page by page gets the count of a page from that
 * of the one before it; counting the keys of the rest each time would make the whole list quadratic.
 */
export class RemainingCounts {
  readonly #counts = new Lru<string, number>(bound, {bytesOf: (_, key) => 2 * key.length});

  /** Returns the number of objects from a position on, if a page that ended there was counted. */
  from(position: Position): number | undefined {
    return this.#counts.get(keyOf(position));
  }

  record(position: Position, count: number): void {
    this.#counts.set(keyOf(position), count);
  }
}

const keyOf = ({next, end, revision}: Position): string => `${revision} ${end} ${next}`;
