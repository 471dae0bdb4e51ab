import {OwnedCaches} from '#src/base/cache-bound.js';
import {lowerBound} from '#src/storage/local/keys.js';
import type {Page} from '#src/storage/local/page.js';

/** The bound on the keys and ids of all selections. */
const maxBytes = 4 << 20;

/** Selections of more keys are not kept: reading their records costs more than finding them. */
const maxKeys = 1000;

/** The maximum number of incomplete selections, which are read page by page. */
const maxParts = 16;

/** The keys that a filter selected in a range. */
export interface Found {
  readonly start: string;
  readonly end: string;
  /** The revision at which the keys are complete. */
  at: number;
  /** In order. */
  readonly keys: string[];
}

/** The pages of a range that were read so far. */
interface Part extends Found {
  readonly name: string;
  /** Where the next page begins. */
  next: string;
}

const foundCaches = new OwnedCaches<FoundKeys>('store_found_keys', ({bytes}) => ({bytes, maxBytes}));

/**
 * The keys that filters found in ranges. Clients repeat their selectors, and most find few of many records: a filter
 * that was applied to a range is applied only to the changes since. Filters are told apart by their ids.
 */
export class FoundKeys {
  /** By name, the most recently used at the end. */
  readonly #found = new Map<string, Found>();
  #parts: Part[] = [];
  bytes = 0;

  constructor() {
    foundCaches.add(this);
  }

  /** Returns the keys that a filter selected when it was last applied to the whole range. */
  find(id: string, start: string, end: string): Found | undefined {
    const name = nameOf(id, start, end);
    const found = this.#found.get(name);
    if (!found) return undefined;
    this.#found.delete(name);
    this.#found.set(name, found);
    return found;
  }

  /** Called when a range, or the next page of one, was filtered at a revision. */
  recordRead(id: string, range: {readonly start: string; readonly end: string; readonly at: number}, {records, more, reached}: Page): void {
    const part = this.#partOf(id, range);
    if (!part || part.keys.length + records.length > maxKeys) return;
    for (const {key} of records) part.keys.push(key);
    if (!more) return this.#keep(part.name, {start: part.start, end: part.end, at: part.at, keys: part.keys});
    const last = reached ?? records.at(-1)?.key;
    if (last === undefined) return;
    part.next = `${last}\0`;
    this.#parts.push(part);
    if (this.#parts.length > maxParts) this.#parts.shift();
  }

  /** Applies changes of keys in the range; `passes` is whether the filter selects the key now. */
  advance(id: string, found: Found, changes: Iterable<readonly [key: string, passes: boolean]>, at: number): void {
    const {keys} = found;
    found.at = at;
    for (const [key, passes] of changes) {
      const index = lowerBound(keys.length, at => keys[at]!, key);
      const isKnown = keys[index] === key;
      if (passes === isKnown) continue;
      this.bytes += passes ? key.length : -key.length;
      keys.splice(index, isKnown ? 1 : 0, ...(passes ? [key] : []));
    }
    if (keys.length > maxKeys) this.forget(id, found);
    this.#fit();
  }

  forget(id: string, found: Found): void {
    const name = nameOf(id, found.start, found.end);
    if (this.#found.get(name) === found) this.#remove(name, found);
  }

  /** Removes and returns the incomplete selection that this page continues. */
  #partOf(id: string, {start, end, at}: {readonly start: string; readonly end: string; readonly at: number}): Part | undefined {
    if (!start.endsWith('\0')) return {name: nameOf(id, start, end), start, end, at, keys: [], next: start};
    const index = this.#parts.findIndex(part => part.at === at && part.next === start && part.name === nameOf(id, part.start, end));
    return index < 0 ? undefined : this.#parts.splice(index, 1)[0];
  }

  #keep(name: string, found: Found): void {
    const before = this.#found.get(name);
    if (before && before.at > found.at) return;
    if (before) this.#remove(name, before);
    this.#found.set(name, found);
    this.bytes += bytesOf(name, found);
    this.#fit();
  }

  #remove(name: string, found: Found): void {
    this.#found.delete(name);
    this.bytes -= bytesOf(name, found);
  }

  #fit(): void {
    for (const [name, found] of this.#found) {
      if (this.bytes <= maxBytes) return;
      this.#remove(name, found);
    }
  }
}

/** Ids and keys contain no NUL; only the start of a continued read ends with one. */
const nameOf = (id: string, start: string, end: string): string => `${id}\0${start}\0${end}`;

const bytesOf = (name: string, {keys}: Found): number => {
  let bytes = name.length;
  for (const key of keys) bytes += key.length;
  return bytes;
};
