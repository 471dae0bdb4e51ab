// Checks the pages of a data file of LMDB before the library maps it: it trusts what it maps, so a damaged page ends
// the process by a signal, and a damaged meta page shows the data of an earlier time. The contents of records are not
// read; they have checksums of their own.

import {closeSync, fstatSync, openSync, readSync} from 'node:fs';
import type {Clock} from '#src/base/clock.js';
import {Yielder} from '#src/base/turn.js';

/** A data file that LMDB must not open; the message says what is wrong with it. */
export class FileDamaged extends Error {
  override readonly name = 'FileDamaged';
}

/*
 * The format of the file (version 2, 64 bits, little endian). Page header: page number 8, transaction 8, padding 2,
 * flags 2, then for nodes lower and upper bound of the free space 2 each, relative to the end of the header, or for an
 * overflow its number of pages 4. Node: length or child 4, flags 2, length of the key 2, key, data.
 */
const headerBytes = 24;
const nodeBytes = 8;
const transactionAt = 8;
const flagsAt = 18;
const lowerAt = 20;
const upperAt = 22;
const flags = {branch: 1, leaf: 2, overflow: 4, meta: 8} as const;
/** A node whose data is the position of an overflow: page number 8, transaction 8, number of pages 8. */
const bigData = 1;
const overflowBytes = 24;
const magic = 0xbeefc0de;
const version = 2;
/** The place of a database record in a meta page, and of the fields behind both. */
const meta = {magic: 0, version: 4, mapSize: 16, free: 24, main: 72, lastPage: 120, transaction: 128} as const;
const metaBytes = headerBytes + 144;
const noPage = 2n ** 64n - 1n;
const pageSizes = {least: 512, most: 1 << 16} as const;
const maxDepth = 32;

interface Database {
  readonly depth: number;
  readonly branches: number;
  readonly leaves: number;
  readonly overflows: number;
  readonly entries: number;
  /** Undefined for an empty one. */
  readonly root: number | undefined;
}

interface Meta {
  readonly pageSize: number;
  readonly free: Database;
  readonly main: Database;
  readonly lastPage: number;
  readonly transaction: number;
}

const number64 = (bytes: Buffer, at: number): number => Number(bytes.readBigUInt64LE(at));

const databaseAt = (bytes: Buffer, at: number): Database => ({
  depth: bytes.readUInt16LE(at + 6),
  branches: number64(bytes, at + 8),
  leaves: number64(bytes, at + 16),
  overflows: number64(bytes, at + 24),
  entries: number64(bytes, at + 32),
  root: bytes.readBigUInt64LE(at + 40) === noPage ? undefined : number64(bytes, at + 40),
});

/** How the bytes of a data file are used. */
export interface PageUse {
  readonly bytes: number;
  /** The bytes of free pages, which later writes may use. */
  readonly free: number;
}

/** An open data file. */
class DataFile implements Disposable {
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
const newestMeta = (file: DataFile): Meta => {
  const first = metaAt(file, 0, 0);
  const second = metaAt(file, 1, first.pageSize);
  const [even, odd] = [first.transaction, second.transaction];
  if ((even !== 0 || odd !== 0) && (even % 2 !== 0 || Math.abs(even - odd) !== 1))
    throw new FileDamaged(`its meta pages are of transactions ${even} and ${odd}`);
  return even > odd ? first : second;
};

/** A page to visit, with the bounds of its keys. */
interface Visit {
  readonly page: number;
  readonly depth: number;
  readonly from: Buffer | undefined;
  readonly to: Buffer | undefined;
}

type Compare = (a: Buffer, b: Buffer) => number;

const byBytes: Compare = (a, b) => Buffer.compare(a, b);
const byNumber: Compare = (a, b) => Number(a.readBigUInt64LE() - b.readBigUInt64LE());

class Checker {
  readonly #file: DataFile;
  readonly #meta: Meta;
  readonly #pieces: Yielder;
  /** One bit for each page that was visited. */
  readonly #visited: Uint8Array;
  /**
   * The bytes of the leaf that is visited, the first of which are lent to the headers of its overflows. Branches have
   * bytes of their own, since their keys outlive the visit.
   */
  readonly #page: Buffer;
  #freePages = 0;

  constructor(file: DataFile, newest: Meta, clock: Clock) {
    this.#file = file;
    this.#meta = newest;
    this.#pieces = new Yielder(clock);
    if ((newest.lastPage + 1) * newest.pageSize > 2 ** 46) throw new FileDamaged(`its last page is ${newest.lastPage}`);
    this.#visited = new Uint8Array((newest.lastPage >> 3) + 1);
    this.#page = Buffer.allocUnsafe(newest.pageSize);
  }

  async run(isSound: EntryCheck): Promise<PageUse> {
    const lists: Buffer[] = [];
    await this.#walk('main', this.#meta.main, byBytes, (page, {key, data}) => {
      if (!isSound(key, data)) throw new FileDamaged(`page ${page} has an entry that is damaged`);
    });
    await this.#walk('free', this.#meta.free, byNumber, (page, node) => void lists.push(this.#wholeData(page, node)));
    for (const list of lists) this.#checkFree(list);
    return {bytes: this.#file.size, free: this.#freePages * this.#meta.pageSize};
  }

  async #walk(name: 'main' | 'free', database: Database, compare: Compare, each: (page: number, node: Node) => void): Promise<void> {
    const found = {branches: 0, leaves: 0, overflows: 0, entries: 0};
    if (database.depth > maxDepth) throw new FileDamaged(`its ${name} tree has depth ${database.depth}`);
    const visits: Visit[] = database.root === undefined ? [] : [{page: database.root, depth: 1, from: undefined, to: undefined}];
    for (let visit = visits.pop(); visit; visit = visits.pop()) {
      const paused = this.#pieces.pause();
      if (paused) await paused;
      const isLeaf = visit.depth === database.depth;
      const nodes = this.#nodes(visit.page, isLeaf ? flags.leaf : flags.branch);
      if (isLeaf) found.leaves++;
      else found.branches++;
      this.#checkOrder(visit, nodes, compare, isLeaf, name === 'free');
      if (isLeaf) {
        found.entries += nodes.length;
        for (const node of nodes) {
          found.overflows += this.#overflowPages(visit.page, node);
          each(visit.page, node);
        }
      } else
        for (let index = nodes.length - 1; index >= 0; index--)
          visits.push({
            page: nodes[index]!.child,
            depth: visit.depth + 1,
            from: index === 0 ? visit.from : nodes[index]!.key,
            to: nodes[index + 1]?.key ?? visit.to,
          });
    }
    for (const what of ['branches', 'leaves', 'overflows', 'entries'] as const)
      if (found[what] !== database[what])
        throw new FileDamaged(`its ${name} tree has ${found[what]} ${what} where there should be ${database[what]}`);
  }

  /** Throws unless the keys of a page are in order, and within the bounds that its parent gives. */
  #checkOrder({page, from, to}: Visit, nodes: readonly Node[], compare: Compare, isLeaf: boolean, areNumbers: boolean): void {
    const bad = (): FileDamaged => new FileDamaged(`page ${page} has keys that are not in order`);
    let before = from;
    // The first key of a branch stands for all before the second one.
    for (let index = isLeaf ? 0 : 1; index < nodes.length; index++) {
      const {key} = nodes[index]!;
      if (key.length === 0 || (areNumbers && key.length !== 8)) throw bad();
      const order = before ? compare(before, key) : -1;
      // The first key of a leaf may be the one that its parent has for it.
      if (order > 0 || (order === 0 && !(isLeaf && index === 0))) throw bad();
      before = key;
    }
    if (to && before && before !== from && compare(before, to) >= 0) throw bad();
  }

  #nodes(number: number, kind: number): Node[] {
    const {pageSize} = this.#meta;
    const page = this.#read(number, kind);
    const room = pageSize - headerBytes;
    const lower = page.readUInt16LE(lowerAt);
    const upper = page.readUInt16LE(upperAt);
    const bad = (): FileDamaged => new FileDamaged(`page ${number} has nodes that do not fit it`);
    if (lower === 0 || lower % 2 !== 0 || lower > upper || upper > room) throw bad();
    const nodes: Node[] = [];
    let used = 0;
    for (let at = headerBytes; at < headerBytes + lower; at += 2) {
      const offset = page.readUInt16LE(at);
      const start = headerBytes + offset;
      if (offset < upper || offset % 2 !== 0 || start + nodeBytes > pageSize) throw bad();
      const low = page.readUInt32LE(start);
      const nodeFlags = page.readUInt16LE(start + 4);
      const keyEnd = start + nodeBytes + page.readUInt16LE(start + 6);
      const isBig = nodeFlags === bigData;
      const end = kind === flags.branch ? keyEnd : keyEnd + (isBig ? overflowBytes : low);
      if (end > pageSize || (kind === flags.leaf && nodeFlags > bigData)) throw bad();
      used += end - start + ((end - start) % 2);
      nodes.push({
        child: low + nodeFlags * 2 ** 32,
        length: low,
        isBig,
        key: page.subarray(start + nodeBytes, keyEnd),
        data: page.subarray(keyEnd, end),
      });
    }
    if (used !== room - upper) throw bad();
    return nodes;
  }

  /** The number of pages of a node's overflow, which is checked. */
  #overflowPages(number: number, {isBig, length, data}: Node): number {
    if (!isBig) return 0;
    const first = number64(data, 0);
    const pages = number64(data, 16);
    if (pages !== Math.ceil((headerBytes + length) / this.#meta.pageSize) || number64(data, transactionAt) > this.#meta.transaction)
      throw new FileDamaged(`page ${number} has an overflow of ${pages} pages`);
    if (this.#read(first, flags.overflow, pages).readUInt32LE(lowerAt) !== pages)
      throw new FileDamaged(`page ${first} is not an overflow of ${pages} pages`);
    return pages;
  }

  #wholeData(page: number, {isBig, length, data}: Node): Buffer {
    if (!isBig) return Buffer.from(data);
    return this.#file.read(Buffer.alloc(length), number64(data, 0) * this.#meta.pageSize + headerBytes, `the overflow of page ${page}`);
  }

  /** Reads a page, which must be visited for the first time, and be within the file with all that follow it. */
  #read(number: number, kind: number, count = 1): Buffer {
    const {pageSize, lastPage} = this.#meta;
    if (number < 2 || number + count - 1 > lastPage) throw new FileDamaged(`it refers to page ${number}, and its last is ${lastPage}`);
    if ((number + count) * pageSize > this.#file.size)
      throw new FileDamaged(`it is cut off at byte ${this.#file.size}: page ${number + count - 1} is missing`);
    for (let each = number; each < number + count; each++) this.#visit(each);
    const bytes = this.#file.read(
      kind === flags.branch ? Buffer.allocUnsafe(pageSize) : kind === flags.leaf ? this.#page : this.#page.subarray(0, headerBytes),
      number * pageSize,
      `page ${number}`,
    );
    if (number64(bytes, 0) !== number || bytes.readUInt16LE(flagsAt) !== kind)
      throw new FileDamaged(`page ${number} has the header of another`);
    // LMDB changes pages of later transactions in place.
    if (number64(bytes, transactionAt) > this.#meta.transaction) throw new FileDamaged(`page ${number} is of a later transaction`);
    return bytes;
  }

  #visit(number: number): void {
    const bit = 1 << (number & 7);
    if (this.#visited[number >> 3]! & bit) throw new FileDamaged(`page ${number} is used twice`);
    this.#visited[number >> 3]! |= bit;
  }

  /**
   * Throws if a free page is in use: a write would overwrite it. A negative entry is the length of a block, whose first
   * page follows.
   */
  #checkFree(list: Buffer): void {
    const count = list.length < 8 ? -1 : number64(list, 0);
    if (count < 0 || count > list.length / 8 - 1) throw new FileDamaged(`its list of free pages has ${count} entries`);
    for (let index = 1, length = 1; index <= count; index++) {
      const entry = Number(list.readBigInt64LE(index * 8));
      if (entry < 0) length = -entry;
      else {
        if (entry !== 0 && (entry < 2 || entry + length - 1 > this.#meta.lastPage))
          throw new FileDamaged(`its list of free pages has page ${entry}`);
        if (entry !== 0) {
          for (let page = entry; page < entry + length; page++) this.#visit(page);
          this.#freePages += length;
        }
        length = 1;
      }
    }
  }
}

/**
 * Whether an entry is not damaged, as far as can be checked. Data of an overflow are not passed: then it is their
 * position.
 */
type EntryCheck = (key: Buffer, data: Buffer) => boolean;

interface Node {
  readonly key: Buffer;
  readonly data: Buffer;
  /** The length of the data, which may be in an overflow. */
  readonly length: number;
  readonly isBig: boolean;
  readonly child: number;
}

/** How often a file that another process writes is read again. */
const maxAttempts = 5;

/**
 * Checks all pages of a data file that lead to records: those of the newest transaction are not changed while it is the
 * newest. A file that another process writes all the time passes after a few attempts, and its use is then not known.
 * Rejects with `FileDamaged`. Takes about a second for each GB of small records.
 */
export const checkPages = async (path: string, isSound: EntryCheck, clock: Clock): Promise<PageUse | undefined> => {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    using file = new DataFile(path);
    const newest = newestMeta(file);
    try {
      return await new Checker(file, newest, clock).run(isSound);
    } catch (error) {
      if (!(error instanceof FileDamaged) || newestMeta(file).transaction === newest.transaction) throw error;
    }
  }
  return undefined;
};
