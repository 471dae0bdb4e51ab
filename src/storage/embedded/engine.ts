import {statSync} from 'node:fs';
import {join} from 'node:path';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {
  Commit,
  EngineChange,
  GrantedLease,
  HeldRecord,
  History,
  HistoryQuery,
  KeyCount,
  StorageEngine,
} from '#src/storage/local/engine.js';
import type {Extent, Page} from '#src/storage/local/page.js';
import type {LeaseId, RevisionNote, StoredRecord} from '#src/storage/store.js';
import {Compaction} from './compaction.js';
import {dataFile} from './directory.js';
import type {HotRanges} from './hot-ranges.js';
import {encodeChange, encodeNumber, leaseKey, metaKeys, tables, underKey} from './layout.js';
import type {MappedTree} from './mapped-tree.js';
import {RangeReader} from './range-reader.js';
import {RecordTree} from './record-tree.js';
import {TreeWriter} from './tree-writer.js';
import {nothing, type Writes} from './writes.js';

interface EngineParts {
  readonly directory: string;
  readonly hot: HotRanges;
  readonly log: Log;
  readonly clock: Clock;
  /** The bound on the bytes of history; zero for none. */
  readonly historyBytes: number;
  /** Whether another process may have opened the store, since its lock file was replaced. */
  readonly isLockReplaced: () => boolean;
  /** Called once the tree is closed, with whether all writes are on disk and nobody else writes. */
  release(isSound: boolean): void;
}

/** Keeps records in an LMDB tree; see `layout.ts` for its layout. Only one process may open it. */
export class EmbeddedEngine implements StorageEngine {
  readonly #tree: MappedTree;
  readonly #directory: string;
  readonly #release: (isSound: boolean) => void;
  readonly #records: RecordTree;
  readonly #reader: RangeReader;
  readonly #writer: TreeWriter;
  readonly #compaction: Compaction;
  /** The newest revision known to be durable. */
  #durable: number;
  /** The last revision of the commit in progress, which becomes visible atomically. */
  #committing: number | undefined;

  constructor(tree: MappedTree, {directory, hot, release, log, clock, historyBytes, isLockReplaced}: EngineParts) {
    const revision = (): number => this.revision();
    this.#tree = tree;
    this.#directory = directory;
    this.#release = release;
    this.#records = new RecordTree(tree);
    this.#durable = this.#records.newestRevision();
    this.#reader = new RangeReader(this.#records, hot, revision);
    this.#writer = new TreeWriter(tree, {directory, log, isLockReplaced});
    this.#compaction = new Compaction(this.#records, this.#writer, {clock, log, historyBytes, revision});
  }

  revision(): number {
    // A commit may be visible before it resolves.
    const committing = this.#committing;
    return committing !== undefined && this.#records.has(committing) ? committing : this.#durable;
  }

  compacted(): number {
    return this.#records.compacted;
  }

  get(key: string): StoredRecord | undefined {
    return this.#reader.get(key);
  }

  held(key: string): HeldRecord | undefined {
    return this.#reader.held(key);
  }

  isEmpty(start: string, end: string): boolean {
    return this.#reader.isEmpty(start, end);
  }

  range(start: string, end: string, extent: Extent): Page {
    return this.#reader.range(start, end, extent);
  }

  rangeAt(start: string, end: string, extent: Extent, revision: number): Page {
    return this.#reader.rangeAt(start, end, extent, revision);
  }

  count(start: string, end: string, most: number): KeyCount {
    return this.#reader.count(start, end, most);
  }

  history(query: HistoryQuery): History {
    return this.#records.history(query);
  }

  leases(): GrantedLease[] {
    return this.#records.leases();
  }

  keysUnder(lease: LeaseId, limit: number): string[] {
    return this.#records.keysUnder(lease, limit);
  }

  async commit({changes, granted, forgotten}: Commit): Promise<void> {
    const writes = this.#writer.begin();
    const deletions = new Map<string, number>();
    for (const change of changes) this.#apply(writes, change, deletions);
    this.#reader.beginCommit(changes);
    for (const {id, expiresAt} of granted) writes.put(leaseKey(id), encodeNumber(leaseKey(id), expiresAt));
    for (const lease of forgotten) writes.remove(leaseKey(lease));
    const last = changes.at(-1)?.revision;
    if (last !== undefined) this.#committing = last;
    try {
      await this.#writer.commit(writes);
      this.#durable = last ?? this.#durable;
    } finally {
      if (last !== undefined) this.#committing = undefined;
      this.#reader.endCommit(changes);
    }
    this.#compaction.committed(changes);
  }

  /** Ends all writes: another process has claimed the store. */
  lose(): void {
    this.#writer.lose();
  }

  writeProblem(): Promise<string | undefined> {
    return this.#writer.problem();
  }

  compact(revision: number): Promise<void> {
    return this.#compaction.compact(revision);
  }

  /** Resumes the unfinished compaction of an earlier process and starts to count the history. */
  resume(): void {
    this.#compaction.resume();
  }

  noted(): RevisionNote | undefined {
    const [revision, at] = [this.#records.noted(metaKeys.noted), this.#records.noted(metaKeys.notedAt)];
    return revision === undefined || at === undefined ? undefined : {revision, at};
  }

  async note({revision, at}: RevisionNote): Promise<void> {
    const writes = this.#writer.begin();
    writes.put(metaKeys.noted, encodeNumber(metaKeys.noted, revision));
    writes.put(metaKeys.notedAt, encodeNumber(metaKeys.notedAt, Math.trunc(at)));
    await this.#writer.commit(writes);
  }

  size(): number {
    return statSync(join(this.#directory, dataFile)).size;
  }

  async close(): Promise<void> {
    this.#reader.close();
    await this.#compaction.close();
    const {isSound} = this.#writer;
    await this.#tree.close();
    this.#release(isSound);
  }

  #apply(writes: Writes, {key, revision, record, previous, damage}: EngineChange, deletions: Map<string, number>): void {
    let before = previous?.revision ?? 0;
    // A damaged change may be that of another key: then compaction must not remove it with this one.
    if (damage && !this.#records.ownHead(key, before)) before = 0;
    if (!previous) {
      // A creation links to the deletion before it, which may be part of this very commit.
      before = deletions.get(key) ?? this.#records.revisionAt(tables.gone + key);
      if (before !== 0) writes.remove(tables.gone + key);
    }
    writes.put(revision, encodeChange(key, record, revision, before));
    if (record) writes.put(tables.head + key, encodeNumber(tables.head + key, revision));
    else {
      writes.remove(tables.head + key);
      writes.put(tables.gone + key, encodeNumber(tables.gone + key, revision));
      deletions.set(key, revision);
    }
    if (previous?.lease === record?.lease) return;
    if (previous?.lease !== undefined) writes.remove(underKey(previous.lease, key));
    if (record?.lease !== undefined) writes.put(underKey(record.lease, key), nothing);
  }
}
