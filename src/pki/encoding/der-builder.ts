// Encodes ASN.1 elements as DER, from the inside out: each function returns the bytes of an element. Long sequences are
// encoded in one pass and in steps; der.ts reads.

import {sortedInSteps} from '#src/base/sort-steps.js';
import {runSteps, type Steps} from '#src/base/steps.js';
import {tags} from './der.js';
import {PkiError} from './error.js';

/** How many octets a length takes (X.690 §8.1.3). */
const lengthOctets = (length: number): number =>
  length < 0x80 ? 1 : length < 0x100 ? 2 : length < 0x1_0000 ? 3 : length < 0x100_0000 ? 4 : 5;

/** The length of an element whose content has this length. */
const encodedLength = (length: number): number => 1 + lengthOctets(length) + length;

/** Writes the tag and the length of an element, and returns where its content begins. */
const writeHeader = (bytes: Buffer, from: number, tag: number, length: number): number => {
  bytes[from] = tag;
  const octets = lengthOctets(length);
  if (octets === 1) {
    bytes[from + 1] = length;
    return from + 2;
  }
  bytes[from + 1] = 0x80 | (octets - 1);
  return bytes.writeUIntBE(length, from + 2, octets - 1);
};

/** A primitive element: its tag, and its content as bytes or as text in ASCII. */
export type Primitive = readonly [tag: number, content: Buffer | string];

/** Writes an element, and returns where it ends. */
const writePrimitive = (bytes: Buffer, from: number, tag: number, content: Buffer | string): number => {
  const at = writeHeader(bytes, from, tag, content.length);
  return at + (typeof content === 'string' ? bytes.write(content, at, 'latin1') : content.copy(bytes, at));
};

const primitive = (tag: number, content: Buffer | string): Buffer => {
  const bytes = Buffer.allocUnsafe(encodedLength(content.length));
  writePrimitive(bytes, 0, tag, content);
  return bytes;
};

const constructed = (tag: number, children: readonly Buffer[]): Buffer => {
  let length = 0;
  for (const child of children) length += child.length;
  const bytes = Buffer.allocUnsafe(encodedLength(length));
  let at = writeHeader(bytes, 0, tag, length);
  for (const child of children) at += child.copy(bytes, at);
  return bytes;
};

export const sequence = (...children: Buffer[]): Buffer => constructed(tags.sequence, children);

/** A SEQUENCE OF. */
export const sequenceOf = (children: readonly Buffer[]): Buffer => constructed(tags.sequence, children);

/** How many elements are read or encoded in one step. */
export const elementsPerStep = 1_000;

/** The encodings of elements, one behind the other, in one pass. */
export const primitiveElements = (elements: readonly Primitive[]): Buffer => runSteps(primitiveElementsInSteps(elements));

const primitiveElementsInSteps = function* (elements: readonly Primitive[]): Steps<Buffer> {
  let total = 0;
  for (const [, {length}] of elements) total += encodedLength(length);
  const bytes = Buffer.allocUnsafe(total);
  let at = 0;
  let count = 0;
  for (const [tag, content] of elements) {
    if (++count % elementsPerStep === 0) yield;
    at = writePrimitive(bytes, at, tag, content);
  }
  return bytes;
};

/** A SEQUENCE OF elements that are primitive or already encoded, in steps. */
export const sequenceOfPrimitives = function* (elements: readonly Primitive[]): Steps<Buffer> {
  return primitive(tags.sequence, yield* primitiveElementsInSteps(elements));
};

/** A SET OF elements that are primitive or already encoded, in DER order (X.690 §11.6), in steps. */
export const setOfPrimitives = function* (elements: readonly Primitive[]): Steps<Buffer> {
  if (elements.length === 1) return primitive(tags.set, primitiveElements(elements));
  // Texts of one byte a character are in the order of their bytes, and sorted faster.
  const encodings: string[] = [];
  for (const element of elements) {
    if (encodings.push(primitiveElements([element]).toString('latin1')) % elementsPerStep === 0) yield;
  }
  return primitive(tags.set, Buffer.from((yield* sortedInSteps(encodings)).join(''), 'latin1'));
};

/** A SET OF, with its members in DER order (X.690 §11.6). */
export const setOf = (children: readonly Buffer[]): Buffer => constructed(tags.set, [...children].sort(Buffer.compare));

/** Those that are built are the program's own, and every certificate has the same. */
const oidContents = new Map<string, Buffer>();

/** The content of an object identifier. Not for those that others name: contents are remembered. */
export const oidContent = (dotted: string): Buffer => {
  let content = oidContents.get(dotted);
  if (!content) oidContents.set(dotted, (content = encodeOid(dotted)));
  return content;
};

/** Encodes the arcs in base 128, the first two as one (X.690 §8.19). */
const encodeOid = (dotted: string): Buffer => {
  const [root = 0, second = 0, ...arcs] = dotted.split('.').map(Number);
  const bytes = [root * 40 + second, ...arcs].flatMap(arc => {
    const digits = [arc % 128];
    for (let rest = Math.floor(arc / 128); rest > 0; rest = Math.floor(rest / 128)) digits.unshift(0x80 | (rest % 128));
    return digits;
  });
  return Buffer.from(bytes);
};

export const oid = (dotted: string): Buffer => primitive(tags.oid, oidContent(dotted));

export const nothing = (): Buffer => primitive(tags.null, Buffer.alloc(0));

export const boolean = (value: boolean): Buffer => primitive(tags.boolean, Buffer.of(value ? 0xff : 0));

/** A non-negative integer. */
export const integer = (value: bigint): Buffer => {
  const hex = value.toString(16);
  const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
  return primitive(tags.integer, bytes[0]! >= 0x80 ? Buffer.concat([Buffer.of(0), bytes]) : bytes);
};

export const octets = (content: Buffer): Buffer => primitive(tags.octetString, content);

export const bits = (content: Buffer, unusedBits = 0): Buffer => primitive(tags.bitString, Buffer.concat([Buffer.of(unusedBits), content]));

/** A primitive element with any tag, such as an implicitly tagged string. */
export const tagged = (tag: number, content: Buffer | string): Buffer =>
  primitive(tag, typeof content === 'string' ? Buffer.from(content) : content);

/** A constructed element with an explicit or context-specific tag. */
export const wrapped = (tag: number, ...children: Buffer[]): Buffer => constructed(tag, children);

const printable = /^[A-Za-z0-9 '()+,\-./:=?]*$/;

/** A directory string: PrintableString if possible, else UTF8String. */
export const directoryString = (text: string): Primitive => {
  if (printable.test(text)) return [tags.printable, text];
  const bytes = Buffer.from(text);
  if (bytes.toString() !== text) throw new PkiError('asn1: string not valid UTF-8');
  return [tags.utf8, bytes];
};

/** A time as RFC 5280 §4.1.2.5 requires: UTCTime from 1950 to 2049, else GeneralizedTime, rounded down to seconds. */
export const time = (atMs: number): Buffer => {
  const iso = new Date(Math.floor(atMs / 1000) * 1000).toISOString();
  const digits = iso.replaceAll(/[-:T]|\.000/g, '');
  const year = new Date(atMs).getUTCFullYear();
  if (year < 0 || year > 9999) throw new PkiError('asn1: structure error: cannot represent time as GeneralizedTime');
  return year >= 1950 && year < 2050 ? tagged(tags.utcTime, digits.slice(2)) : tagged(tags.generalizedTime, digits);
};
