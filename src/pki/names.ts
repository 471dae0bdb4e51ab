// Distinguished names (RFC 5280 §4.1.2.4): parsing, encoding, and the subject that an issued certificate gets from a
// request's name. Functions `…InSteps` yield regularly, so that names with very many attributes do not block the event
// loop.

import {runSteps, type Steps} from '#src/base/steps.js';
import {readOid, tags, type Element} from '#src/pki/encoding/der.js';
import {
  directoryString,
  elementsPerStep,
  oidContent,
  primitiveElements,
  sequenceOf,
  setOfPrimitives,
  type Primitive,
} from '#src/pki/encoding/der-builder.js';
import {PkiError} from '#src/pki/encoding/error.js';
import {attributeOids} from '#src/pki/encoding/oids.js';

/** An attribute of a distinguished name. `value` is undefined if it is not a character string. */
export interface Attribute {
  readonly oid: string;
  readonly value: string | undefined;
}

/** A distinguished name with its encoding and its attributes in order. */
export interface DistinguishedName {
  readonly raw: Buffer;
  readonly attributes: readonly Attribute[];
  /** The last CN, or the empty string. */
  readonly commonName: string;
  readonly organizations: readonly string[];
}

/** The attributes of a name that issued certificates keep. Values of one attribute keep their order. */
export interface Subject {
  readonly commonName?: string;
  readonly serialNumber?: string;
  readonly countries?: readonly string[];
  readonly organizations?: readonly string[];
  readonly organizationalUnits?: readonly string[];
  readonly localities?: readonly string[];
  readonly provinces?: readonly string[];
  readonly streets?: readonly string[];
  readonly postalCodes?: readonly string[];
}

const notPrintable = /[^A-Za-z0-9 '()+,\-./:=?*&]/;
const strictUtf8 = new TextDecoder('utf-8', {fatal: true, ignoreBOM: true});

const readUtf8 = (content: Buffer): string => {
  try {
    return strictUtf8.decode(content);
  } catch (error) {
    throw new PkiError('asn1: syntax error: invalid UTF-8 string', {cause: error});
  }
};

const readAscii = (content: Buffer, kind: string, forbidden: RegExp): string => {
  const text = content.toString('latin1');
  if (forbidden.test(text)) throw new PkiError(`asn1: syntax error: ${kind} contains invalid character`);
  return text;
};

const readBmp = (content: Buffer): string => {
  if (content.length % 2 !== 0) throw new PkiError('asn1: syntax error: invalid BMPString');
  return Buffer.from(content).swap16().toString('utf16le').replace(/\0$/, '');
};

/** Returns the text of a character string, or undefined for other types. */
const readString = ({tag, content}: Element): string | undefined => {
  switch (tag) {
    case tags.utf8:
      return readUtf8(content);
    case tags.printable:
      return readAscii(content, 'PrintableString', notPrintable);
    case tags.numeric:
      return readAscii(content, 'NumericString', /[^0-9 ]/);
    case tags.ia5:
      // eslint-disable-next-line no-control-regex
      return readAscii(content, 'IA5String', /[^\0-\x7f]/);
    case tags.t61:
      return content.toString('latin1');
    case tags.bmp:
      return readBmp(content);
    default:
      return undefined;
  }
};

/** Returns the string values of attributes in order, by the attribute's type, in steps. */
const valuesByType = function* (attributes: readonly Attribute[]): Steps<(type: string) => readonly string[]> {
  const values = new Map<string, string[]>();
  let count = 0;
  for (const {oid: type, value} of attributes) {
    if (++count % elementsPerStep === 0) yield;
    if (value === undefined) continue;
    const known = values.get(type);
    if (known) known.push(value);
    else values.set(type, [value]);
  }
  return type => values.get(type) ?? [];
};

/** Parses a Name (RFC 5280 §4.1.2.4). */
export const readName = (name: Element): DistinguishedName => runSteps(readNameInSteps(name));

/** Parses a Name in steps: that of a signing request may have very many attributes. */
export const readNameInSteps = function* (name: Element): Steps<DistinguishedName> {
  const attributes: Attribute[] = [];
  for (const sets = name.reader(); sets.more;) {
    for (const set = sets.enter(tags.set); set.more;) {
      const attribute = set.enter();
      const count = attributes.push({oid: readOid(attribute.next(tags.oid)), value: readString(attribute.next())});
      attribute.end();
      if (count % elementsPerStep === 0) yield;
    }
  }
  const valuesOf = yield* valuesByType(attributes);
  return {
    raw: name.raw,
    attributes,
    commonName: valuesOf(attributeOids.commonName).at(-1) ?? '',
    organizations: valuesOf(attributeOids.organization),
  };
};

/**
 * Returns the subject of an issued certificate. The last CN and the last serial number are kept; unknown attributes are
 * dropped.
 */
export const subjectOf = (name: DistinguishedName): Subject => runSteps(subjectInSteps(name));

/** The same in steps. */
export const subjectInSteps = function* ({attributes}: DistinguishedName): Steps<Subject> {
  const valuesOf = yield* valuesByType(attributes);
  return {
    commonName: valuesOf(attributeOids.commonName).at(-1) ?? '',
    serialNumber: valuesOf(attributeOids.serialNumber).at(-1) ?? '',
    countries: valuesOf(attributeOids.country),
    organizations: valuesOf(attributeOids.organization),
    organizationalUnits: valuesOf(attributeOids.organizationalUnit),
    localities: valuesOf(attributeOids.locality),
    provinces: valuesOf(attributeOids.province),
    streets: valuesOf(attributeOids.street),
    postalCodes: valuesOf(attributeOids.postalCode),
  };
};

/** Encodes a Name with attributes in the conventional order; values of one attribute form one set. */
export const buildName = (subject: Subject): Buffer => runSteps(buildNameInSteps(subject));

/** The same in steps. */
export const buildNameInSteps = function* (subject: Subject): Steps<Buffer> {
  const sets: [string, readonly string[]][] = [
    [attributeOids.country, subject.countries ?? []],
    [attributeOids.organization, subject.organizations ?? []],
    [attributeOids.organizationalUnit, subject.organizationalUnits ?? []],
    [attributeOids.locality, subject.localities ?? []],
    [attributeOids.province, subject.provinces ?? []],
    [attributeOids.street, subject.streets ?? []],
    [attributeOids.postalCode, subject.postalCodes ?? []],
    [attributeOids.commonName, subject.commonName ? [subject.commonName] : []],
    [attributeOids.serialNumber, subject.serialNumber ? [subject.serialNumber] : []],
  ];
  const present = sets.filter(([, values]) => values.length > 0);
  const encoded: Buffer[] = [];
  for (const [type, values] of present) encoded.push(yield* setOfPrimitives(yield* attributesOf(oidContent(type), values)));
  return sequenceOf(encoded);
};

/** Attributes of one type as they are in a set. A subject may have very many. */
const attributesOf = function* (type: Buffer, values: readonly string[]): Steps<Primitive[]> {
  const attributes: Primitive[] = [];
  for (const value of values) {
    if (attributes.push([tags.sequence, primitiveElements([[tags.oid, type], directoryString(value)])]) % elementsPerStep === 0) yield;
  }
  return attributes;
};

/** Returns the UID in a client certificate's subject, if any. Throws for several UIDs and for an empty one. */
export const userIdOf = ({attributes}: DistinguishedName): string | undefined => {
  const values = attributes.filter(({oid: found}) => found === attributeOids.userId);
  if (values.length > 1) throw new PkiError('expected 1 UID, but found multiple');
  const [only] = values;
  if (!only) return undefined;
  if (only.value === undefined) throw new PkiError('unable to parse UID into a string');
  if (only.value === '') throw new PkiError('UID cannot be an empty string');
  return only.value;
};
