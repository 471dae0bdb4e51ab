// Reads an embedded store into a snapshot while another process has it open, and makes a store from a snapshot.

import {randomBytes} from 'node:crypto';
import {existsSync, readdirSync, renameSync, rmdirSync, rmSync} from 'node:fs';
import {dirname, join} from 'node:path';
import type {RangeOptions} from 'lmdb';
import {makeFolder} from '#src/base/files/folder.js';
import {nextTurn} from '#src/base/turn.js';
import {StoreUnusable} from '#src/storage/errors.js';
import type {SnapshotReader, SnapshotRecord} from '#src/storage/snapshot/format.js';
import {claim, identityOf} from './claim.js';
import {checkMagic, reserve, release, unusable} from './directory.js';
import {metaKeys} from './engine.js';
import {decodeNumber, decodeRecord, encodeChange, encodeNumber, leaseKey, leaseOf, tables, underKey} from './layout.js';
import {nothing, treeSettings, Writes, type Tree} from './writes.js';

/** How many records are read or written in one turn. */
const batch = 500;

const hasStore = (directory: string): boolean => existsSync(join(directory, 'data.mdb'));

/** A consistent view of a store at one revision. */
export interface EmbeddedView extends AsyncDisposable {
  readonly naming: string;
  readonly revision: number;
  records(): AsyncIterable<SnapshotRecord>;
}

/** Opens a view of the store in a directory, which another process may be using. Rejects with `StoreUnusable`, with one line. */
export const viewEmbedded = async (directory: string): Promise<EmbeddedView> => {
  if (!hasStore(directory)) throw new StoreUnusable(`there is no store in ${directory}`);
  const {open} = await import('lmdb');
  try {
    checkMagic(join(directory, 'data.mdb'));
    const tree: Tree = open({path: directory, readOnly: true, ...treeSettings});
    return new View(tree, directory);
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
      return bytes ? decodeNumber(bytes) : 0;
    };
    let newest = Math.max(1, at(metaKeys.compacted));
    for (const key of tree.getKeys(this.#within({start: 2 ** 48 - 1, end: 0, reverse: true, limit: 1})))
      newest = Math.max(newest, Number(key));
    this.revision = newest;
    const leases = Array.from(tree.getRange(this.#within({start: tables.lease, end: tables.under})));
    this.#leases = new Map(leases.map(({key, value}) => [leaseOf(key as string), decodeNumber(value)]));
  }

  async *records(): AsyncGenerator<SnapshotRecord> {
    let count = 0;
    for (const {key, value} of this.#tree.getRange(this.#within({start: tables.head, end: tables.gone}))) {
      const revision = decodeNumber(value);
      const bytes = this.#tree.get(revision, {transaction: this.#transaction});
      if (!bytes) throw new StoreUnusable(`the record of ${String(key)} at revision ${revision} is missing in the store`);
      const {value: content, created, lease} = decodeRecord(key as string, revision, bytes, bytes.length);
      const expiresAt = lease === undefined ? undefined : this.#leases.get(lease);
      yield {key: key as string, value: content, revision, created, ...(expiresAt === undefined ? {} : {expiresAt})};
      if (++count % batch === 0) await nextTurn();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#transaction.done();
    await this.#tree.close();
  }

  #within(range: RangeOptions): RangeOptions {
    return {...range, transaction: this.#transaction};
  }
}

/** How far the revisions of a restored store are beyond those of the snapshot: no client has seen one of them, so all watches begin anew. */
export const revisionGap = 1_000_000;

/**
 * Makes a store in a directory from a snapshot. The store appears, complete and on disk, once the snapshot was verified; before, and after a failure, there is none.
 * Records keep their revisions, and history begins after them. Rejects with `StoreUnusable` if there is a store already.
 */
export const restoreEmbedded = async (directory: string, snapshot: SnapshotReader): Promise<void> => {
  if (hasStore(directory)) throw new StoreUnusable(`there is a store in ${directory} already: remove it, or give another directory`);
  makeFolder(dirname(directory));
  const temporary = join(dirname(directory), `.restore-${randomBytes(8).toString('hex')}`);
  try {
    const path = reserve(temporary);
    try {
      await write(path, directory, snapshot);
    } finally {
      release(path);
    }
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
    let writes = new Writes(tree);
    let count = 0;
    const leases = new Map<number, number>();
    const leaseAt = (expiresAt: number): number => {
      const known = leases.get(expiresAt);
      if (known !== undefined) return known;
      leases.set(expiresAt, leases.size + 1);
      writes.put(leaseKey(leases.size), encodeNumber(expiresAt));
      return leases.size;
    };
    for await (const {expiresAt, ...record} of snapshot.records()) {
      const lease = expiresAt === undefined ? undefined : leaseAt(expiresAt);
      writes.put(record.revision, encodeChange(record.key, {...record, lease}, 0));
      writes.put(tables.head + record.key, encodeNumber(record.revision));
      if (lease !== undefined) writes.put(underKey(lease, record.key), nothing);
      if (++count % batch === 0) {
        await writes.durable();
        writes = new Writes(tree);
      }
    }
    const newest = encodeNumber(revision + revisionGap);
    writes.put(metaKeys.compacted, newest);
    writes.put(metaKeys.swept, newest);
    await writes.durable();
  } finally {
    await tree.close();
  }
};
