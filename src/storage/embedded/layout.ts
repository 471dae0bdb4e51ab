// The keys and values of the embedded store's database, and their encoding.

import {crc32} from 'node:zlib';
import type {LeaseId, StoredRecord} from '#src/storage/store.js';
import type {Entry} from './pages.js';

/*
 * Everything is in one LMDB tree, so that a commit touches few pages; the first byte of a key is its table. Values are
 * written once, into history, whose keys only grow, so writes append. The small, scattered head entries stay dense.
 *
 *   1 name           metadata of the store
 *   2 key            head: the revision of the key's record
 *   3 key            gone: the revision at which the key was deleted, until compaction
 *   4 lease          when the lease expires
 *   5 lease key      a key whose record was last written under the lease
 *   6 revision       history: one change
 *
 * A change links to the previous one of its key, across deletions, as far as history goes back. Compaction removes the
 * changes superseded up to its revision; the newest change of an existing key always stays, since it is the record.
 */
export const tables = {meta: '\u0001', head: '\u0002', gone: '\u0003', lease: '\u0004', under: '\u0005'} as const;
const historyTable = 6;

/** The metadata of an engine. */
export const metaKeys = {
  compacted: `${tables.meta}compacted`,
  swept: `${tables.meta}swept`,
  noted: `${tables.meta}noted`,
  notedAt: `${tables.meta}noted-at`,
  probe: `${tables.meta}probe`,
} as const;

/** The key of a change is its revision as a number; all other keys are strings that begin with their table. */
export type LayoutKey = string | number;

const revisionBytes = 6;

/** Encodes keys so that LMDB's bytewise order is their order. Decoded keys come without their table. */
export const keyEncoder = {
  writeKey(key: LayoutKey, target: Buffer, position: number): number {
    if (typeof key === 'number') {
      target[position] = historyTable;
      return target.writeUIntBE(key, position + 1, revisionBytes);
    }
    const {length} = key;
    // On this error LMDB's binding retries with a larger buffer.
    if (position + length * 3 > target.length && position + Buffer.byteLength(key) > target.length)
      throw new RangeError('no room for the key');
    for (let index = 0; index < length; index++) {
      const unit = key.charCodeAt(index);
      if (unit > 0x7f) return position + index + target.write(key.slice(index), position + index, 'utf8');
      target[position + index] = unit;
    }
    return position + length;
  },
  readKey(source: Buffer, start: number, end: number): LayoutKey {
    return source[start] === historyTable ? source.readUIntBE(start + 1, revisionBytes) : source.toString('utf8', start + 1, end);
  },
};

const leaseDigits = 11;
const leaseName = (lease: LeaseId): string => lease.toString(36).padStart(leaseDigits, '0');

export const leaseKey = (lease: LeaseId): string => tables.lease + leaseName(lease);
export const underKey = (lease: LeaseId, key: string): string => tables.under + leaseName(lease) + key;
/** Parse decoded keys of `leaseKey` and `underKey`. */
export const leaseOf = (decoded: string): LeaseId => Number.parseInt(decoded.slice(0, leaseDigits), 36);
export const keyUnder = (decoded: string): string => decoded.slice(leaseDigits);

const checksumBytes = 4;
const numberBytes = 8;

/** Encodes the number under a key, with a checksum of both. */
export const encodeNumber = (key: string, value: number): Buffer => {
  const bytes = Buffer.allocUnsafe(numberBytes + checksumBytes);
  bytes.writeDoubleBE(value);
  bytes.writeUInt32BE(crc32(key, crc32(bytes.subarray(0, numberBytes))), numberBytes);
  return bytes;
};

export const decodeNumber = (bytes: Buffer): number => bytes.readDoubleBE(0);

/** Whether the bytes under a key are an undamaged number. Those of format 1 have no checksum. */
const isNumber = (key: string | Buffer, bytes: Buffer, size: number): boolean =>
  size === numberBytes ||
  (size === numberBytes + checksumBytes && crc32(key, crc32(bytes.subarray(0, numberBytes))) === bytes.readUInt32BE(numberBytes));

const longestRevision = 2 ** 48 - 1;

/** No change has this revision: it stands for a damaged reference. */
const unknownRevision = 1;

/** Returns the revision that a key refers to; `unknownRevision` if the bytes are damaged. */
export const decodeRevision = (bytes: Buffer, size: number): number => {
  if (size < numberBytes) return unknownRevision;
  const revision = decodeNumber(bytes);
  return Number.isInteger(revision) && revision > 0 && revision <= longestRevision ? revision : unknownRevision;
};

/** Whether a lease was read undamaged. */
export const isLease = ({id, expiresAt}: {readonly id: LeaseId; readonly expiresAt: number}): boolean =>
  Number.isSafeInteger(id) && id > 0 && Number.isFinite(expiresAt);

/** Returns a number of the metadata; undefined for a damaged one. */
export const decodeMeta = (name: string, bytes: Buffer, size: number): number | undefined => {
  if (!isNumber(name, bytes, size)) return undefined;
  const value = decodeNumber(bytes);
  return Number.isSafeInteger(value) && value >= 0 ? value : undefined;
};

const numberTables: ReadonlySet<number> = new Set([tables.head, tables.gone, tables.lease].map(table => table.charCodeAt(0)));

/**
 * Whether the raw key and value of an entry are undamaged, as far as the form of the key and the checksum of a number
 * show. Changes and metadata are checked when they are read.
 */
export const isSoundEntry = ({bytes, keyAt, keyEnd, end}: Entry): boolean => {
  const table = bytes[keyAt]!;
  if (table === historyTable) return keyEnd - keyAt === 1 + revisionBytes;
  if (!numberTables.has(table)) return table > 0 && table < historyTable;
  return isNumber(bytes.subarray(keyAt, keyEnd), bytes.subarray(keyEnd, end), end - keyEnd);
};

/*
 * kind 1, created 6, previous 6, lease 6, length of the key 2, then the key and the value, then two checksums: CRC-32
 * of all before the value, begun with the revision, and CRC-32 of the value, begun with the first one. Changes of
 * format 1 have other kinds and no checksums.
 */
const createdAt = 1;
const previousAt = createdAt + revisionBytes;
const leaseAt = previousAt + revisionBytes;
const keyLengthAt = leaseAt + revisionBytes;
const keyAt = keyLengthAt + 2;
const trailerBytes = 2 * checksumBytes;

const kinds = {uncheckedPut: 1, uncheckedDeletion: 2, put: 3, deletion: 4} as const;

const seedOf = (revision: number): number => revision % 2 ** 32;

/** The length of a change as history holds it. Those of format 1 are shorter by the checksums. */
export const changeLength = (key: string, record: StoredRecord | undefined): number =>
  keyAt + Buffer.byteLength(key) + (record?.value.length ?? 0) + trailerBytes;

/** A change as history holds it; `previous` is the revision of the key's change before, zero if there is none. */
export const encodeChange = (key: string, record: StoredRecord | undefined, revision: number, previous: number): Buffer => {
  const keyLength = Buffer.byteLength(key);
  const valueAt = keyAt + keyLength;
  const valueEnd = valueAt + (record?.value.length ?? 0);
  const bytes = Buffer.allocUnsafe(valueEnd + trailerBytes);
  bytes[0] = record ? kinds.put : kinds.deletion;
  bytes.writeUIntBE(record?.created ?? 0, createdAt, revisionBytes);
  bytes.writeUIntBE(previous, previousAt, revisionBytes);
  bytes.writeUIntBE(record?.lease ?? 0, leaseAt, revisionBytes);
  bytes.writeUInt16BE(keyLength, keyLengthAt);
  bytes.write(key, keyAt, 'utf8');
  record?.value.copy(bytes, valueAt);
  const head = crc32(bytes.subarray(0, valueAt), seedOf(revision));
  bytes.writeUInt32BE(head, valueEnd);
  bytes.writeUInt32BE(record ? crc32(record.value, head) : head, valueEnd + checksumBytes);
  return bytes;
};

/** What precedes the value of a change. */
export interface ChangeHead {
  readonly key: string;
  readonly isDeletion: boolean;
  readonly created: number;
  readonly previous: number;
  readonly lease: LeaseId | undefined;
  readonly valueAt: number;
  readonly valueEnd: number;
  /** The checksum of the value; undefined in changes of format 1. */
  readonly checksum: number | undefined;
}

/**
 * Returns the head of the change of a revision; undefined for a damaged one. `size` is the length of the change, whose
 * buffer may be longer.
 */
export const decodeHead = (change: Buffer, size: number, revision: number): ChangeHead | undefined => {
  const kind = change[0];
  const isChecked = kind === kinds.put || kind === kinds.deletion;
  if (!isChecked && kind !== kinds.uncheckedPut && kind !== kinds.uncheckedDeletion) return undefined;
  const valueEnd = isChecked ? size - trailerBytes : size;
  if (valueEnd < keyAt) return undefined;
  const valueAt = keyAt + change.readUInt16BE(keyLengthAt);
  if (valueAt > valueEnd) return undefined;
  let checksum: number | undefined;
  if (isChecked) {
    const head = change.readUInt32BE(valueEnd);
    if (crc32(change.subarray(0, valueAt), seedOf(revision)) !== head) return undefined;
    checksum = change.readUInt32BE(valueEnd + checksumBytes);
  }
  const lease = change.readUIntBE(leaseAt, revisionBytes);
  return {
    key: change.toString('utf8', keyAt, valueAt),
    isDeletion: kind === kinds.deletion || kind === kinds.uncheckedDeletion,
    created: change.readUIntBE(createdAt, revisionBytes),
    previous: change.readUIntBE(previousAt, revisionBytes),
    lease: lease === 0 ? undefined : lease,
    valueAt,
    valueEnd,
    checksum,
  };
};

/** Allocates the copy of a value. */
export type Room = (size: number) => Buffer;

/** Much less than a list reads at a time, so that its last slab, which is seldom full, wastes little. */
const slabBytes = 32 << 10;

/** Returns an allocator for the values of one range, which share slabs because they are released together. */
export const roomForMany = (): Room => {
  let slab: Buffer | undefined;
  let used = 0;
  return size => {
    if (size > slabBytes >> 2) return Buffer.allocUnsafe(size);
    if (!slab || used + size > slabBytes) {
      slab = Buffer.allocUnsafeSlow(slabBytes);
      used = 0;
    }
    return slab.subarray(used, (used += size));
  };
};

/** Returns a copy of the value of a change; undefined for a damaged one. */
export const decodeValue = (
  change: Buffer,
  {valueAt, valueEnd, checksum}: ChangeHead,
  room: Room = Buffer.allocUnsafe,
): Buffer | undefined => {
  const value = room(valueEnd - valueAt);
  change.copy(value, 0, valueAt, valueEnd);
  return checksum === undefined || crc32(value, change.readUInt32BE(valueEnd)) === checksum ? value : undefined;
};
