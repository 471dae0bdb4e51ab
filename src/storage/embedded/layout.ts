// The keys and values of the embedded store's database, and their encoding.

import type {LeaseId, StoredRecord} from '#src/storage/store.js';

/*
 * Everything is in one LMDB tree, so that a commit touches few pages; the first byte of a key is its table. Values are written once, into
 * history, whose keys only grow, so writes append. The small, scattered head entries stay dense.
 *
 *   1 name           metadata of the store
 *   2 key            head: the revision of the key's record
 *   3 key            gone: the revision at which the key was deleted, until compaction
 *   4 lease          when the lease expires
 *   5 lease key      a key whose record was last written under the lease
 *   6 revision       history: one change
 *
 * A change links to the previous one of its key, across deletions, as far as history goes back. Compaction removes the changes
 * superseded up to its revision; the newest change of an existing key always stays, since it is the record.
 */
export const tables = {meta: '\u0001', head: '\u0002', gone: '\u0003', lease: '\u0004', under: '\u0005'} as const;
const historyTable = 6;

/** The key of a change is its revision as a number; all other keys are strings that begin with their table. */
export type LayoutKey = string | number;

const revisionBytes = 6;

/** Encodes keys so that LMDB's bytewise order is their order. Decoded keys lack their table. */
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

export const encodeNumber = (value: number): Buffer => {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeDoubleBE(value);
  return bytes;
};

export const decodeNumber = (bytes: Buffer): number => bytes.readDoubleBE(0);

/* kind 1, created 6, previous 6, lease 6, length of the key 2, then the key and the value */
const createdAt = 1;
const previousAt = createdAt + revisionBytes;
const leaseAt = previousAt + revisionBytes;
const keyLengthAt = leaseAt + revisionBytes;
const keyAt = keyLengthAt + 2;

const kinds = {put: 1, deletion: 2} as const;

/** A change as history holds it; `previous` is the revision of the key's change before, zero if there is none. */
export const encodeChange = (key: string, record: StoredRecord | undefined, previous: number): Buffer => {
  const keyLength = Buffer.byteLength(key);
  const bytes = Buffer.allocUnsafe(keyAt + keyLength + (record?.value.length ?? 0));
  bytes[0] = record ? kinds.put : kinds.deletion;
  bytes.writeUIntBE(record?.created ?? 0, createdAt, revisionBytes);
  bytes.writeUIntBE(previous, previousAt, revisionBytes);
  bytes.writeUIntBE(record?.lease ?? 0, leaseAt, revisionBytes);
  bytes.writeUInt16BE(keyLength, keyLengthAt);
  bytes.write(key, keyAt, 'utf8');
  record?.value.copy(bytes, keyAt + keyLength);
  return bytes;
};

export const isDeletion = (change: Buffer): boolean => change[0] === kinds.deletion;
export const previousOf = (change: Buffer): number => change.readUIntBE(previousAt, revisionBytes);
export const keyOf = (change: Buffer): string => change.toString('utf8', keyAt, keyAt + change.readUInt16BE(keyLengthAt));

/** Allocates the copy of a value. */
export type Room = (size: number) => Buffer;

const slabBytes = 256 << 10;

/** Returns an allocator for the values of one range, which share slabs because they are released together. */
export const roomForMany = (): Room => {
  let slab: Buffer | undefined;
  let used = 0;
  return size => {
    if (size > slabBytes >> 3) return Buffer.allocUnsafe(size);
    if (!slab || used + size > slabBytes) {
      slab = Buffer.allocUnsafeSlow(slabBytes);
      used = 0;
    }
    return slab.subarray(used, (used += size));
  };
};

/** Returns the record of a change of `size` bytes. The buffer may be overwritten later: the value is a copy. */
export const decodeRecord = (
  key: string,
  revision: number,
  change: Buffer,
  size: number,
  room: Room = Buffer.allocUnsafe,
): StoredRecord => {
  const valueAt = keyAt + change.readUInt16BE(keyLengthAt);
  const value = room(size - valueAt);
  change.copy(value, 0, valueAt, size);
  const lease = change.readUIntBE(leaseAt, revisionBytes);
  return {key, value, revision, created: change.readUIntBE(createdAt, revisionBytes), lease: lease === 0 ? undefined : lease};
};
