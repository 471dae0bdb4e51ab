// Records on disk: a folder with a file for each segment, in the form that they have in memory, and the key of the
// digests. Files are written behind the requests, in batches, and the oldest are removed when the bytes reach the
// bound. While the disk is full or away, what is recorded waits in memory, within a bound, and is written once it can
// be.

import {randomBytes} from 'node:crypto';
import {closeSync, existsSync, openSync, readdirSync, readFileSync, readSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {open, rm, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import type {Clock} from '#src/base/clock.js';
import {claimFolder} from '#src/base/files/claimed-folder.js';
import {makeFolder} from '#src/base/files/folder.js';
import {headerLength, timeOf} from './entry.js';
import {FileSegment, indexPath} from './file-segment.js';
import {MemorySegment, type Segment} from './segment.js';

/** Records wait for so long for others that are written with them, or until there are as many bytes. */
const batchMs = 500;
const batchBytes = 256 * 1024;
/** After a failure, how long until it is tried again. */
const retryMs = 5000;
/** Nothing is recorded while so many bytes wait for the disk. */
const maxWaitingBytes = 16 * 1024 * 1024;

const ownerFile = 'owner';
const keyFile = 'digest.key';
const keyBytes = 32;
const fileName = (firstSeq: number): string => `records-${String(firstSeq).padStart(16, '0')}.bin`;

/** The log whose segments are written. */
interface SegmentKeeper {
  /** Puts the file of a segment in its place. Returns false if it is no longer kept. */
  replace(segment: Segment, file: Segment): boolean;
}

/** A file that is written. */
export interface RecordFile {
  write(bytes: Uint8Array, from: number, length: number, position: number): Promise<{readonly bytesWritten: number}>;
  close(): Promise<void>;
}

/** A segment that is written, and how far. */
interface Writing {
  readonly segment: MemorySegment;
  readonly path: string;
  file?: RecordFile;
  written: number;
  isComplete: boolean;
}

export interface FolderParts {
  readonly path: string;
  /** The time of the machine: disks do not wait for that of a plane. */
  readonly clock: Clock;
  /** Called when nothing can be written; once, until something was written again. */
  failed(error: unknown): void;
  /** Called when something was written again. */
  resumed(): void;
  /** Creates a file that only this user can read; in the file system unless given. */
  readonly create?: (path: string) => Promise<RecordFile>;
}

const createFile = (path: string): Promise<RecordFile> => open(path, 'w', 0o600);

/** Another recorder has the folder. */
class FolderInUse extends Error {}

/** Returns what claims a folder for this process, beside the file that tells its process. */
const claimed = async (path: string, clock: Clock): Promise<Disposable | undefined> => {
  const file = join(path, ownerFile);
  const claim = await claimFolder(path, 'plat-records', clock);
  const owner = ownerIn(file);
  // Where there are no claims, a process that lives and is not this one counts.
  if (claim === 'taken' || (!claim && owner !== undefined && owner !== process.pid && isAlive(owner)))
    throw new FolderInUse(
      `in use by ${owner === undefined ? 'another server' : `the server of process ${owner}`}: stop that one, or give another folder`,
    );
  writeFileSync(file, `${process.pid}\n`, {mode: 0o600});
  return claim;
};

const ownerIn = (file: string): number | undefined => {
  try {
    return Number(readFileSync(file, 'utf8')) || undefined;
  } catch {
    return undefined;
  }
};

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};

/** The folder of a recorder, which no other recorder can use meanwhile. */
export class RecordFolder {
  /** The key of the digests of secrets, the same over restarts. */
  readonly digestKey: Buffer;
  /** The segments of earlier recorders. */
  readonly found: readonly Segment[];
  readonly #parts: FolderParts;
  readonly #claim: Disposable | undefined;
  readonly #writing: Writing[] = [];
  #log: SegmentKeeper | undefined;
  #planned: Disposable | undefined;
  #flushing: Promise<void> | undefined;
  #isFailing = false;
  #isClosed = false;

  private constructor(parts: FolderParts, claim: Disposable | undefined) {
    this.#parts = parts;
    this.#claim = claim;
    this.digestKey = keyIn(parts.path);
    this.found = segmentsIn(parts.path);
  }

  /** Rejects if the folder cannot be read or written, or another recorder has it. */
  static async open(parts: FolderParts): Promise<RecordFolder> {
    makeFolder(parts.path);
    const claim = await claimed(parts.path, parts.clock);
    try {
      return new RecordFolder(parts, claim);
    } catch (error) {
      claim?.[Symbol.dispose]();
      throw error;
    }
  }

  /** Whether records are taken: not while the disk is far behind, or fails for long. */
  get takesRecords(): boolean {
    return !this.#isClosed && (this.#writing.length < 2 || this.#waitingBytes < maxWaitingBytes);
  }

  get #waitingBytes(): number {
    return this.#writing.reduce((sum, {segment, written}) => sum + segment.used - written, 0);
  }

  /** Begins to write a segment of a log; the one before is complete. */
  begin(log: SegmentKeeper, segment: MemorySegment): void {
    this.#log = log;
    const last = this.#writing.at(-1);
    if (last) last.isComplete = true;
    this.#writing.push({segment, path: join(this.#parts.path, fileName(segment.firstSeq)), written: 0, isComplete: false});
  }

  /** Has what was appended written soon. */
  appended(): void {
    const {segment, written} = this.#writing.at(-1)!;
    if (this.#flushing || this.#isFailing) return;
    if (segment.used - written >= batchBytes) void this.flush();
    else this.#planned ??= this.#parts.clock.schedule(batchMs, () => this.flush());
  }

  /** Writes what was appended. Never rejects. */
  flush(): Promise<void> {
    this.#planned?.[Symbol.dispose]();
    this.#planned = undefined;
    this.#flushing ??= this.#write()
      .then(() => this.#succeeded())
      .catch((error: unknown) => this.#fail(error))
      .finally(() => {
        this.#flushing = undefined;
        if (!this.#isClosed && this.#waitingBytes > 0) this.appended();
      });
    return this.#flushing;
  }

  async close(): Promise<void> {
    await this.#flushing;
    await this.flush();
    this.#isClosed = true;
    this.#planned?.[Symbol.dispose]();
    for (const writing of this.#writing.splice(0)) {
      await writing.file?.close();
      if (writing.written > 0) await this.#writeIndex(writing);
    }
    this.#claim?.[Symbol.dispose]();
  }

  #succeeded(): void {
    if (!this.#isFailing) return;
    this.#isFailing = false;
    this.#parts.resumed();
  }

  #fail(error: unknown): void {
    if (this.#isClosed) return;
    this.#planned = this.#parts.clock.schedule(retryMs, () => this.flush());
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#parts.failed(error);
  }

  /** Returns how long the index is: nothing if it cannot be written, for without it the file is read whole. */
  async #writeIndex({segment, path, written}: Writing): Promise<number> {
    if (written < segment.used) return 0;
    const text = Buffer.from(segment.index());
    try {
      await writeFile(indexPath(path), text, {mode: 0o600});
      return text.length;
    } catch {
      await rm(indexPath(path), {force: true}).catch(() => {});
      return 0;
    }
  }

  async #write(): Promise<void> {
    for (let first = this.#writing[0]; first && !this.#isClosed; first = this.#writing[0]) {
      const {segment, path} = first;
      const bytes = segment.sealed(first.written);
      if (bytes.length > 0) {
        first.file ??= await (this.#parts.create ?? createFile)(path);
        // By position: a write that failed may have written a part, which is written once more.
        for (let from = 0; from < bytes.length;)
          from += (await first.file.write(bytes, from, bytes.length - from, first.written + from)).bytesWritten;
        first.written += bytes.length;
      }
      if (!first.isComplete) return;
      // Records may have been appended meanwhile.
      if (first.written < segment.used) continue;
      await first.file?.close();
      this.#writing.shift();
      const {firstSeq, count, firstTime, lastTime, used} = segment;
      const indexBytes = await this.#writeIndex(first);
      const written = new FileSegment(path, {firstSeq, count, fileBytes: used, indexBytes, firstTime, lastTime});
      if (this.#log?.replace(segment, written) === false) written.drop();
    }
  }
}

const keyIn = (path: string): Buffer => {
  const file = join(path, keyFile);
  try {
    const key = readFileSync(file);
    if (key.length === keyBytes) return key;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const key = randomBytes(keyBytes);
  writeFileSync(file, key, {mode: 0o600});
  return key;
};

/** The bytes of a file; none of one that there is not. */
const bytesOf = (path: string): number => statSync(path, {throwIfNoEntry: false})?.size ?? 0;

/** Returns the segments of a folder. Only the last one may have been cut off. */
const segmentsIn = (path: string): readonly Segment[] => {
  const names = readdirSync(path);
  const files = names
    .filter(name => /^records-\d{16}\.bin$/.test(name))
    .sort()
    .map(name => ({file: join(path, name), firstSeq: Number(name.slice(8, 24)), bytes: statSync(join(path, name)).size}));
  const segments: Segment[] = [];
  for (const {file, firstSeq, bytes} of files.toReversed()) {
    const next = segments[0];
    const known = next
      ? {count: next.firstSeq - firstSeq, firstTime: firstTimeIn(file), lastTime: next.firstTime}
      : MemorySegment.of(firstSeq, readFileSync(file));
    const {count} = known;
    if (count === 0) rmSync(file, {force: true});
    else {
      const {firstTime, lastTime} = known;
      const indexBytes = bytesOf(indexPath(file));
      segments.unshift(new FileSegment(file, {firstSeq, count, fileBytes: bytes, indexBytes, firstTime, lastTime}));
    }
  }
  for (const name of names)
    if (/^records-\d{16}\.index$/.test(name) && !existsSync(join(path, name.replace('.index', '.bin')))) rmSync(join(path, name));
  return segments;
};

const firstTimeIn = (path: string): number => {
  const header = Buffer.alloc(headerLength);
  const file = openSync(path, 'r');
  try {
    readSync(file, header);
  } finally {
    closeSync(file);
  }
  return timeOf(header, 0);
};
