// Signature algorithms of certificates and signing requests: reading and writing their identifiers, choosing one for a
// key, signing and verifying (RSA with PKCS #1 or PSS, ECDSA, Ed25519). Unsupported ones are reported, never guessed.

import {constants, sign, verify, type KeyObject} from 'node:crypto';
import {readInteger, readOid, tags, type DerReader, type Element} from '#src/pki/encoding/der.js';
import {integer, nothing, oid, sequence, wrapped} from '#src/pki/encoding/der-builder.js';
import {PkiError} from '#src/pki/encoding/error.js';
import {checkRsaKey} from './keys.js';

type KeyKind = 'rsa' | 'ec' | 'ed25519';

/** A signature algorithm. `hash` is node:crypto's name of the digest; Ed25519 has none. */
export interface SignatureAlgorithm {
  readonly name: string;
  readonly oid: string;
  readonly key: KeyKind;
  readonly hash: string | undefined;
  readonly pss?: true;
  /** Insecure; signatures are always rejected. */
  readonly broken?: true;
}

const rsa = '1.2.840.113549.1.1';
const ecdsa = '1.2.840.10045.4';
const pssOid = `${rsa}.10`;
const mgf1Oid = `${rsa}.8`;

const algorithms: readonly SignatureAlgorithm[] = [
  {name: 'MD2-RSA', oid: `${rsa}.2`, key: 'rsa', hash: 'md2', broken: true},
  {name: 'MD5-RSA', oid: `${rsa}.4`, key: 'rsa', hash: 'md5', broken: true},
  {name: 'SHA1-RSA', oid: `${rsa}.5`, key: 'rsa', hash: 'sha1'},
  {name: 'SHA1-RSA', oid: '1.3.14.3.2.29', key: 'rsa', hash: 'sha1'},
  {name: 'SHA256-RSA', oid: `${rsa}.11`, key: 'rsa', hash: 'sha256'},
  {name: 'SHA384-RSA', oid: `${rsa}.12`, key: 'rsa', hash: 'sha384'},
  {name: 'SHA512-RSA', oid: `${rsa}.13`, key: 'rsa', hash: 'sha512'},
  {name: 'ECDSA-SHA1', oid: `${ecdsa}.1`, key: 'ec', hash: 'sha1'},
  {name: 'ECDSA-SHA256', oid: `${ecdsa}.3.2`, key: 'ec', hash: 'sha256'},
  {name: 'ECDSA-SHA384', oid: `${ecdsa}.3.3`, key: 'ec', hash: 'sha384'},
  {name: 'ECDSA-SHA512', oid: `${ecdsa}.3.4`, key: 'ec', hash: 'sha512'},
  {name: 'Ed25519', oid: '1.3.101.112', key: 'ed25519', hash: undefined},
];

const byOid = new Map(algorithms.map(algorithm => [algorithm.oid, algorithm]));

const pssHashes = new Map([
  ['2.16.840.1.101.3.4.2.1', {hash: 'sha256', bytes: 32n}],
  ['2.16.840.1.101.3.4.2.2', {hash: 'sha384', bytes: 48n}],
  ['2.16.840.1.101.3.4.2.3', {hash: 'sha512', bytes: 64n}],
]);

/** Parses RSASSA-PSS parameters (RFC 4055 §3.1). Only equal hashes and a salt of the hash's length are supported. */
const readPss = (parameters: DerReader): SignatureAlgorithm | undefined => {
  const inner = parameters.enter();
  const field = (number: number) => inner.enter(tags.contextConstructed(number));
  const hashOid = readOid(field(0).enter().next(tags.oid));
  const mask = field(1).enter();
  const isMgf1 = readOid(mask.next(tags.oid)) === mgf1Oid;
  const sameHash = readOid(mask.enter().next(tags.oid)) === hashOid;
  const saltLength = readInteger(field(2).next(tags.integer));
  const trailer = inner.optional(tags.contextConstructed(3));
  const usualTrailer = !trailer || readInteger(trailer.reader().next(tags.integer)) === 1n;
  const known = pssHashes.get(hashOid);
  if (!known || !isMgf1 || !sameHash || saltLength !== known.bytes || !usualTrailer) return undefined;
  return {name: `${known.hash.toUpperCase()}-RSAPSS`, oid: pssOid, key: 'rsa', hash: known.hash, pss: true};
};

/** Parses an AlgorithmIdentifier; undefined if it is not supported. */
export const readSignatureAlgorithm = (identifier: Element): SignatureAlgorithm | undefined => {
  const reader = identifier.reader();
  const found = readOid(reader.next(tags.oid));
  if (found !== pssOid) return byOid.get(found);
  try {
    return readPss(reader);
  } catch {
    return undefined; // Omitted parameters mean SHA-1.
  }
};

/** Encodes the AlgorithmIdentifier. */
export const buildSignatureAlgorithm = (algorithm: SignatureAlgorithm): Buffer => {
  if (algorithm.pss) {
    const [hashOid, {bytes}] = [...pssHashes].find(([, {hash}]) => hash === algorithm.hash)!;
    const hash = () => sequence(oid(hashOid), nothing());
    const parameters = [hash(), sequence(oid(mgf1Oid), hash()), integer(bytes)].map((field, number) =>
      wrapped(tags.contextConstructed(number), field),
    );
    return sequence(oid(pssOid), sequence(...parameters));
  }
  // RSA identifiers have NULL parameters, the others none (RFC 4055 §5, RFC 5758 §3.2, RFC 8410 §3).
  return algorithm.key === 'rsa' ? sequence(oid(algorithm.oid), nothing()) : sequence(oid(algorithm.oid));
};

const named = (name: string): SignatureAlgorithm => algorithms.find(algorithm => algorithm.name === name)!;

const kindOf = (key: KeyObject): string => key.asymmetricKeyType ?? 'unknown';

const ecdsaFor = (key: KeyObject): SignatureAlgorithm => {
  const curve = key.asymmetricKeyDetails?.namedCurve;
  return named(curve === 'secp521r1' ? 'ECDSA-SHA512' : curve === 'secp384r1' ? 'ECDSA-SHA384' : 'ECDSA-SHA256');
};

/** Returns the algorithm that an authority signs with, by the type of its key. */
export const authorityAlgorithm = (key: KeyObject): SignatureAlgorithm => {
  if (kindOf(key) === 'rsa') return named('SHA256-RSA');
  if (kindOf(key) === 'ec') return ecdsaFor(key);
  if (kindOf(key) === 'ed25519') return named('Ed25519');
  throw new PkiError('x509: only RSA, ECDSA and Ed25519 keys supported');
};

/**
 * Returns the algorithm that a requester signs with: the authority's, except SHA-384 and SHA-512 for RSA keys from 3072
 * and 4096 bits.
 */
export const requestAlgorithm = (key: KeyObject): SignatureAlgorithm => {
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  if (kindOf(key) !== 'rsa' || bits < 3072) return authorityAlgorithm(key);
  return named(bits >= 4096 ? 'SHA512-RSA' : 'SHA384-RSA');
};

const pssPadding = {padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST};

const keyNames: Record<KeyKind, string> = {rsa: 'RSA', ec: 'ECDSA', ed25519: 'Ed25519'};

const failure = ({key}: SignatureAlgorithm): string =>
  key === 'rsa' ? 'crypto/rsa: verification error' : `x509: ${keyNames[key]} verification failure`;

/** Signed bytes with their signature and algorithm. */
export interface SignedBytes {
  readonly bytes: Buffer;
  readonly signature: Buffer;
  readonly algorithm: SignatureAlgorithm | undefined;
}

/** Throws if the signature does not verify. SHA-1 is accepted only with `allowSha1`; MD2 and MD5 never are. */
export const checkSignature = (
  {bytes, signature, algorithm}: SignedBytes,
  key: KeyObject | undefined,
  {allowSha1}: {allowSha1: boolean},
): void => {
  if (!algorithm || !key) throw new PkiError('x509: cannot verify signature: algorithm unimplemented');
  if (algorithm.broken || (algorithm.hash === 'sha1' && !allowSha1)) {
    throw new PkiError(`x509: cannot verify signature: insecure algorithm ${algorithm.name}`);
  }
  if (kindOf(key) !== algorithm.key) {
    throw new PkiError(
      `x509: signature algorithm specifies an ${keyNames[algorithm.key]} public key, but have public key of type ${keyNames[kindOf(key) as KeyKind]}`,
    );
  }
  // Only for RSA: for other keys reading the details costs as much as verifying.
  if (algorithm.key === 'rsa') checkRsaKey(key);
  if (!verifies(algorithm, bytes, key, signature)) throw new PkiError(failure(algorithm));
};

const verifies = ({hash, pss}: SignatureAlgorithm, bytes: Buffer, key: KeyObject, signature: Buffer): boolean => {
  try {
    return verify(hash, bytes, pss ? {key, ...pssPadding} : key, signature);
  } catch {
    return false;
  }
};

/** Signs bytes with a private key. */
export const signBytes = ({hash, pss}: SignatureAlgorithm, bytes: Buffer, key: KeyObject): Buffer =>
  sign(hash, bytes, pss ? {key, ...pssPadding} : key);
