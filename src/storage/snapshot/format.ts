// The file of a snapshot: a magic text, then a gzip stream of frames, each with its length. The first frame is the
// header, the last one the summary with two SHA-256 hashes: of all frames before it, and of keys and values alone,
// which is the same for every store with the same content: values are hashed in a canonical form, which the caller
// gives. Records are in the order of their keys. Both directions work on streams and keep one chunk in memory.

import {createHash, type Hash} from 'node:crypto';
import type {Readable, Writable} from 'node:stream';
import {pipeline} from 'node:stream/promises';
import {createGunzip, createGzip} from 'node:zlib';

/** The description of a snapshot. */
export interface SnapshotHeader {
  readonly naming: string;
  /** The store's revision that it shows. */
  readonly revision: number;
  /** When it was taken, as RFC 3339 text. */
  readonly taken: string;
  /** The release of the program that took it. */
  readonly version: string;
}

export interface SnapshotRecord {
  readonly key: string;
  /** In the form of the embedded store, whatever store it is from; encrypted values as they are. */
  readonly value: Buffer;
  readonly revision: number;
  readonly created: number;
  /** When the record's lease ends, in wall time in ms; absent for one without. */
  readonly expiresAt?: number;
}

export interface SnapshotSummary {
  readonly keys: number;
  /** The bytes of keys and values. */
  readonly bytes: number;
  /** The hash of keys and values. */
  readonly content: string;
  /** The hash of everything. */
  readonly hash: string;
}

/** A file that is no snapshot, or a damaged one; the message is one line. */
export class SnapshotDamaged extends Error {
  override readonly name = 'SnapshotDamaged';
}

const magic = Buffer.from('plat snapshot 1\n');
const kinds = {header: 1, record: 2, summary: 3} as const;
/** Beyond the largest record of any store. */
const longestFrame = 64 << 20;
const numberBytes = 6;
/* kind 1, revision 6, created 6, end of the lease 8, length of the key 2 */
const recordHead = 1 + 2 * numberBytes + 8 + 2;

const jsonFrame = (kind: number, content: object): Buffer => Buffer.concat([Buffer.of(kind), Buffer.from(JSON.stringify(content))]);

const recordFrame = ({key, value, revision, created, expiresAt = 0}: SnapshotRecord): Buffer => {
  const keyBytes = Buffer.from(key);
  const head = Buffer.alloc(recordHead);
  head[0] = kinds.record;
  head.writeUIntBE(revision, 1, numberBytes);
  head.writeUIntBE(created, 1 + numberBytes, numberBytes);
  head.writeDoubleBE(expiresAt, 1 + 2 * numberBytes);
  head.writeUInt16BE(keyBytes.length, recordHead - 2);
  return Buffer.concat([head, keyBytes, value]);
};

const recordOf = (frame: Buffer): SnapshotRecord => {
  const keyEnd = recordHead + frame.readUInt16BE(recordHead - 2);
  const expiresAt = frame.readDoubleBE(1 + 2 * numberBytes);
  return {
    key: frame.toString('utf8', recordHead, keyEnd),
    value: frame.subarray(keyEnd),
    revision: frame.readUIntBE(1, numberBytes),
    created: frame.readUIntBE(1 + numberBytes, numberBytes),
    ...(expiresAt ? {expiresAt} : {}),
  };
};

/** Returns the form of a value that is the same wherever it is stored. */
export type Canonical = (value: Buffer) => Buffer;

/** Counts and hashes records by key and canonical value. */
export class ContentHash {
  readonly #canonical: Canonical;
  readonly #hash = createHash('sha256');
  readonly #length = Buffer.alloc(8);
  keys = 0;
  bytes = 0;

  constructor(canonical: Canonical) {
    this.#canonical = canonical;
  }

  add({key, value: stored}: Pick<SnapshotRecord, 'key' | 'value'>): void {
    const keyBytes = Buffer.from(key);
    const value = this.#canonical(stored);
    this.#length.writeUInt32BE(keyBytes.length, 0);
    this.#length.writeUInt32BE(value.length, 4);
    this.#hash.update(this.#length).update(keyBytes).update(value);
    this.keys++;
    this.bytes += keyBytes.length + value.length;
  }

  digest(): string {
    return this.#hash.digest('hex');
  }
}

const lengthOf = (frame: Buffer): Buffer => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(frame.length);
  return length;
};

/**
 * Writes a snapshot to a stream, which is ended. Records must come in the order of their keys. Rejects with the error
 * of the stream or of the records.
 */
export const writeSnapshot = async (
  header: SnapshotHeader,
  records: AsyncIterable<SnapshotRecord> | Iterable<SnapshotRecord>,
  {out, canonical}: {readonly out: Writable; readonly canonical: Canonical},
): Promise<SnapshotSummary> => {
  out.write(magic);
  const content = new ContentHash(canonical);
  const hash = createHash('sha256');
  const summary: {value?: SnapshotSummary} = {};
  const frames = async function* (): AsyncGenerator<Buffer> {
    const hashed = (frame: Buffer): Buffer => {
      const bytes = Buffer.concat([lengthOf(frame), frame]);
      hash.update(bytes);
      return bytes;
    };
    yield hashed(jsonFrame(kinds.header, header));
    for await (const record of records) {
      content.add(record);
      yield hashed(recordFrame(record));
    }
    const {keys, bytes} = content;
    summary.value = {keys, bytes, content: content.digest(), hash: hash.digest('hex')};
    const last = jsonFrame(kinds.summary, summary.value);
    yield Buffer.concat([lengthOf(last), last]);
  };
  await pipeline(frames, createGzip(), out);
  return summary.value!;
};

const parsed = <T>(frame: Buffer): T => {
  try {
    return JSON.parse(frame.toString('utf8', 5)) as T;
  } catch (cause) {
    throw new SnapshotDamaged('its header or summary is damaged', {cause});
  }
};

/** Cuts a stream into frames. */
class FrameReader {
  readonly #source: AsyncIterator<Buffer>;
  #buffered: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Returns the next frame with its length before it; undefined at the end of the stream. */
  async next(): Promise<Buffer | undefined> {
    const head = await this.#take(4);
    if (!head) return undefined;
    const length = head.readUInt32BE();
    if (length === 0 || length > longestFrame) throw new SnapshotDamaged('it holds a frame of an impossible length');
    const frame = await this.#take(length);
    if (!frame) throw new SnapshotDamaged('it is cut off');
    return Buffer.concat([head, frame]);
  }

  async #take(length: number): Promise<Buffer | undefined> {
    const parts = [this.#buffered];
    for (let size = this.#buffered.length; size < length;) {
      const {done, value} = await this.#source.next();
      if (done) {
        if (size > 0) throw new SnapshotDamaged('it is cut off');
        return undefined;
      }
      parts.push(value);
      size += value.length;
    }
    const all = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
    this.#buffered = all.subarray(length);
    return all.subarray(0, length);
  }
}

/** Yields a stream after its magic text. Throws `SnapshotDamaged` if it begins with another one. */
async function* afterMagic(input: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let head: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of input) {
    if (!head) yield chunk;
    else {
      head = Buffer.concat([head, chunk]);
      if (head.length < magic.length) continue;
      const rest = head.subarray(magic.length);
      checkMagic(head);
      head = undefined;
      yield rest;
    }
  }
  if (head) checkMagic(head);
}

const checkMagic = (head: Buffer): void => {
  if (!head.subarray(0, magic.length).equals(magic)) throw new SnapshotDamaged('it is not a snapshot of plat');
};

/** A snapshot that is read from a stream, once, from the beginning to the end. */
export class SnapshotReader {
  readonly header: SnapshotHeader;
  readonly #frames: FrameReader;
  readonly #hash: Hash;
  readonly #canonical: Canonical;
  #summary: SnapshotSummary | undefined;

  private constructor(header: SnapshotHeader, frames: FrameReader, hash: Hash, canonical: Canonical) {
    this.header = header;
    this.#frames = frames;
    this.#hash = hash;
    this.#canonical = canonical;
  }

  /** Reads the header. Rejects with `SnapshotDamaged` for another file. */
  static async open(input: Readable, canonical: Canonical): Promise<SnapshotReader> {
    const unpacked = createGunzip();
    // The reader sees the error of the input as one of the unpacked stream.
    pipeline(input, afterMagic, unpacked).catch(() => {});
    const frames = new FrameReader(unpacked);
    const hash = createHash('sha256');
    const frame = await readable(() => frames.next());
    if (frame?.[4] !== kinds.header) throw new SnapshotDamaged('it has no header');
    hash.update(frame);
    return new SnapshotReader(parsed<SnapshotHeader>(frame), frames, hash, canonical);
  }

  /**
   * The records, in the order of their keys. Throws `SnapshotDamaged` at the end unless all of them are as they were
   * written.
   */
  async *records(): AsyncGenerator<SnapshotRecord> {
    const content = new ContentHash(this.#canonical);
    for (;;) {
      const frame = await readable(() => this.#frames.next());
      if (!frame) throw new SnapshotDamaged('it is cut off');
      if (frame[4] === kinds.summary) {
        const summary = parsed<SnapshotSummary>(frame);
        const found = {keys: content.keys, bytes: content.bytes, content: content.digest(), hash: this.#hash.digest('hex')};
        if (found.hash !== summary.hash || found.content !== summary.content)
          throw new SnapshotDamaged('its hash does not match its content');
        // The rest is the checksum of the compressed data, which is checked where the stream ends.
        if (await readable(() => this.#frames.next())) throw new SnapshotDamaged('it goes on after its end');
        this.#summary = found;
        return;
      }
      this.#hash.update(frame);
      const record = recordOf(frame.subarray(4));
      content.add(record);
      yield record;
    }
  }

  /** The verified summary, once all records were read. */
  get summary(): SnapshotSummary {
    if (!this.#summary) throw new Error('the snapshot was not read to its end');
    return this.#summary;
  }
}

/** Turns errors of decompression into those of a damaged file. */
const readable = async <T>(act: () => Promise<T>): Promise<T> => {
  try {
    return await act();
  } catch (error) {
    if (error instanceof SnapshotDamaged) throw error;
    const {code = ''} = error as NodeJS.ErrnoException;
    if (code === 'Z_BUF_ERROR' || code === 'ERR_STREAM_PREMATURE_CLOSE') throw new SnapshotDamaged('it is cut off', {cause: error});
    if (code.startsWith('Z_')) throw new SnapshotDamaged('its compressed data are damaged', {cause: error});
    throw error;
  }
};
