// Builds ASN.1 nodes and encodes them as DER, with node-forge's encoder. Long sequences are encoded in one pass and in steps; der.ts reads.

import {createRequire} from 'node:module';
import type {asn1} from 'node-forge';
import {sortedInSteps} from '#src/base/sort-steps.js';
import {runSteps, type Steps} from '#src/base/steps.js';
import {DerReader, tags} from './der.js';
import {PkiError} from './error.js';

/** An ASN.1 node to be encoded. */
export type Node = asn1.Asn1;

let loaded: typeof asn1 | undefined;

/** node-forge's ASN.1 module, loaded on first use: parsing does not need it. */
export const forgeAsn1 = (): typeof asn1 => (loaded ??= createRequire(import.meta.url)('node-forge/lib/asn1.js') as typeof asn1);

/** The whole identifier octet is passed as the class, so that node-forge encodes the content unchanged for every type. */
const primitive = (tag: number, content: Buffer): Node => forgeAsn1().create(tag, 0, false, content.toString('latin1'));

const constructed = (tag: number, children: Node[]): Node => forgeAsn1().create(tag & 0xc0, tag & 0x1f, true, children);

export const sequence = (...children: Node[]): Node => constructed(tags.sequence, children);

/** A SEQUENCE OF. */
export const sequenceOf = (children: Node[]): Node => constructed(tags.sequence, children);

/** How many octets a length takes (X.690 §8.1.3). */
const lengthOctets = (length: number): number =>
  length < 0x80 ? 1 : length < 0x100 ? 2 : length < 0x1_0000 ? 3 : length < 0x100_0000 ? 4 : 5;

/** A primitive element: its tag, and its content as bytes or as text in ASCII. */
export type Primitive = readonly [tag: number, content: Buffer | string];

/** How many elements are read or encoded in one step. */
export const elementsPerStep = 1_000;

/** The encodings of elements, one behind the other, in one pass: a node for each would take many times the work. */
export const primitiveElements = (elements: readonly Primitive[]): Buffer => runSteps(primitiveElementsInSteps(elements));

const primitiveElementsInSteps = function* (elements: readonly Primitive[]): Steps<Buffer> {
  let total = 0;
  for (const [, {length}] of elements) total += 1 + lengthOctets(length) + length;
  const bytes = Buffer.allocUnsafe(total);
  let at = 0;
  let count = 0;
  for (const [tag, content] of elements) {
    if (++count % elementsPerStep === 0) yield;
    const {length} = content;
    const octets = lengthOctets(length);
    bytes[at++] = tag;
    if (octets > 1) bytes[at++] = 0x80 | (octets - 1);
    at = bytes.writeUIntBE(length, at, Math.max(1, octets - 1));
    at += typeof content === 'string' ? bytes.write(content, at, 'latin1') : content.copy(bytes, at);
  }
  return bytes;
};

/** A SEQUENCE OF elements that are primitive or already encoded, in steps. */
export const sequenceOfPrimitives = function* (elements: readonly Primitive[]): Steps<Node> {
  return primitive(tags.sequence, yield* primitiveElementsInSteps(elements));
};

/** A SET OF elements that are primitive or already encoded, in DER order (X.690 §11.6), in steps. */
export const setOfPrimitives = function* (elements: readonly Primitive[]): Steps<Node> {
  // Texts of one byte a character are in the order of their bytes, and sorted faster.
  const encodings: string[] = [];
  for (const element of elements) {
    if (encodings.push(primitiveElements([element]).toString('latin1')) % elementsPerStep === 0) yield;
  }
  return primitive(tags.set, Buffer.from((yield* sortedInSteps(encodings)).join(''), 'latin1'));
};

/** A SET OF, with its members in DER order (X.690 §11.6). */
export const setOf = (children: Node[]): Node => {
  if (children.length < 2) return constructed(tags.set, children);
  const ordered = children.map(child => ({child, der: toDer(child)})).sort((a, b) => Buffer.compare(a.der, b.der));
  return constructed(
    tags.set,
    ordered.map(({child}) => child),
  );
};

/** The content of an object identifier. */
export const oidContent = (dotted: string): Buffer => Buffer.from(forgeAsn1().oidToDer(dotted).getBytes(), 'latin1');

export const oid = (dotted: string): Node => primitive(tags.oid, oidContent(dotted));

export const nothing = (): Node => primitive(tags.null, Buffer.alloc(0));

export const boolean = (value: boolean): Node => primitive(tags.boolean, Buffer.of(value ? 0xff : 0));

/** A non-negative integer. */
export const integer = (value: bigint): Node => {
  const hex = value.toString(16);
  const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
  return primitive(tags.integer, bytes[0]! >= 0x80 ? Buffer.concat([Buffer.of(0), bytes]) : bytes);
};

export const octets = (content: Buffer): Node => primitive(tags.octetString, content);

export const bits = (content: Buffer, unusedBits = 0): Node => primitive(tags.bitString, Buffer.concat([Buffer.of(unusedBits), content]));

/** A primitive node with any tag, such as an implicitly tagged string. */
export const tagged = (tag: number, content: Buffer | string): Node =>
  primitive(tag, typeof content === 'string' ? Buffer.from(content) : content);

/** A constructed node with an explicit or context-specific tag. */
export const wrapped = (tag: number, ...children: Node[]): Node => constructed(tag, children);

/** A node for an element that is already encoded. */
export const encoded = (der: Buffer): Node => {
  const {tag, content} = new DerReader(der).next();
  return primitive(tag, content);
};

const printable = /^[A-Za-z0-9 '()+,\-./:=?]*$/;

/** A directory string: PrintableString if possible, else UTF8String. */
export const directoryString = (text: string): Primitive => {
  if (printable.test(text)) return [tags.printable, text];
  const bytes = Buffer.from(text);
  if (bytes.toString() !== text) throw new PkiError('asn1: string not valid UTF-8');
  return [tags.utf8, bytes];
};

/** A time as RFC 5280 §4.1.2.5 requires: UTCTime from 1950 to 2049, else GeneralizedTime, rounded down to seconds. */
export const time = (atMs: number): Node => {
  const iso = new Date(Math.floor(atMs / 1000) * 1000).toISOString();
  const digits = iso.replaceAll(/[-:T]|\.000/g, '');
  const year = new Date(atMs).getUTCFullYear();
  if (year < 0 || year > 9999) throw new PkiError('asn1: structure error: cannot represent time as GeneralizedTime');
  return year >= 1950 && year < 2050 ? tagged(tags.utcTime, digits.slice(2)) : tagged(tags.generalizedTime, digits);
};

export const toDer = (root: Node): Buffer => Buffer.from(forgeAsn1().toDer(root).getBytes(), 'latin1');
