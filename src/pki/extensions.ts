import {
  DerReader,
  elementsOf,
  onlyElement,
  readBitString,
  readBoolean,
  readInteger,
  readOid,
  tags,
  type Element,
} from '#src/pki/encoding/der.js';
import {bits, boolean, integer, octets, oid, sequence, tagged} from '#src/pki/encoding/der-builder.js';
import {PkiError} from '#src/pki/encoding/error.js';
import {extensionOids} from '#src/pki/encoding/oids.js';
import {keyUsageBits, type KeyUsageBit} from './usages.js';

/** An extension of a certificate or of a signing request. `value` is the content of its octet string. */
export interface Extension {
  readonly oid: string;
  readonly critical: boolean;
  readonly value: Buffer;
}

/** Whether a certificate may sign others, and how many intermediate authorities may follow it. */
export interface BasicConstraints {
  readonly isAuthority: boolean;
  readonly pathLength: number | undefined;
}

/** Parses a sequence of extensions. Throws if one occurs twice (RFC 5280 §4.2). */
export const readExtensions = ({content}: Element, duplicateMessage: string): Extension[] => {
  const extensions = elementsOf(content).map(element => {
    if (element.tag !== tags.sequence) throw new PkiError('x509: malformed extension');
    const reader = element.reader();
    const type = readOid(reader.next(tags.oid));
    const critical = reader.optional(tags.boolean);
    const {content: value} = reader.next(tags.octetString);
    reader.end();
    return {oid: type, critical: critical !== undefined && readBoolean(critical), value};
  });
  if (new Set(extensions.map(extension => extension.oid)).size < extensions.length) throw new PkiError(duplicateMessage);
  return extensions;
};

export const readBasicConstraints = (value: Buffer): BasicConstraints => {
  const reader = new DerReader(onlyElement(value, tags.sequence));
  const isAuthority = reader.optional(tags.boolean);
  const pathLength = reader.optional(tags.integer);
  reader.end();
  const length = pathLength && Number(readInteger(pathLength));
  if (length !== undefined && length < 0) throw new PkiError('x509: invalid basic constraints');
  return {isAuthority: isAuthority !== undefined && readBoolean(isAuthority), pathLength: length};
};

export const readKeyUsage = (value: Buffer): ReadonlySet<KeyUsageBit> => {
  const reader = new DerReader(value);
  const {bytes} = readBitString(reader.next(tags.bitString));
  reader.end();
  const isSet = (bit: number) => ((bytes[bit >> 3] ?? 0) & (0x80 >> (bit & 7))) !== 0;
  return new Set((Object.keys(keyUsageBits) as KeyUsageBit[]).filter(name => isSet(keyUsageBits[name])));
};

/** Returns the object identifiers of the extended usages in order. */
export const readExtendedUsages = (value: Buffer): string[] =>
  elementsOf(onlyElement(value, tags.sequence)).map(element => {
    if (element.tag !== tags.oid) throw new PkiError('x509: invalid extended key usages');
    return readOid(element);
  });

export const readSubjectKeyIdentifier = (value: Buffer): Buffer => onlyElement(value, tags.octetString);

/** Returns the key identifier; undefined if the extension identifies the authority in another way. */
export const readAuthorityKeyIdentifier = (value: Buffer): Buffer | undefined =>
  new DerReader(onlyElement(value, tags.sequence)).optional(tags.context(0))?.content;

const extension = (type: string, critical: boolean, value: Buffer): Buffer =>
  sequence(oid(type), ...(critical ? [boolean(true)] : []), octets(value));

export const buildKeyUsage = (usages: readonly KeyUsageBit[]): Buffer => {
  const numbers = usages.map(usage => keyUsageBits[usage]);
  const last = Math.max(...numbers);
  const bytes = Buffer.alloc((last >> 3) + 1);
  for (const number of numbers) bytes[number >> 3]! |= 0x80 >> (number & 7);
  // Trailing zero bits of a named bit list are removed (X.690 §11.2.2).
  return extension(extensionOids.keyUsage, true, bits(bytes, 7 - (last & 7)));
};

export const buildExtendedUsages = (oids: readonly string[]): Buffer =>
  extension(extensionOids.extendedKeyUsage, false, sequence(...oids.map(oid)));

export const buildBasicConstraints = ({isAuthority, pathLength}: BasicConstraints): Buffer =>
  extension(
    extensionOids.basicConstraints,
    true,
    sequence(...(isAuthority ? [boolean(true)] : []), ...(pathLength === undefined ? [] : [integer(BigInt(pathLength))])),
  );

export const buildSubjectKeyIdentifier = (id: Buffer): Buffer => extension(extensionOids.subjectKeyIdentifier, false, octets(id));

export const buildAuthorityKeyIdentifier = (id: Buffer): Buffer =>
  extension(extensionOids.authorityKeyIdentifier, false, sequence(tagged(tags.context(0), id)));

/** Critical only if the subject is empty (RFC 5280 §4.2.1.6). */
export const buildAlternativeNamesExtension = (names: Buffer, subjectIsEmpty: boolean): Buffer =>
  extension(extensionOids.subjectAlternativeName, subjectIsEmpty, names);
