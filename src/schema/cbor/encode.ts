// Encodes objects and watch events as CBOR (RFC 8949) in the original's deterministic form, into a buffer that is
// reused. It does not validate: fields that the schema does not have are encoded like the others.

import type {SchemaNode} from '#src/schema/node.js';
import {halfBits} from './reader.js';

/** The head of the self-described CBOR tag, with which every object begins. */
const selfDescribed = Buffer.of(0xd9, 0xd9, 0xf7);
/** The head of the tag for bytes that are base64 in JSON. */
const laterBase64 = 0xd6;

const smallest = 16_384;
/** Larger buffers are not reused for the next object. */
const largestKept = 1 << 20;
let spare: Buffer | undefined;

/** Texts up to this length are written one character at a time. */
const shortText = 24;

class CborWriter {
  #buffer: Buffer;
  #at = 0;

  constructor() {
    this.#buffer = spare ?? Buffer.allocUnsafeSlow(smallest);
    spare = undefined;
  }

  finish(): Buffer {
    const result = Buffer.from(this.#buffer.subarray(0, this.#at));
    if (this.#buffer.length <= largestKept) spare = this.#buffer;
    return result;
  }

  bytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#buffer.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  value(value: unknown, node: SchemaNode | undefined): void {
    switch (typeof value) {
      case 'string':
        if (node?.format === 'byte') this.#base64(value);
        else this.#text(value);
        return;
      case 'number':
        this.#number(value, node);
        return;
      case 'bigint':
        if (node?.type === 'number') this.#float(Number(value));
        else this.#wide(value);
        return;
      case 'boolean':
        this.#head(7, value ? 21 : 20);
        return;
      case 'object':
        if (value === null) this.#head(7, 22);
        else if (Array.isArray(value)) this.#array(value, node);
        else this.#map(value as Readonly<Record<string, unknown>>, node);
        return;
      default:
        this.#head(7, 22);
    }
  }

  #array(items: readonly unknown[], node: SchemaNode | undefined): void {
    this.#head(4, items.length);
    for (const item of items) this.value(item, node?.items);
  }

  /** Writes keys in the order of their encoded bytes, so the shorter first. */
  #map(object: Readonly<Record<string, unknown>>, node: SchemaNode | undefined): void {
    const keys = Object.keys(object).filter(key => object[key] !== undefined);
    if (keys.length > 1) keys.sort(keys.every(isAscii) ? byLength : byBytes);
    this.#head(5, keys.length);
    for (const key of keys) {
      this.#text(key);
      this.value(object[key], node && (node.type === 'map' ? node.items : node.properties?.get(key)));
    }
  }

  /** Texts are written as byte strings: they may not be valid UTF-8. */
  #text(text: string): void {
    if (text.length < shortText) {
      this.#reserve(shortText + 1);
      const start = this.#at;
      this.#buffer[start] = 0x40 | text.length;
      let index = 0;
      for (; index < text.length; index++) {
        const code = text.charCodeAt(index);
        if (code > 0x7f) break;
        this.#buffer[start + 1 + index] = code;
      }
      if (index === text.length) {
        this.#at = start + 1 + index;
        return;
      }
    }
    const size = Buffer.byteLength(text);
    this.#head(2, size);
    this.#reserve(size);
    this.#at += this.#buffer.write(text, this.#at, size, 'utf8');
  }

  #base64(text: string): void {
    const bytes = Buffer.from(text, 'base64');
    this.#reserve(1);
    this.#buffer[this.#at++] = laterBase64;
    this.#head(2, bytes.length);
    this.bytes(bytes);
  }

  /** Writes a whole number beyond the safe integers in eight bytes. */
  #wide(value: bigint): void {
    this.#reserve(9);
    this.#buffer[this.#at] = value < 0n ? 0x3b : 0x1b;
    this.#at = this.#buffer.writeBigUInt64BE(value < 0n ? -1n - value : value, this.#at + 1);
  }

  #number(value: number, node: SchemaNode | undefined): void {
    if (Number.isSafeInteger(value) && node?.type !== 'number') this.#head(value < 0 ? 1 : 0, value < 0 ? -1 - value : value);
    else this.#float(value);
  }

  /** Writes a number in the fewest bytes that keep its value. */
  #float(value: number): void {
    this.#reserve(9);
    const bits = halfBits(value);
    if (bits !== undefined) {
      this.#buffer[this.#at] = 0xf9;
      this.#at = this.#buffer.writeUInt16BE(bits, this.#at + 1);
    } else if (Math.fround(value) === value) {
      this.#buffer[this.#at] = 0xfa;
      this.#at = this.#buffer.writeFloatBE(value, this.#at + 1);
    } else {
      this.#buffer[this.#at] = 0xfb;
      this.#at = this.#buffer.writeDoubleBE(value, this.#at + 1);
    }
  }

  #head(major: number, argument: number): void {
    this.#reserve(9);
    const type = major << 5;
    if (argument < 24) this.#buffer[this.#at++] = type | argument;
    else if (argument < 0x100) {
      this.#buffer[this.#at++] = type | 24;
      this.#buffer[this.#at++] = argument;
    } else if (argument < 0x1_0000) {
      this.#buffer[this.#at++] = type | 25;
      this.#at = this.#buffer.writeUInt16BE(argument, this.#at);
    } else if (argument < 0x1_0000_0000) {
      this.#buffer[this.#at++] = type | 26;
      this.#at = this.#buffer.writeUInt32BE(argument, this.#at);
    } else {
      this.#buffer[this.#at++] = type | 27;
      this.#at = this.#buffer.writeBigUInt64BE(BigInt(argument), this.#at);
    }
  }

  #reserve(size: number): void {
    if (size <= this.#buffer.length - this.#at) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#buffer.length * 2, this.#at + size));
    this.#buffer.copy(larger, 0, 0, this.#at);
    this.#buffer = larger;
  }
}

const byLength = (one: string, other: string): number => one.length - other.length || (one < other ? -1 : 1);

const byBytes = (one: string, other: string): number => {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length - b.length || Buffer.compare(a, b);
};

const ascii = /^\p{ASCII}*$/u;
const isAscii = (text: string): boolean => ascii.test(text);

/**
 * Encodes an object as the original's deterministic encoding does, byte for byte; fields that its schema declares as
 * bytes are written as bytes. Numbers must be finite.
 */
export const encodeCbor = (object: unknown, node?: SchemaNode): Buffer => {
  const writer = new CborWriter();
  writer.bytes(selfDescribed);
  writer.value(object, node);
  return writer.finish();
};

/** Returns a watch event around an encoded object. */
export const cborEvent = (type: string, object: Uint8Array): Buffer => {
  const writer = new CborWriter();
  writer.bytes(selfDescribed);
  writer.bytes(Buffer.of(0xa2));
  for (const word of ['type', type, 'object']) writer.value(word, undefined);
  writer.bytes(object);
  return writer.finish();
};
