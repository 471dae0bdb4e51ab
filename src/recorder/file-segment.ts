// A segment in a file. Beside the file is an index, by which the records of one resource are read without the others;
// files of earlier versions, and what a crash has cut off, have none and are read whole.

import {open, readFile, rm} from 'node:fs/promises';
import type {RecordedObject} from '#src/observe/flight-recorder.js';
import {Entry, isStateOf, isWhole, type Records} from './entry.js';
import {placesIn, type Place} from './kind-index.js';
import {MemorySegment, type Segment} from './segment.js';

/** Records that are no farther from each other are read together. */
const maxGap = 64 * 1024;

/** Returns the path of the index of a file. */
export const indexPath = (path: string): string => path.replace(/\.bin$/, '.index');

/** A record in bytes that were read from a file. */
interface Found {
  readonly bytes: Buffer;
  readonly offset: number;
  readonly position: number;
}

/** Some of the records of a file. */
class FoundRecords implements Records {
  readonly firstSeq: number;
  readonly #found: readonly Found[];

  constructor(firstSeq: number, found: readonly Found[]) {
    this.firstSeq = firstSeq;
    this.#found = found;
  }

  get count(): number {
    return this.#found.length;
  }

  entry(index: number): Entry {
    const {bytes, offset, position} = this.#found[index]!;
    return new Entry(this, bytes, offset, this.firstSeq + position);
  }

  /** Files have all states among their bytes. */
  stateElsewhere(): undefined {
    return undefined;
  }

  stateOf(object: RecordedObject, revision: number): Entry | undefined {
    const index = this.#found.findIndex(({bytes, offset}) => isStateOf(bytes, offset, object, revision));
    return index < 0 ? undefined : this.entry(index);
  }
}

/** Reads the records at places of a file; undefined if one of them is not whole. */
const recordsAt = async (path: string, places: readonly Place[]): Promise<readonly Found[] | undefined> => {
  const found: Found[] = [];
  await using file = await open(path);
  for (let first = 0; first < places.length;) {
    const from = places[first]!.offset;
    let [last, to] = [first, from];
    for (; last < places.length && places[last]!.offset - to <= maxGap; last++) to = places[last]!.offset + places[last]!.length;
    const bytes = Buffer.allocUnsafeSlow(to - from);
    const {bytesRead} = await file.read(bytes, 0, bytes.length, from);
    for (const {offset, position} of places.slice(first, last)) {
      if (!isWhole(bytes.subarray(0, bytesRead), offset - from)) return undefined;
      found.push({bytes, offset: offset - from, position});
    }
    first = last;
  }
  return found;
};

/** A segment in a file. */
export class FileSegment implements Segment {
  readonly firstSeq: number;
  readonly count: number;
  readonly bytes: number;
  readonly firstTime: number;
  readonly lastTime: number;
  readonly #path: string;
  readonly #fileBytes: number;
  /** What was read last, while somebody still has it. */
  #read: WeakRef<MemorySegment> | undefined;

  constructor(
    path: string,
    {
      fileBytes,
      indexBytes,
      ...of
    }: Pick<Segment, 'firstSeq' | 'count' | 'firstTime' | 'lastTime'> & {fileBytes: number; indexBytes: number},
  ) {
    this.#path = path;
    this.#fileBytes = fileBytes;
    this.bytes = fileBytes + indexBytes;
    this.firstSeq = of.firstSeq;
    this.count = of.count;
    this.firstTime = of.firstTime;
    this.lastTime = of.lastTime;
  }

  /** Reads up to the first record that is not whole: none at all from a file that is gone. */
  async read(): Promise<MemorySegment> {
    const known = this.#read?.deref();
    if (known) return known;
    const bytes = await readFile(this.#path).catch(() => Buffer.alloc(0));
    const records = MemorySegment.of(this.firstSeq, bytes);
    this.#read = new WeakRef(records);
    return records;
  }

  async recordsOf(object: RecordedObject): Promise<Records> {
    const found = this.#read?.deref() ? undefined : await this.#found(object).catch(() => undefined);
    return found ? new FoundRecords(this.firstSeq, found) : (await this.read()).recordsOf(object);
  }

  async #found(object: RecordedObject): Promise<readonly Found[] | undefined> {
    const places = placesIn(await readFile(indexPath(this.#path), 'utf8'), this.#fileBytes, object);
    return places && (places.length === 0 ? [] : recordsAt(this.#path, places));
  }

  drop(): void {
    for (const path of [this.#path, indexPath(this.#path)]) rm(path, {force: true}).catch(() => {});
  }
}
