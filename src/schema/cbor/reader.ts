import {isUtf8} from 'node:buffer';
import {DecodeError} from '#src/schema/decode/error.js';
import {setProperty} from '#src/base/json/set-property.js';
import {type PlainObject} from '#src/schema/decode/plain.js';

// A CBOR decoder for untrusted input: bounded nesting and sizes, and only values that JSON can represent.

/** The limits for the items read; responses of trusted servers have none. */
export interface CborLimits {
  readonly elements: number;
}

/** The limit of nested arrays, maps and tags. */
const maxDepth = 64;

const indefinite = Symbol('indefinite');
const types = ['positive integer', 'negative integer', 'byte string', 'UTF-8 text string', 'array', 'map', 'tag', 'primitives'] as const;

/** The bytes end within an item. */
export class TruncatedCbor extends DecodeError {}

const refused = (type: string, what: string): DecodeError =>
  new DecodeError(`cbor: data item of cbor type ${type} is not accepted by protocol: ${what}`);

/**
 * Decodes one CBOR item to its JSON value: byte strings become texts, those tagged for base64 become base64; other tags
 * are applied. Repeated keys, numbers beyond JSON's range and everything else that JSON cannot represent are rejected.
 * Throws `DecodeError`.
 */
export class CborReader {
  readonly #bytes: Buffer;
  readonly #limits: CborLimits;
  at: number;
  /** The bytes as Latin-1, decoded once: slicing one string is many times faster than decoding each text. */
  #characters: string | undefined;
  #depth = 0;

  constructor(bytes: Buffer, limits: CborLimits, at = 0) {
    this.#bytes = bytes;
    this.#limits = limits;
    this.at = at;
  }

  item(): unknown {
    const initial = this.#byte();
    const major = initial >> 5;
    const info = initial & 0x1f;
    switch (major) {
      case 0:
        return this.#integer(this.#argument(major, info), false);
      case 1:
        return this.#integer(this.#argument(major, info), true);
      case 2:
      case 3:
        return this.#text(major, info);
      case 4:
        return this.#within(() => this.#array(this.#length(major, info)));
      case 5:
        return this.#within(() => this.#map(this.#length(major, info)));
      case 6:
        return this.#within(() => this.#tagged(this.#argument(major, info)));
      default:
        return this.#primitive(info);
    }
  }

  #within<T>(read: () => T): T {
    if (++this.#depth > maxDepth) throw new DecodeError(`cbor: exceeded max nested level ${maxDepth}`);
    const value = read();
    this.#depth -= 1;
    return value;
  }

  #take(length: number): number {
    const {at} = this;
    if (length > this.#bytes.length - at) throw new TruncatedCbor('unexpected EOF');
    this.at = at + length;
    return at;
  }

  #byte(): number {
    return this.#bytes[this.#take(1)]!;
  }

  #argument(major: number, info: number): number | bigint {
    if (info < 24) return info;
    if (info === 24) return this.#byte();
    if (info === 25) return this.#bytes.readUInt16BE(this.#take(2));
    if (info === 26) return this.#bytes.readUInt32BE(this.#take(4));
    if (info === 27) return this.#bytes.readBigUInt64BE(this.#take(8));
    throw new DecodeError(`cbor: invalid additional information ${info} for type ${types[major]}`);
  }

  #length(major: number, info: number): number | typeof indefinite {
    if (info === 31) return indefinite;
    const length = Number(this.#argument(major, info));
    if (length <= this.#limits.elements) return length;
    throw new DecodeError(
      `cbor: exceeded max number of ${major === 4 ? 'elements' : 'key-value pairs'} ${this.#limits.elements} for CBOR ${types[major]}`,
    );
  }

  #integer(value: number | bigint, isNegative: boolean): number | bigint {
    const number = isNegative ? -1 - Number(value) : Number(value);
    if (Number.isSafeInteger(number)) return number;
    const shown = isNegative ? -1n - BigInt(value) : BigInt(value);
    if (BigInt.asIntN(64, shown) === shown) return shown;
    throw new DecodeError(`cbor: cannot unmarshal ${types[isNegative ? 1 : 0]} into Go value of type int64 (${shown} is out of range)`);
  }

  #text(major: number, info: number): string {
    if (info !== 31) return this.#textAt(major, Number(this.#argument(major, info)));
    return this.#chunks(major).toString('utf8');
  }

  #textAt(major: number, length: number): string {
    const at = this.#take(length);
    const {at: end} = this;
    const bytes = this.#bytes;
    let index = at;
    while (index < end && bytes[index]! < 0x80) index++;
    if (index === end) return (this.#characters ??= bytes.toString('latin1')).substring(at, end);
    if (major === 3 && !isUtf8(bytes.subarray(at, end))) throw new DecodeError('cbor: invalid UTF-8 string');
    return bytes.toString('utf8', at, end);
  }

  /** Reads the chunks of a string of indefinite length. */
  #chunks(major: number): Buffer {
    const pieces: Buffer[] = [];
    for (;;) {
      const initial = this.#byte();
      if (initial === 0xff) return Buffer.concat(pieces);
      const type = initial >> 5;
      if (type !== major) throw new DecodeError(`cbor: wrong element type ${types[type]} for indefinite-length ${types[major]}`);
      if ((initial & 0x1f) === 31) throw new DecodeError(`cbor: indefinite-length ${types[major]} chunk is not definite-length`);
      const at = this.#take(Number(this.#argument(type, initial & 0x1f)));
      const piece = this.#bytes.subarray(at, this.at);
      if (major === 3 && !isUtf8(piece)) throw new DecodeError('cbor: invalid UTF-8 string');
      pieces.push(piece);
    }
  }

  /** Reports whether there is another element after `read` elements. */
  #isMore(length: number | typeof indefinite, read: number, what: string): boolean {
    if (length !== indefinite) return read < length;
    if (this.#bytes[this.at] === 0xff) {
      this.at += 1;
      return false;
    }
    if (read < this.#limits.elements) return true;
    throw new DecodeError(`cbor: exceeded max number of ${what}`);
  }

  #array(length: number | typeof indefinite): unknown[] {
    const items: unknown[] = [];
    while (this.#isMore(length, items.length, `elements ${this.#limits.elements} for CBOR array`)) items.push(this.item());
    return items;
  }

  #map(length: number | typeof indefinite): PlainObject {
    const object: PlainObject = {};
    for (let read = 0; this.#isMore(length, read, `key-value pairs ${this.#limits.elements} for CBOR map`); read++) {
      const key = this.#key();
      if (Object.hasOwn(object, key))
        throw new DecodeError(`cbor: found duplicate map key ${JSON.stringify(key)} at map element index ${read}`);
      setProperty(object, key, this.item());
    }
    return object;
  }

  #key(): string {
    const initial = this.#byte();
    const major = initial >> 5;
    if (major === 2 || major === 3) return this.#text(major, initial & 0x1f);
    throw new DecodeError(`cbor: cannot unmarshal ${types[major]} into Go value of type string`);
  }

  #tagged(tag: number | bigint): unknown {
    const major = this.at < this.#bytes.length ? this.#bytes[this.at]! >> 5 : -1;
    if (tag === 2 || tag === 3) throw refused('tag', 'bignum');
    if (major === 2 && (tag === 21 || tag === 22 || tag === 23)) return this.#marked(tag);
    const content = this.item();
    if (tag === 0 && typeof content !== 'string') throw new DecodeError('cbor: tag number 0 must be followed by text string');
    if (tag === 1) return timeOf(content);
    return content;
  }

  /** Reads bytes and returns the text that the tag gives them in JSON. */
  #marked(tag: 21 | 22 | 23): string {
    const info = this.#byte() & 0x1f;
    const bytes = info === 31 ? this.#chunks(2) : this.#bytes.subarray(this.#take(Number(this.#argument(2, info))), this.at);
    return bytes.toString(tag === 21 ? 'base64url' : tag === 22 ? 'base64' : 'hex');
  }

  #primitive(info: number): unknown {
    switch (info) {
      case 20:
        return false;
      case 21:
        return true;
      case 22:
      case 23:
        return null;
      case 25:
        return finite(half(this.#bytes.readUInt16BE(this.#take(2))));
      case 26:
        return finite(this.#bytes.readFloatBE(this.#take(4)));
      case 27:
        return finite(this.#bytes.readDoubleBE(this.#take(8)));
      case 31:
        throw new DecodeError('cbor: unexpected "break" code');
      default:
        throw refused('primitives', `simple value ${info === 24 ? this.#byte() : info}`);
    }
  }
}

const finite = (value: number): number => {
  if (Number.isFinite(value)) return Object.is(value, -0) ? 0 : value;
  throw refused('primitives', Number.isNaN(value) ? 'floating-point NaN' : 'floating-point infinity');
};

/** Decodes a 16-bit float: ten bits of fraction, five of exponent. */
const half = (bits: number): number => {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0x1f) return fraction ? Number.NaN : sign * Infinity;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15));
};

/** Formats seconds since 1970 as a time. */
const timeOf = (seconds: unknown): string => {
  const date = new Date(typeof seconds === 'number' ? seconds * 1000 : Number.NaN);
  if (Number.isNaN(date.getTime())) throw new DecodeError('cbor: tag number 1 must be followed by integer or floating-point number');
  return date.toISOString().replace(/\.?0+Z$/, 'Z');
};

/** Returns the bits of a number as a 16-bit float; undefined if it does not fit. */
export const halfBits = (value: number): number | undefined => {
  const size = Math.abs(value);
  const exponent = size === 0 ? -15 : Math.max(-15, Math.floor(Math.log2(size)));
  if (exponent > 15) return undefined;
  const fraction = exponent < -14 ? size * 2 ** 24 : (size / 2 ** exponent - 1) * 1024;
  const bits = (value < 0 ? 0x8000 : 0) | ((exponent + 15) << 10) | fraction;
  return half(bits) === value ? bits : undefined;
};
