// Parses X.509 certificates. Strict DER is required except where a function says so, malformed input throws a
// `PkiError`, and nothing here verifies signatures or validity: chain.ts does.

import {createHash, type KeyObject} from 'node:crypto';
import {noAlternativeNames, readAlternativeNames, type AlternativeNames} from './alternative-names.js';
import {berToDer} from '#src/pki/encoding/ber.js';
import {DerReader, readInteger, readOctetsOfBitString, tags, type Element} from '#src/pki/encoding/der.js';
import {PkiError} from '#src/pki/encoding/error.js';
import {
  readAuthorityKeyIdentifier,
  readBasicConstraints,
  readExtendedUsages,
  readExtensions,
  readKeyUsage,
  readSubjectKeyIdentifier,
  type BasicConstraints,
  type Extension,
} from './extensions.js';
import {readPublicKey} from '#src/pki/keys/keys.js';
import {readName, type DistinguishedName} from './names.js';
import {extensionOids} from '#src/pki/encoding/oids.js';
import {knownTexts} from '#src/pki/encoding/known-texts.js';
import {pemBlocks, toPem} from '#src/pki/encoding/pem.js';
import {readSignatureAlgorithm, type SignedBytes} from '#src/pki/keys/signatures.js';
import {readTime} from '#src/pki/encoding/times.js';
import {extendedUsageName, type KeyUsageBit} from './usages.js';

/**
 * An X.509 certificate (RFC 5280 §4.1). Times are in ms since the epoch. Extended usages are names, or object
 * identifiers if unknown.
 */
export interface Certificate extends AlternativeNames {
  readonly raw: Buffer;
  readonly version: number;
  readonly serial: bigint;
  readonly issuer: DistinguishedName;
  readonly subject: DistinguishedName;
  readonly notBefore: number;
  readonly notAfter: number;
  readonly publicKeyInfo: Buffer;
  /** Undefined if the key's algorithm is not supported. Decoded on first access, which throws for a malformed key. */
  readonly publicKey: KeyObject | undefined;
  readonly extensions: readonly Extension[];
  readonly basicConstraints: BasicConstraints | undefined;
  /** Undefined if the certificate does not restrict the use of its key. */
  readonly keyUsage: ReadonlySet<KeyUsageBit> | undefined;
  readonly extendedUsages: readonly string[] | undefined;
  readonly subjectKeyIdentifier: Buffer | undefined;
  readonly authorityKeyIdentifier: Buffer | undefined;
  readonly signed: SignedBytes;
}

const pemLabel = 'CERTIFICATE';

const readExtensionFields = (extensions: readonly Extension[]) => {
  const read = <T>(requested: string, reader: (value: Buffer) => T): T | undefined => {
    const found = extensions.find(({oid}) => oid === requested);
    return found && reader(found.value);
  };
  return {
    extensions,
    basicConstraints: read(extensionOids.basicConstraints, readBasicConstraints),
    keyUsage: read(extensionOids.keyUsage, readKeyUsage),
    extendedUsages: read(extensionOids.extendedKeyUsage, readExtendedUsages)?.map(extendedUsageName),
    subjectKeyIdentifier: read(extensionOids.subjectKeyIdentifier, readSubjectKeyIdentifier),
    authorityKeyIdentifier: read(extensionOids.authorityKeyIdentifier, readAuthorityKeyIdentifier),
    ...(read(extensionOids.subjectAlternativeName, readAlternativeNames) ?? noAlternativeNames),
  };
};

const readVersion = (body: DerReader): number => {
  const explicit = body.optional(tags.contextConstructed(0));
  const version = explicit ? Number(readInteger(explicit.reader().next(tags.integer))) + 1 : 1;
  if (version < 1 || version > 3) throw new PkiError('x509: invalid version');
  return version;
};

const readBody = (certificate: Element) => {
  const body = certificate.reader();
  const version = readVersion(body);
  const serial = readInteger(body.next(tags.integer));
  const innerAlgorithm = body.next(tags.sequence).raw;
  const issuer = readName(body.next(tags.sequence));
  const validity = body.enter();
  const [notBefore, notAfter] = [readTime(validity.next()), readTime(validity.next())];
  const subject = readName(body.next(tags.sequence));
  const publicKeyInfo = body.next(tags.sequence).raw;
  body.optional(tags.context(1)); // Unique identifiers of version 2.
  body.optional(tags.context(2));
  const explicit = body.optional(tags.contextConstructed(3));
  body.end();
  const extensions = explicit
    ? readExtensions(explicit.reader().next(tags.sequence), 'x509: certificate contains duplicate extensions')
    : [];
  return {
    innerAlgorithm,
    fields: {version, serial, issuer, subject, notBefore, notAfter, publicKeyInfo, ...readExtensionFields(extensions)},
  };
};

const readCertificate = (certificate: Element): Certificate => {
  const outer = certificate.reader();
  const body = outer.next(tags.sequence);
  const statedAlgorithm = outer.next(tags.sequence);
  const algorithm = readSignatureAlgorithm(statedAlgorithm);
  const signature = readOctetsOfBitString(outer.next(tags.bitString));
  outer.end();
  const {innerAlgorithm, fields} = readBody(body);
  // Only the inner identifier is covered by the signature (RFC 5280 §4.1.1.2).
  if (!innerAlgorithm.equals(statedAlgorithm.raw)) throw new PkiError("x509: inner and outer signature algorithm identifiers don't match");
  let decoded: {key: KeyObject | undefined} | undefined;
  return {
    raw: certificate.raw,
    ...fields,
    // Decoding the key costs more than the rest of parsing, and the keys of most leaf certificates are not used.
    get publicKey() {
      return (decoded ??= {key: readPublicKey(fields.publicKeyInfo)}).key;
    },
    signed: {bytes: body.raw, signature, algorithm},
  };
};

/** Parses zero or more concatenated certificates. */
export const parseCertificates = (der: Buffer): Certificate[] => {
  const certificates: Certificate[] = [];
  for (const reader = new DerReader(der); reader.more;) {
    const next = reader.optional(tags.sequence);
    if (!next) throw new PkiError('x509: malformed certificate');
    certificates.push(readCertificate(next));
  }
  return certificates;
};

/** Parses exactly one certificate in DER, such as the certificate of a TLS peer. */
export const parseCertificate = (der: Buffer): Certificate => {
  const [only, ...more] = parseCertificates(der);
  if (!only) throw new PkiError('x509: malformed certificate');
  if (more.length > 0) throw new PkiError('x509: trailing data');
  return only;
};

/**
 * As `parseCertificates`, but also accepts BER. Signatures of converted certificates may not verify because their bytes
 * have changed.
 */
export const parseCertificatesBer = (bytes: Buffer): Certificate[] => {
  try {
    return parseCertificates(bytes);
  } catch (error) {
    const der = asDer(bytes);
    if (!der || der.equals(bytes)) throw error;
    return parseCertificates(der);
  }
};

const asDer = (bytes: Buffer): Buffer | undefined => {
  try {
    return berToDer(bytes);
  } catch {
    return undefined; // The error of the first parse is reported.
  }
};

/**
 * Returns the certificates of a PEM bundle in order. Other blocks and blocks with headers are skipped. Throws if there
 * is none. Equal texts may return the same certificates.
 */
export const parseCertificateBundle = (pem: Buffer | string): Certificate[] => [...knownBundle(pem)];

const knownBundle = knownTexts((pem: Buffer | string): readonly Certificate[] => {
  const certificates: Certificate[] = [];
  for (const {label, headers, bytes} of pemBlocks(pem)) {
    if (label === pemLabel && Object.keys(headers).length === 0) certificates.push(parseCertificate(bytes));
  }
  if (certificates.length === 0) throw new PkiError('data does not contain any valid RSA or ECDSA certificates');
  return certificates;
});

/** Returns a certificate in PEM. */
export const certificatePem = ({raw}: Pick<Certificate, 'raw'>): string => toPem(pemLabel, raw);

/** Returns the SHA-256 fingerprint in lower-case hex. */
export const fingerprint = ({raw}: Pick<Certificate, 'raw'>): string => createHash('sha256').update(raw).digest('hex');

/** Whether the certificate is that of an authority (basic constraints). */
export const isAuthority = ({basicConstraints}: Certificate): boolean => basicConstraints?.isAuthority ?? false;
