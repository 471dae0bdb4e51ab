// Private and public keys: generation, and their PEM and DER encodings. Supports RSA, ECDSA and Ed25519.

import {createPrivateKey, createPublicKey, generateKeyPair, type KeyObject} from 'node:crypto';
import {promisify} from 'node:util';
import {readInteger, readOctetsOfBitString, readOid, tags, DerReader} from '#src/pki/encoding/der.js';
import {PkiError} from '#src/pki/encoding/error.js';
import {curves, keyOids} from '#src/pki/encoding/oids.js';
import {pemBlocks, toPem} from '#src/pki/encoding/pem.js';

const generate = promisify(generateKeyPair);

/** The kind of key to generate. An RSA key of 2048 bits takes about 0.2 s; the others take next to no time. */
export type KeySpec =
  | {readonly kind: 'ecdsa'; readonly curve?: 'P-224' | 'P-256' | 'P-384' | 'P-521'}
  | {readonly kind: 'rsa'; readonly bits?: number}
  | {readonly kind: 'ed25519'};

/** Generates a private key: ECDSA P-256 by default. RSA keys have at least 2048 bits. */
export const generatePrivateKey = async (spec: KeySpec = {kind: 'ecdsa'}): Promise<KeyObject> => {
  if (spec.kind === 'ed25519') return (await generate('ed25519')).privateKey;
  if (spec.kind === 'ecdsa') return (await generate('ec', {namedCurve: spec.curve ?? 'P-256'})).privateKey;
  const modulusLength = spec.bits ?? 2048;
  if (modulusLength < 2048) throw new PkiError(`an RSA key of ${modulusLength} bits is too short: at least 2048 are needed`);
  return (await generate('rsa', {modulusLength})).privateKey;
};

/** Encodings of private keys by PEM label: SEC 1, PKCS #1, PKCS #8. */
const encodings = new Map<string, 'sec1' | 'pkcs1' | 'pkcs8'>([
  ['EC PRIVATE KEY', 'sec1'],
  ['RSA PRIVATE KEY', 'pkcs1'],
  ['PRIVATE KEY', 'pkcs8'],
]);

const supportedKeyTypes = new Set(['rsa', 'ec', 'ed25519']);

const decodePrivateKey = (bytes: Buffer, type: 'sec1' | 'pkcs1' | 'pkcs8'): KeyObject | undefined => {
  try {
    const key = createPrivateKey({key: bytes, format: 'der', type});
    return supportedKeyTypes.has(key.asymmetricKeyType ?? '') ? key : undefined;
  } catch {
    return undefined;
  }
};

/**
 * Returns the first supported private key in PEM: RSA, ECDSA or Ed25519 as PKCS #1, SEC 1 or PKCS #8. Other blocks are
 * skipped.
 */
export const parsePrivateKey = (pem: Buffer | string): KeyObject => {
  let encrypted = false;
  for (const {label, headers, bytes} of pemBlocks(pem)) {
    if (label === 'ENCRYPTED PRIVATE KEY' || headers['DEK-Info'] !== undefined) {
      encrypted = true;
      continue;
    }
    const encoding = encodings.get(label);
    // PKCS #8 keys under another label are common.
    const key = encoding && (decodePrivateKey(bytes, encoding) ?? decodePrivateKey(bytes, 'pkcs8'));
    if (key) return key;
  }
  if (encrypted) throw new PkiError('the private key is encrypted: keys must be stored without a passphrase');
  throw new PkiError('data does not contain a valid RSA, ECDSA or Ed25519 private key');
};

/**
 * Returns a private key in PEM in the usual encoding of its kind: SEC 1 for ECDSA, PKCS #1 for RSA, PKCS #8 for
 * Ed25519.
 */
export const privateKeyPem = (key: KeyObject): string => {
  if (key.asymmetricKeyType === 'ec') return toPem('EC PRIVATE KEY', key.export({format: 'der', type: 'sec1'}));
  if (key.asymmetricKeyType === 'rsa') return toPem('RSA PRIVATE KEY', key.export({format: 'der', type: 'pkcs1'}));
  return toPem('PRIVATE KEY', key.export({format: 'der', type: 'pkcs8'}));
};

/** Returns the SubjectPublicKeyInfo of a private or public key (RFC 5280 §4.1.2.7) in DER. */
export const publicKeyDer = (key: KeyObject): Buffer =>
  (key.type === 'private' ? createPublicKey(key) : key).export({format: 'der', type: 'spki'});

/** Returns a public key in PEM (label PUBLIC KEY). */
export const publicKeyPem = (key: KeyObject): string => toPem('PUBLIC KEY', publicKeyDer(key));

/** Whether two keys, private or public, have the same public key. */
export const sameKey = (one: KeyObject, other: KeyObject): boolean => publicKeyDer(one).equals(publicKeyDer(other));

/** The encoding of uncompressed public keys up to the coordinates, by curve. */
const uncompressedPointPrefixes = [
  {crv: 'P-256', start: Buffer.from('3059301306072a8648ce3d020106082a8648ce3d03010703420004', 'hex'), size: 32},
  {crv: 'P-384', start: Buffer.from('3076301006072a8648ce3d020106052b8104002203620004', 'hex'), size: 48},
] as const;

/**
 * Imports an uncompressed key by its coordinates, which takes a third of the time of the general decoder. The point is
 * still checked to be on the curve.
 */
const readUncompressedPoint = (info: Buffer): KeyObject | undefined => {
  for (const {crv, start, size} of uncompressedPointPrefixes) {
    if (info.length !== start.length + 2 * size || !info.subarray(0, start.length).equals(start)) continue;
    const coordinate = (from: number) => info.toString('base64url', from, from + size);
    return createPublicKey({key: {kty: 'EC', crv, x: coordinate(start.length), y: coordinate(start.length + size)}, format: 'jwk'});
  }
  return undefined;
};

/** The bytes of a coordinate by curve. */
const coordinateBytes = (curve: string): number => Math.ceil(Number(curve.slice('P-'.length)) / 8);

/**
 * Throws unless the key is a point with both coordinates: that is the only form for certificates, and others mean the
 * same point.
 */
const checkPoint = (algorithm: DerReader, key: Buffer): void => {
  const curve = curves.get(readOid(algorithm.next(tags.oid)));
  if (curve === undefined) throw new PkiError('x509: unsupported elliptic curve');
  if (key[0] !== 4 || key.length !== 1 + 2 * coordinateBytes(curve)) throw new PkiError('x509: failed to unmarshal elliptic curve point');
};

const largestNumber = 2n ** 63n - 1n;

/**
 * Throws unless modulus and exponent are positive, as PKCS #1 encodes them. What else they need for a signature is
 * checked with it.
 */
const checkModulusAndExponent = (algorithm: DerReader, key: Buffer): void => {
  const parameters = algorithm.more ? algorithm.next() : undefined;
  if (parameters?.tag !== tags.null || parameters.content.length > 0) throw new PkiError('x509: RSA key missing NULL parameters');
  const numbers = read(() => new DerReader(key).enter(), 'x509: invalid RSA public key');
  const modulus = read(() => readInteger(numbers.next(tags.integer)), 'x509: invalid RSA modulus');
  const exponent = read(() => readInteger(numbers.next(tags.integer)), 'x509: invalid RSA public exponent');
  if (exponent > largestNumber || exponent < -largestNumber - 1n) throw new PkiError('x509: invalid RSA public exponent');
  if (modulus <= 0n) throw new PkiError('x509: RSA modulus is not a positive number');
  if (exponent <= 0n) throw new PkiError('x509: RSA public exponent is not a positive number');
};

const checkEd25519 = (algorithm: DerReader, key: Buffer): void => {
  if (algorithm.more) throw new PkiError('x509: Ed25519 key encoded with illegal parameters');
  if (key.length !== 32) throw new PkiError('x509: wrong Ed25519 public key size');
};

const read = <T>(act: () => T, refusal: string): T => {
  try {
    return act();
  } catch (cause) {
    throw new PkiError(refusal, {cause});
  }
};

const checks = new Map<string, (algorithm: DerReader, key: Buffer) => void>([
  [keyOids.rsa, checkModulusAndExponent],
  [keyOids.ec, checkPoint],
  [keyOids.ed25519, checkEd25519],
]);

/**
 * Parses a SubjectPublicKeyInfo. Returns undefined for an unsupported algorithm, because the key may not be needed.
 * Throws for a malformed key or an unsupported curve. Stricter than OpenSSL, as other readers of certificates are.
 */
export const readPublicKey = (info: Buffer): KeyObject | undefined => {
  const outer = new DerReader(info).enter();
  const algorithm = outer.enter();
  const kind = readOid(algorithm.next(tags.oid));
  const check = checks.get(kind);
  if (!check) return undefined;
  check(algorithm, readOctetsOfBitString(outer.next(tags.bitString)));
  return read(
    () => readUncompressedPoint(info) ?? createPublicKey({key: info, format: 'der', type: 'spki'}),
    kind === keyOids.ec ? 'x509: failed to unmarshal elliptic curve point' : 'x509: malformed public key',
  );
};

/**
 * Throws if signatures of an RSA key prove nothing: a short key, or an exponent or modulus that no private key belongs
 * to.
 */
export const checkRsaKey = (key: KeyObject): void => {
  const {modulusLength: bits = 0, publicExponent: exponent = 0n} = key.asymmetricKeyDetails!;
  if (bits < 1024) throw new PkiError(`crypto/rsa: ${bits}-bit keys are insecure`);
  const {n = ''} = key.export({format: 'jwk'});
  if (Buffer.from(n, 'base64url').at(-1)! % 2 === 0) throw new PkiError('crypto/rsa: public modulus is even');
  if (exponent < 2n) throw new PkiError('crypto/rsa: public exponent too small or negative');
  if (exponent % 2n === 0n) throw new PkiError('crypto/rsa: public exponent is even');
  if (exponent > 0x7fffffffn) throw new PkiError('crypto/rsa: public exponent too large');
};
