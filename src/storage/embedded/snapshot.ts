// Reads an embedded store into a snapshot while another process has it open, and makes a store from a snapshot.

import {randomBytes} from 'node:crypto';
import {existsSync, readdirSync, renameSync, rmdirSync, rmSync} from 'node:fs';
import {dirname, join} from 'node:path';
import type {RangeOptions} from 'lmdb';
import {makeFolder} from '#src/base/files/folder.js';
import {systemClock} from '#src/base/clock.js';
import {yieldToEventLoop} from '#src/base/turn.js';
import {StoreUnusable, ValueUnreadable} from '#src/storage/errors.js';
import type {SnapshotReader, SnapshotRecord} from '#src/storage/snapshot/format.js';
import {claim, identityOf} from './claim.js';
import {checkData, hasLostStore, hasStore, mark, release, reserve, storeFiles, unreplaced, unusable} from './directory.js';
import {
  decodeHead,
  decodeMeta,
  decodeNumber,
  decodeRevision,
  decodeValue,
  encodeChange,
  encodeNumber,
  leaseKey,
  leaseOf,
  metaKeys,
  tables,
  underKey,
} from './layout.js';
import {FileDamaged} from './data-file.js';
import {nothing, treeSettings, Writes, type Tree} from './writes.js';

/** How many records are read or written in one turn. */
const batch = 500;

/** A consistent view of a store at one revision. */
export interface EmbeddedView extends AsyncDisposable {
  readonly naming: string;
  readonly revision: number;
  /** The records in the order of their keys. Throws for one that is damaged, or reports it and goes on. */
  records(damaged?: (error: ValueUnreadable) => void): AsyncIterable<SnapshotRecord>;
}

/**
 * Opens a view of the store in a directory, which another process may be using. Rejects with `StoreUnusable`, with one
 * line.
 */
export const viewEmbedded = async (directory: string): Promise<EmbeddedView> => {
  if (!hasStore(directory) && !hasLostStore(directory)) throw new StoreUnusable(`there is no store in ${directory}`);
  const {open} = await import('lmdb');
  try {
    await checkData(directory, systemClock);
    const checkUnreplaced = unreplaced(directory);
    const tree: Tree = open({path: directory, readOnly: true, ...treeSettings});
    try {
      checkUnreplaced();
      return new View(tree, directory);
    } catch (error) {
      await tree.close();
      throw error;
    }
  } catch (error) {
    throw unusable(directory, error);
  }
};

class View implements EmbeddedView {
  readonly naming: string;
  readonly revision: number;
  readonly #tree: Tree;
  readonly #transaction: ReturnType<Tree['useReadTransaction']>;
  readonly #leases: ReadonlyMap<number, number>;

  constructor(tree: Tree, directory: string) {
    this.#tree = tree;
    this.#transaction = tree.useReadTransaction();
    const identity = identityOf(tree);
    if (!identity) throw new StoreUnusable(`there is no store in ${directory}`);
    this.naming = identity.naming;
    const at = (key: string): number => {
      const bytes = tree.get(key, {transaction: this.#transaction});
      const value = bytes ? decodeMeta(key, bytes, bytes.length) : 0;
      if (value === undefined) throw new FileDamaged(`its record ${JSON.stringify(key.slice(1))} is damaged`);
      return value;
    };
    let newest = Math.max(1, at(metaKeys.compacted));
    for (const key of tree.getKeys(this.#within({start: 2 ** 48 - 1, end: 0, reverse: true, limit: 1})))
      newest = Math.max(newest, Number(key));
    this.revision = newest;
    const leases = Array.from(tree.getRange(this.#within({start: tables.lease, end: tables.under})));
    this.#leases = new Map(leases.map(({key, value}) => [leaseOf(key as string), decodeNumber(value)]));
  }

  async *records(damaged?: (error: ValueUnreadable) => void): AsyncGenerator<SnapshotRecord> {
    let count = 0;
    for (const {key, value} of this.#tree.getRange(this.#within({start: tables.head, end: tables.gone}))) {
      const revision = decodeRevision(value, value.length);
      const record = this.#record(key as string, revision);
      if (record) yield record;
      else {
        const error = ValueUnreadable.damaged(key as string, revision);
        if (!damaged) throw error;
        damaged(error);
      }
      if (++count % batch === 0) await yieldToEventLoop();
    }
  }

  /** The record of a key at a revision; undefined if it is damaged. */
  #record(key: string, revision: number): SnapshotRecord | undefined {
    const bytes = this.#tree.get(revision, {transaction: this.#transaction});
    const head = bytes && decodeHead(bytes, bytes.length, revision);
    const value = head?.key === key && !head.isDeletion ? decodeValue(bytes!, head) : undefined;
    if (!head || !value) return undefined;
    const {created, lease} = head;
    const expiresAt = lease === undefined ? undefined : this.#leases.get(lease);
    return {key, value, revision, created, ...(expiresAt === undefined ? {} : {expiresAt})};
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#transaction.done();
    await this.#tree.close();
  }

  #within(range: RangeOptions): RangeOptions {
    return {...range, transaction: this.#transaction};
  }
}

/**
 * How far the revisions of a restored store are beyond those of the snapshot: no client has seen one of them, so all
 * watches begin anew.
 */
export const revisionGap = 1_000_000;

/**
 * Makes a store in a directory from a snapshot. The store appears, complete and on disk, once the snapshot was
 * verified; before, and after a failure, there is none. Records keep their revisions, and history begins after them.
 * Rejects with `StoreUnusable` if there is a store already.
 */
export const restoreEmbedded = async (directory: string, snapshot: SnapshotReader): Promise<void> => {
  if (hasStore(directory)) throw new StoreUnusable(`there is a store in ${directory} already: remove it, or give another directory`);
  makeFolder(dirname(directory));
  const temporary = join(dirname(directory), `.restore-${randomBytes(8).toString('hex')}`);
  try {
    const {path} = await reserve(temporary, systemClock);
    try {
      await write(path, directory, snapshot);
      mark(path, snapshot.header.naming);
    } finally {
      release(path);
    }
    if (hasLostStore(directory)) for (const file of storeFiles) rmSync(join(directory, file), {recursive: true, force: true});
    // An empty folder may have been prepared, for example as a mount with its own permissions.
    if (existsSync(directory) && readdirSync(directory).length === 0) rmdirSync(directory);
    renameSync(temporary, directory);
  } catch (error) {
    rmSync(temporary, {recursive: true, force: true});
    throw error instanceof Error && 'code' in error ? unusable(directory, error) : error;
  }
};

const write = async (path: string, directory: string, snapshot: SnapshotReader): Promise<void> => {
  const {open} = await import('lmdb');
  const tree: Tree = open({path, ...treeSettings});
  try {
    const {naming, revision} = snapshot.header;
    claim(tree, directory, naming);
    let writes = new Writes(path);
    let count = 0;
    const leases = new Map<number, number>();
    const leaseAt = (expiresAt: number): number => {
      const known = leases.get(expiresAt);
      if (known !== undefined) return known;
      leases.set(expiresAt, leases.size + 1);
      writes.put(leaseKey(leases.size), encodeNumber(leaseKey(leases.size), expiresAt));
      return leases.size;
    };
    for await (const {expiresAt, ...record} of snapshot.records()) {
      const lease = expiresAt === undefined ? undefined : leaseAt(expiresAt);
      writes.put(record.revision, encodeChange(record.key, {...record, lease}, record.revision, 0));
      writes.put(tables.head + record.key, encodeNumber(tables.head + record.key, record.revision));
      if (lease !== undefined) writes.put(underKey(lease, record.key), nothing);
      if (++count % batch === 0) {
        await writes.durable(tree);
        writes = new Writes(path);
      }
    }
    for (const name of [metaKeys.compacted, metaKeys.swept]) writes.put(name, encodeNumber(name, revision + revisionGap));
    await writes.durable(tree);
  } finally {
    await tree.close();
  }
};
