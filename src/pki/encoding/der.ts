// Reads DER, as the parsers of certificates, signing requests and keys do. It validates the encoding strictly and knows
// nothing about the structures; der-builder.ts encodes.

import {PkiError} from './error.js';

/** Identifier octets of the universal types, and of context-specific types by number. */
export const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  utf8: 0x0c,
  numeric: 0x12,
  printable: 0x13,
  t61: 0x14,
  ia5: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  bmp: 0x1e,
  sequence: 0x30,
  set: 0x31,
  context: (number: number): number => 0x80 | number,
  contextConstructed: (number: number): number => 0xa0 | number,
} as const;

/**
 * One tag-length-value. Both buffers are views of the input, made when they are asked for: most elements are read for
 * one of them.
 */
export class Element {
  readonly tag: number;
  readonly #bytes: Buffer;
  readonly #start: number;
  readonly #contentStart: number;
  readonly #end: number;

  constructor(tag: number, bytes: Buffer, start: number, contentStart: number, end: number) {
    this.tag = tag;
    // Deno gives a plain Uint8Array for the bytes of a certificate.
    this.#bytes = Buffer.isBuffer(bytes) ? bytes : Buffer.from(new Uint8Array(bytes));
    this.#start = start;
    this.#contentStart = contentStart;
    this.#end = end;
  }

  get raw(): Buffer {
    return this.#bytes.subarray(this.#start, this.#end);
  }

  get content(): Buffer {
    return this.#bytes.subarray(this.#contentStart, this.#end);
  }

  /** Returns a reader for the content. */
  reader(): DerReader {
    return new DerReader(this.#bytes, this.#contentStart, this.#end);
  }
}

const malformed = (reason: string): PkiError => new PkiError(`asn1: structure error: ${reason}`);
const truncated = (): PkiError => new PkiError('asn1: syntax error: data truncated');

/**
 * Reads DER elements (ITU-T X.690 §10) in place without copying. Lengths must be definite and minimal. Throws a
 * `PkiError` for malformed input. Nested elements are not parsed until they are entered, so nesting depth is not
 * limited.
 */
export class DerReader {
  readonly #bytes: Buffer;
  readonly #end: number;
  #at: number;

  constructor(bytes: Buffer, start = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
  }

  get more(): boolean {
    return this.#at < this.#end;
  }

  /** Returns the next element, which must have `tag` if one is given. */
  next(tag?: number): Element {
    const start = this.#at;
    const found = this.#tag();
    if (tag !== undefined && found !== tag) throw malformed(`tags don't match (${tag} vs ${found})`);
    const end = this.#length() + this.#at;
    if (end > this.#end) throw truncated();
    const element = new Element(found, this.#bytes, start, this.#at, end);
    this.#at = end;
    return element;
  }

  /** Returns the next element if it has `tag`; otherwise consumes nothing. */
  optional(tag: number): Element | undefined {
    return this.more && this.#bytes[this.#at] === tag ? this.next(tag) : undefined;
  }

  /** Returns a reader for the content of the next element, which must have `tag`. */
  enter(tag: number = tags.sequence): DerReader {
    return this.next(tag).reader();
  }

  /** Throws if there are bytes left. */
  end(): void {
    if (this.more) throw new PkiError('asn1: syntax error: trailing data');
  }

  #byte(): number {
    if (this.#at >= this.#end) throw truncated();
    return this.#bytes[this.#at++]!;
  }

  #tag(): number {
    const first = this.#byte();
    if ((first & 0x1f) !== 0x1f) return first;
    let number = 0;
    for (let byte = 0x80; byte & 0x80;) {
      byte = this.#byte();
      if (number > 0xffff) throw malformed('tag too large');
      number = number * 128 + (byte & 0x7f);
    }
    return number * 256 + first;
  }

  #length(): number {
    const first = this.#byte();
    if (first < 0x80) return first;
    if (first === 0x80) throw malformed('indefinite length found (not DER)');
    let length = 0;
    for (let left = first & 0x7f; left > 0; left--) {
      length = length * 256 + this.#byte();
      if (length > 0x7fffffff) throw malformed('length too large');
      if (length === 0) throw malformed('superfluous leading zeros in length');
    }
    if (length < 0x80) throw malformed('non-minimal length');
    return length;
  }
}

/** Returns all elements of `content`. */
export const elementsOf = (content: Buffer): Element[] => {
  const reader = new DerReader(content);
  const elements: Element[] = [];
  while (reader.more) elements.push(reader.next());
  return elements;
};

/** Returns the content of the only element of `bytes`. */
export const onlyElement = (bytes: Buffer, tag: number): Buffer => {
  const reader = new DerReader(bytes);
  const {content} = reader.next(tag);
  reader.end();
  return content;
};

/** Returns an object identifier in dotted form. Throws for arcs beyond 2^53. */
export const readOid = ({content}: Element): string => {
  if (content.length === 0 || content[content.length - 1]! & 0x80) throw malformed('invalid object identifier');
  const arcs: number[] = [];
  let arc = 0;
  for (const byte of content) {
    if (arc === 0 && byte === 0x80) throw malformed('integer is not minimally encoded');
    if (arc > 0x3fffffffffff) throw malformed('base 128 integer too large');
    arc = arc * 128 + (byte & 0x7f);
    if (byte & 0x80) continue;
    if (arcs.length === 0) {
      const root = Math.min(2, Math.floor(arc / 40));
      arcs.push(root, arc - root * 40);
    } else arcs.push(arc);
    arc = 0;
  }
  return arcs.join('.');
};

/** Returns a signed integer of any size. */
export const readInteger = ({content}: Element): bigint => {
  const [first, second] = content;
  if (first === undefined) throw malformed('empty integer');
  if (second !== undefined && ((first === 0 && second < 0x80) || (first === 0xff && second >= 0x80)))
    throw malformed('integer not minimally-encoded');
  const unsigned = BigInt(`0x${content.toString('hex')}`);
  return first < 0x80 ? unsigned : BigInt.asIntN(content.length * 8, unsigned);
};

export const readBoolean = ({content}: Element): boolean => {
  if (content.length !== 1 || (content[0] !== 0 && content[0] !== 0xff)) throw new PkiError('asn1: syntax error: invalid boolean');
  return content[0] === 0xff;
};

/** Returns the bytes of a bit string and the number of unused bits in the last one. */
export const readBitString = ({content}: Element): {bytes: Buffer; unusedBits: number} => {
  const [unusedBits] = content;
  if (unusedBits === undefined) throw new PkiError('asn1: syntax error: zero length BIT STRING');
  const last = content[content.length - 1]!;
  if (unusedBits > 7 || (content.length === 1 && unusedBits > 0) || (last & ((1 << unusedBits) - 1)) !== 0) {
    throw new PkiError('asn1: syntax error: invalid padding bits in BIT STRING');
  }
  return {bytes: content.subarray(1), unusedBits};
};

/** Returns the bytes of a bit string without unused bits. */
export const readOctetsOfBitString = (element: Element): Buffer => {
  const {bytes, unusedBits} = readBitString(element);
  if (unusedBits > 0) throw malformed('expected octet-aligned data in BIT STRING');
  return bytes;
};
