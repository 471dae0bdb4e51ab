// The wire format of protobuf, reading: varints, lengths, fixed values and skipped fields, never past the end of a
// message.

import {isUtf8} from 'node:buffer';
import {DecodeError} from '#src/schema/decode/error.js';
import {delimited, fixed32, fixed64, varint} from './message-type.js';

const view = new DataView(new ArrayBuffer(8));

/** The limit of nested groups that are skipped; the group encoding is obsolete. */
const maxGroupDepth = 100;

/** Reads the wire format of protobuf. Every method throws `DecodeError` rather than read past `end`. */
export class WireReader {
  readonly bytes: Buffer;
  at: number;
  /** The bytes as Latin-1, decoded once: slicing one string is many times faster than decoding each text. */
  #characters: string | undefined;
  #high = 0;

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  /** Reads the low half of a varint; `int64` uses the high one. */
  varint(end: number): number {
    const {bytes} = this;
    let at = this.at;
    this.#high = 0;
    if (at < end && bytes[at]! < 0x80) {
      this.at = at + 1;
      return bytes[at]!;
    }
    let low = 0;
    let high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      if (at >= end) throw truncated();
      const byte = bytes[at++]!;
      if (shift < 28) low |= (byte & 0x7f) << shift;
      else if (shift === 28) {
        low |= (byte & 0x0f) << 28;
        high = (byte & 0x7f) >>> 4;
      } else high |= (byte & 0x7f) << (shift - 32);
      if (byte < 0x80) {
        this.at = at;
        this.#high = high;
        return low >>> 0;
      }
    }
    throw new DecodeError('proto: integer overflow');
  }

  /** Reads the tag of the next field: `number << 3 | wire type`. */
  tag(end: number): number {
    const tag = this.varint(end);
    if (tag < 8 || this.#high !== 0)
      throw new DecodeError(`proto: illegal tag ${this.#high * 2 ** 29 + (tag >>> 3)} (wire type ${tag & 7})`);
    return tag;
  }

  int32(end: number): number {
    return this.varint(end) | 0;
  }

  bool(end: number): boolean {
    return this.varint(end) !== 0 || this.#high !== 0;
  }

  /** Reads an integer; returns a bigint if a number cannot hold it exactly, as JSON parsing does. */
  int64(end: number): number | bigint {
    const low = this.varint(end);
    if (this.#high === 0) return low;
    const value = (this.#high | 0) * 2 ** 32 + low;
    return Number.isSafeInteger(value) ? value : (BigInt(this.#high | 0) << 32n) + BigInt(low);
  }

  float64(end: number): number {
    const at = this.#advance(8, end);
    for (let index = 0; index < 8; index++) view.setUint8(index, this.bytes[at + index]!);
    const value = view.getFloat64(0, true);
    if (!Number.isFinite(value))
      throw new DecodeError(`json: unsupported value: ${Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'}`);
    return Object.is(value, -0) ? 0 : value;
  }

  /** Reads a length; returns the offset of the end. */
  length(end: number): number {
    const length = this.varint(end);
    if (this.#high !== 0 || length > 0x7fffffff) throw new DecodeError('proto: negative length found during unmarshaling');
    if (length > end - this.at) throw truncated();
    return this.at + length;
  }

  /** Reads everything up to `end` as text. */
  text(end: number): string {
    const {bytes, at} = this;
    this.at = end;
    for (let index = at; index < end; index++) {
      if (bytes[index]! < 0x80) continue;
      const part = bytes.subarray(at, end);
      if (!isUtf8(part)) throw new DecodeError('proto: string field contains invalid UTF-8');
      return part.toString('utf8');
    }
    return (this.#characters ??= bytes.toString('latin1')).substring(at, end);
  }

  /** Returns the bytes up to `end`. */
  slice(end: number): Buffer {
    const part = this.bytes.subarray(this.at, end);
    this.at = end;
    return part;
  }

  /** Skips a field. */
  skip(wire: number, end: number): void {
    let depth = 0;
    for (;;) {
      if (wire === varint) this.varint(end);
      else if (wire === fixed64) this.#advance(8, end);
      else if (wire === delimited) this.at = this.length(end);
      else if (wire === fixed32) this.#advance(4, end);
      else if (wire === 3 && depth < maxGroupDepth) depth += 1;
      else if (wire === 4 && depth > 0) depth -= 1;
      else throw new DecodeError(`proto: illegal wireType ${wire}`);
      if (depth === 0) return;
      wire = this.tag(end) & 7;
    }
  }

  #advance(length: number, end: number): number {
    const {at} = this;
    if (length > end - at) throw truncated();
    this.at = at + length;
    return at;
  }
}

const truncated = (): DecodeError => new DecodeError('unexpected EOF');
