// A data file of LMDB as it is read without the library: its format, and its meta pages.

import {closeSync, fstatSync, openSync, readSync} from 'node:fs';

/** A data file that LMDB must not open; the message says what is wrong with it. */
export class FileDamaged extends Error {
  override readonly name = 'FileDamaged';
}

/*
 * The format of the file (version 2, 64 bits, little endian). Page header: page number 8, transaction 8, padding 2,
 * flags 2, then for nodes lower and upper bound of the free space 2 each, relative to the end of the header, or for an
 * overflow its number of pages 4. Node: length or child 4, flags 2, length of the key 2, key, data.
 */
export const headerBytes = 24;
export const nodeBytes = 8;
export const transactionAt = 8;
export const flagsAt = 18;
export const lowerAt = 20;
export const upperAt = 22;
export const flags = {branch: 1, leaf: 2, overflow: 4, meta: 8} as const;
/** A node whose data is the position of an overflow: page number 8, transaction 8, number of pages 8. */
export const bigData = 1;
export const overflowBytes = 24;
const magic = 0xbeefc0de;
const version = 2;
/** The place of a database record in a meta page, and of the fields behind both. */
const meta = {magic: 0, version: 4, mapSize: 16, free: 24, main: 72, lastPage: 120, transaction: 128} as const;
const metaBytes = headerBytes + 144;
const noPage = 2n ** 64n - 1n;
const pageSizes = {least: 512, most: 1 << 16} as const;

export interface Database {
  readonly depth: number;
  readonly branches: number;
  readonly leaves: number;
  readonly overflows: number;
  readonly entries: number;
  /** Undefined for an empty one. */
  readonly root: number | undefined;
}

export interface Meta {
  readonly pageSize: number;
  readonly free: Database;
  readonly main: Database;
  readonly lastPage: number;
  readonly transaction: number;
}

/** Reads a number of 64 bits, inexactly above 2^53: without a BigInt, which would be garbage for each page. */
export const number64 = (bytes: Buffer, at: number): number => bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * 2 ** 32;

const databaseAt = (bytes: Buffer, at: number): Database => ({
  depth: bytes.readUInt16LE(at + 6),
  branches: number64(bytes, at + 8),
  leaves: number64(bytes, at + 16),
  overflows: number64(bytes, at + 24),
  entries: number64(bytes, at + 32),
  root: bytes.readBigUInt64LE(at + 40) === noPage ? undefined : number64(bytes, at + 40),
});

/** An open data file. */
export class DataFile implements Disposable {
  readonly #file: number;
  readonly size: number;

  constructor(path: string) {
    this.#file = openSync(path, 'r');
    this.size = fstatSync(this.#file).size;
  }

  read(target: Buffer, at: number, what: string): Buffer {
    for (let done = 0; done < target.length;) {
      const read = readSync(this.#file, target, done, target.length - done, at + done);
      if (read === 0) throw new FileDamaged(`it is cut off at byte ${this.size}: ${what} is missing`);
      done += read;
    }
    return target;
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }
}

const metaAt = (file: DataFile, index: number, pageSize: number): Meta => {
  const page = file.read(Buffer.alloc(metaBytes), index * pageSize, `meta page ${index}`);
  const bytes = page.subarray(headerBytes);
  const bad = (what: string): FileDamaged => new FileDamaged(`meta page ${index} has ${what}`);
  if (bytes.readUInt32LE(meta.magic) !== magic || page.readUInt16LE(flagsAt) !== flags.meta) throw bad('no mark of one');
  if (bytes.readUInt32LE(meta.version) % 0x10000 !== version) throw bad(`version ${bytes.readUInt32LE(meta.version)}`);
  const found = {
    pageSize: bytes.readUInt32LE(meta.free),
    free: databaseAt(bytes, meta.free),
    main: databaseAt(bytes, meta.main),
    lastPage: number64(bytes, meta.lastPage),
    transaction: number64(bytes, meta.transaction),
  };
  const size = found.pageSize;
  if (size < pageSizes.least || size > pageSizes.most || (size & (size - 1)) !== 0 || (pageSize > 0 && size !== pageSize))
    throw bad(`pages of ${size} bytes`);
  const mapSize = number64(bytes, meta.mapSize);
  if (mapSize % size !== 0 || mapSize < (found.lastPage + 1) * size || mapSize > 2 ** 46) throw bad(`a size of ${mapSize} bytes`);
  if (bytes.readUInt16LE(meta.free + 4) !== 8 || bytes.readUInt16LE(meta.main + 4) !== 0) throw bad('other flags');
  return found;
};

/**
 * Returns the current meta page. Transactions write the two pages alternately, so their numbers must be consecutive.
 */
export const newestMeta = (file: DataFile): Meta => {
  const first = metaAt(file, 0, 0);
  const second = metaAt(file, 1, first.pageSize);
  const [even, odd] = [first.transaction, second.transaction];
  if ((even !== 0 || odd !== 0) && (even % 2 !== 0 || Math.abs(even - odd) !== 1))
    throw new FileDamaged(`its meta pages are of transactions ${even} and ${odd}`);
  return even > odd ? first : second;
};
