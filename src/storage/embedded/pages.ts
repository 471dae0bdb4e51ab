// Checks the pages of a data file of LMDB before the library maps it: it trusts what it maps, so a damaged page ends
// the process by a signal, and a damaged meta page shows the data of an earlier time. The contents of records are not
// read; they have checksums of their own. Nothing is allocated for an entry, and leaves that lie together are read at
// once, since all are read at a start after one that did not end well.

import type {Clock} from '#src/base/clock.js';
import {Yielder} from '#src/base/turn.js';
import {
  bigData,
  DataFile,
  FileDamaged,
  flags,
  flagsAt,
  headerBytes,
  lowerAt,
  newestMeta,
  nodeBytes,
  number64,
  overflowBytes,
  transactionAt,
  upperAt,
  type Database,
  type Meta,
} from './data-file.js';

const maxDepth = 32;

/** How the bytes of a data file are used. */
export interface PageUse {
  readonly bytes: number;
  /** The bytes of free pages, which later writes may use. */
  readonly free: number;
}

/** Where an entry of a page is: its key, and behind it its data, or their position if they are an overflow. */
export interface Entry {
  readonly bytes: Buffer;
  readonly keyAt: number;
  readonly keyEnd: number;
  readonly end: number;
}

/**
 * Whether an entry is not damaged, as far as can be checked. Of data in an overflow their position is passed. The entry
 * is another one after the call.
 */
type EntryCheck = (entry: Entry) => boolean;

/** An entry and what its header says. */
interface Node extends Entry {
  /** The length of the data, which may be in an overflow. */
  readonly length: number;
  readonly isBig: boolean;
  readonly child: number;
}

/** The node at which a page is read: one object for all. */
type Cursor = {-readonly [Key in keyof Node]: Node[Key]};

/** A page to visit, with the bounds of its keys. */
interface Visit {
  readonly page: number;
  readonly from: Buffer | undefined;
  readonly to: Buffer | undefined;
}

type Compare = (a: Buffer, aAt: number, aEnd: number, b: Buffer, bAt: number, bEnd: number) => number;

/** As `a.compare(b, …)`, with which the check of a whole file takes half as long again. */
const byBytes: Compare = (a, aAt, aEnd, b, bAt, bEnd) => {
  const least = Math.min(aEnd - aAt, bEnd - bAt);
  for (let index = 0; index < least; index++) {
    const difference = a[aAt + index]! - b[bAt + index]!;
    if (difference !== 0) return difference;
  }
  return aEnd - aAt - (bEnd - bAt);
};

const byNumber: Compare = (a, aAt, _aEnd, b, bAt) => number64(a, aAt) - number64(b, bAt);

/** The most bytes of leaves that are read together: several pages of any size. */
const windowBytes = 256 << 10;
/** So many pages between two leaves are read for nothing rather than to read twice. */
const mostBetween = 4;

/** Whether all pages are read, or only those that lead to leaves, and the list of free pages. */
export type CheckExtent = 'all' | 'branches';

/** What one tree of the file has, and how its keys are ordered. */
interface Walk {
  readonly extent: CheckExtent;
  readonly name: 'main' | 'free';
  readonly compare: Compare;
  readonly found: {branches: number; leaves: number; overflows: number; entries: number};
  /** Called for each entry of a leaf. */
  each(page: number, node: Node): void;
}

class Checker {
  readonly #file: DataFile;
  readonly #meta: Meta;
  readonly #pieces: Yielder;
  /** One bit for each page that was visited. */
  readonly #visited: Uint8Array;
  /** The bytes of the leaves that are visited. Branches have bytes of their own, since their keys outlive the visit. */
  readonly #window: Buffer;
  readonly #overflowHeader = Buffer.allocUnsafe(headerBytes);
  #freePages = 0;

  constructor(file: DataFile, newest: Meta, clock: Clock) {
    this.#file = file;
    this.#meta = newest;
    this.#pieces = new Yielder(clock);
    if ((newest.lastPage + 1) * newest.pageSize > 2 ** 46) throw new FileDamaged(`its last page is ${newest.lastPage}`);
    this.#visited = new Uint8Array((newest.lastPage >> 3) + 1);
    this.#window = Buffer.allocUnsafe(windowBytes);
  }

  async run(isSound: EntryCheck, extent: CheckExtent): Promise<PageUse> {
    const lists: Buffer[] = [];
    await this.#walk(this.#meta.main, {name: 'main', extent, compare: byBytes}, (page, node) => {
      if (!isSound(node)) throw new FileDamaged(`page ${page} has an entry that is damaged`);
    });
    const free = {name: 'free', extent: 'all', compare: byNumber} as const;
    await this.#walk(this.#meta.free, free, (page, node) => void lists.push(this.#wholeData(page, node)));
    for (const list of lists) this.#checkFree(list);
    return {bytes: this.#file.size, free: this.#freePages * this.#meta.pageSize};
  }

  async #walk(database: Database, tree: Pick<Walk, 'name' | 'extent' | 'compare'>, each: Walk['each']): Promise<void> {
    const {name, extent} = tree;
    const walk: Walk = {...tree, found: {branches: 0, leaves: 0, overflows: 0, entries: 0}, each};
    const {depth, root} = database;
    if (depth > maxDepth) throw new FileDamaged(`its ${name} tree has depth ${depth}`);
    /** The pages to visit of each level: those of the last one are leaves, which are visited together. */
    const levels: Visit[][] = root === undefined ? [] : [[{page: root, from: undefined, to: undefined}]];
    while (levels.length > 0) {
      const visits = levels.at(-1)!;
      if (levels.length === depth) await this.#leaves(levels.pop()!, walk);
      else if (visits.length === 0) levels.pop();
      else if (levels.length === depth - 1 && extent === 'branches') this.#lastBranch(visits.pop()!, walk);
      else levels.push(this.#branch(visits.pop()!, walk));
    }
    const counted = extent === 'all' ? (['branches', 'leaves', 'overflows', 'entries'] as const) : (['branches', 'leaves'] as const);
    for (const what of counted)
      if (walk.found[what] !== database[what])
        throw new FileDamaged(`its ${name} tree has ${walk.found[what]} ${what} where there should be ${database[what]}`);
  }

  /** Checks a branch. Returns its children, the last one first. */
  #branch(visit: Visit, walk: Walk): Visit[] {
    const bytes = this.#read(visit.page, flags.branch, Buffer.allocUnsafe(this.#meta.pageSize));
    walk.found.branches++;
    const children: {page: number; key: Buffer}[] = [];
    this.#nodes(visit, bytes, 0, flags.branch, walk, ({child, keyAt, keyEnd}) =>
      children.push({page: child, key: bytes.subarray(keyAt, keyEnd)}),
    );
    const visits = children.map(({page, key}, index) => ({
      page,
      from: index === 0 ? visit.from : key,
      to: children[index + 1]?.key ?? visit.to,
    }));
    return visits.toReversed();
  }

  /** Checks a branch above leaves that are not read, and that they are there. Nothing is kept of its entries. */
  #lastBranch(visit: Visit, walk: Walk): void {
    const bytes = this.#read(visit.page, flags.branch, this.#window.subarray(0, this.#meta.pageSize));
    walk.found.branches++;
    this.#nodes(visit, bytes, 0, flags.branch, walk, ({child}) => {
      this.#enter(child, 1);
      walk.found.leaves++;
    });
  }

  /** Checks that the leaves under one branch are there, and what is in them if all pages are read. */
  async #leaves(visits: readonly Visit[], walk: Walk): Promise<void> {
    for (const {page} of visits) this.#enter(page, 1);
    walk.found.leaves += visits.length;
    if (walk.extent === 'all') await this.#readLeaves(visits, walk);
  }

  /** Checks what is in leaves, in the order in which they lie in the file. */
  async #readLeaves(visits: readonly Visit[], walk: Walk): Promise<void> {
    const {pageSize} = this.#meta;
    const inFile = visits.toSorted((one, other) => one.page - other.page);
    for (let first = 0; first < inFile.length;) {
      const together = inFile.slice(first, first + this.#together(inFile, first));
      first += together.length;
      const start = together[0]!.page;
      const bytes = this.#window.subarray(0, (together.at(-1)!.page - start + 1) * pageSize);
      this.#file.read(bytes, start * pageSize, `page ${start}`);
      for (const visit of together) {
        const paused = this.#pieces.pause();
        if (paused) await paused;
        const at = (visit.page - start) * pageSize;
        this.#checkHeader(visit.page, flags.leaf, bytes, at);
        this.#nodes(visit, bytes, at, flags.leaf, walk, node => {
          walk.found.entries++;
          walk.found.overflows += this.#overflowPages(visit.page, node);
          walk.each(visit.page, node);
        });
      }
    }
  }

  /** The number of leaves, from one on, that are read at once. */
  #together(inFile: readonly Visit[], first: number): number {
    const most = Math.floor(this.#window.length / this.#meta.pageSize);
    const start = inFile[first]!.page;
    let count = 1;
    for (let next = inFile[first + 1]; next && next.page - start < most; next = inFile[first + ++count])
      if (next.page - inFile[first + count - 1]!.page > mostBetween) break;
    return count;
  }

  /**
   * Passes the nodes of the page at a place of `bytes`. Throws unless they fit the page and do not overlap, and their
   * keys are in order and within the bounds that the parent gives.
   */
  #nodes(visit: Visit, bytes: Buffer, pageAt: number, kind: number, walk: Walk, each: (node: Node) => void): void {
    const {pageSize} = this.#meta;
    const room = pageSize - headerBytes;
    const lower = bytes.readUInt16LE(pageAt + lowerAt);
    const upper = bytes.readUInt16LE(pageAt + upperAt);
    const bad = (): FileDamaged => new FileDamaged(`page ${visit.page} has nodes that do not fit it`);
    if (lower === 0 || lower % 2 !== 0 || lower > upper || upper > room) throw bad();
    const order = new KeyOrder(visit, walk, kind === flags.leaf);
    const node: Cursor = {bytes, keyAt: 0, keyEnd: 0, end: 0, length: 0, isBig: false, child: 0};
    let used = 0;
    for (let at = pageAt + headerBytes; at < pageAt + headerBytes + lower; at += 2) {
      const offset = bytes[at]! | (bytes[at + 1]! << 8);
      const start = pageAt + headerBytes + offset;
      if (offset < upper || offset % 2 !== 0 || start + nodeBytes > pageAt + pageSize) throw bad();
      const low = bytes.readUInt32LE(start);
      const nodeFlags = bytes.readUInt16LE(start + 4);
      node.keyAt = start + nodeBytes;
      node.keyEnd = node.keyAt + bytes.readUInt16LE(start + 6);
      node.isBig = nodeFlags === bigData;
      node.end = kind === flags.branch ? node.keyEnd : node.keyEnd + (node.isBig ? overflowBytes : low);
      if (node.end > pageAt + pageSize || (kind === flags.leaf && nodeFlags > bigData)) throw bad();
      const length = node.end - start;
      used += length + (length % 2);
      node.child = low + nodeFlags * 2 ** 32;
      node.length = low;
      order.next(node);
      each(node);
    }
    if (used !== room - upper) throw bad();
    order.end();
  }

  /** The number of pages of a node's overflow, which is checked. */
  #overflowPages(number: number, {isBig, length, bytes, keyEnd}: Node): number {
    if (!isBig) return 0;
    const first = number64(bytes, keyEnd);
    const pages = number64(bytes, keyEnd + 16);
    if (
      pages !== Math.ceil((headerBytes + length) / this.#meta.pageSize) ||
      number64(bytes, keyEnd + transactionAt) > this.#meta.transaction
    )
      throw new FileDamaged(`page ${number} has an overflow of ${pages} pages`);
    if (this.#read(first, flags.overflow, this.#overflowHeader, pages).readUInt32LE(lowerAt) !== pages)
      throw new FileDamaged(`page ${first} is not an overflow of ${pages} pages`);
    return pages;
  }

  #wholeData(page: number, {isBig, length, bytes, keyEnd, end}: Node): Buffer {
    if (!isBig) return Buffer.from(bytes.subarray(keyEnd, end));
    return this.#file.read(
      Buffer.alloc(length),
      number64(bytes, keyEnd) * this.#meta.pageSize + headerBytes,
      `the overflow of page ${page}`,
    );
  }

  /** Reads the first bytes of a page, which must be visited for the first time. */
  #read(number: number, kind: number, target: Buffer, count = 1): Buffer {
    this.#enter(number, count);
    this.#file.read(target, number * this.#meta.pageSize, `page ${number}`);
    this.#checkHeader(number, kind, target, 0);
    return target;
  }

  /** Throws unless pages are visited for the first time, and are within the file. */
  #enter(number: number, count: number): void {
    const {pageSize, lastPage} = this.#meta;
    if (number < 2 || number + count - 1 > lastPage) throw new FileDamaged(`it refers to page ${number}, and its last is ${lastPage}`);
    if ((number + count) * pageSize > this.#file.size)
      throw new FileDamaged(`it is cut off at byte ${this.#file.size}: page ${number + count - 1} is missing`);
    for (let each = number; each < number + count; each++) this.#visit(each);
  }

  #checkHeader(number: number, kind: number, bytes: Buffer, at: number): void {
    if (number64(bytes, at) !== number || bytes.readUInt16LE(at + flagsAt) !== kind)
      throw new FileDamaged(`page ${number} has the header of another`);
    // LMDB changes pages of later transactions in place.
    if (number64(bytes, at + transactionAt) > this.#meta.transaction) throw new FileDamaged(`page ${number} is of a later transaction`);
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

const freeKeyBytes = 8;

/** Checks that the keys of one page are in order, and within the bounds that its parent gives. */
class KeyOrder {
  readonly #visit: Visit;
  readonly #walk: Walk;
  readonly #isLeaf: boolean;
  #bytes: Buffer | undefined;
  /** The key before: that of the parent at first. */
  #keyAt = 0;
  #keyEnd = 0;
  #count = 0;

  constructor(visit: Visit, walk: Walk, isLeaf: boolean) {
    this.#visit = visit;
    this.#walk = walk;
    this.#isLeaf = isLeaf;
    this.#bytes = visit.from;
    this.#keyEnd = visit.from?.length ?? 0;
  }

  next({bytes, keyAt, keyEnd}: Entry): void {
    // The first key of a branch stands for all before the second one.
    const isFirst = this.#count++ === 0;
    if (isFirst && !this.#isLeaf) return;
    if (keyEnd === keyAt || (this.#walk.name === 'free' && keyEnd - keyAt !== freeKeyBytes)) throw this.#bad();
    const order = this.#bytes ? this.#walk.compare(this.#bytes, this.#keyAt, this.#keyEnd, bytes, keyAt, keyEnd) : -1;
    // The first key of a leaf may be the one that its parent has for it.
    if (order > 0 || (order === 0 && !(isFirst && this.#isLeaf))) throw this.#bad();
    this.#bytes = bytes;
    this.#keyAt = keyAt;
    this.#keyEnd = keyEnd;
  }

  end(): void {
    const {from, to} = this.#visit;
    if (!to || !this.#bytes || this.#bytes === from) return;
    if (this.#walk.compare(this.#bytes, this.#keyAt, this.#keyEnd, to, 0, to.length) >= 0) throw this.#bad();
  }

  #bad(): FileDamaged {
    return new FileDamaged(`page ${this.#visit.page} has keys that are not in order`);
  }
}

/** How often a file that another process writes is read again. */
const maxAttempts = 5;

/**
 * Checks the pages of a data file that lead to records: those of the newest transaction are not changed while it is the
 * newest. A file that another process writes all the time passes after a few attempts, and its use is then not known.
 * Rejects with `FileDamaged`. Takes about a second for each GB of small records.
 */
export const checkPages = async (
  path: string,
  isSound: EntryCheck,
  clock: Clock,
  extent: CheckExtent = 'all',
): Promise<PageUse | undefined> => {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    using file = new DataFile(path);
    const newest = newestMeta(file);
    try {
      return await new Checker(file, newest, clock).run(isSound, extent);
    } catch (error) {
      if (!(error instanceof FileDamaged) || newestMeta(file).transaction === newest.transaction) throw error;
    }
  }
  return undefined;
};
