import {createPrivateKey, createPublicKey, generateKeyPair, type KeyObject} from 'node:crypto';
import {promisify} from 'node:util';
import {readOid, tags, DerReader} from './der.js';
import {PkiError} from './error.js';
import {curves, keyOids} from './oids.js';
import {pemBlocks, toPem} from './pem.js';

const generate = promisify(generateKeyPair);

/** What kind of key to make. RSA costs about 0.2 s at 2048 bits, the others nothing to speak of. */
export type KeySpec =
  | {readonly kind: 'ecdsa'; readonly curve?: 'P-224' | 'P-256' | 'P-384' | 'P-521'}
  | {readonly kind: 'rsa'; readonly bits?: number}
  | {readonly kind: 'ed25519'};

/** Makes a private key: ECDSA on P-256 unless asked otherwise, RSA never below 2048 bits. */
export const generatePrivateKey = async (spec: KeySpec = {kind: 'ecdsa'}): Promise<KeyObject> => {
  if (spec.kind === 'ed25519') return (await generate('ed25519')).privateKey;
  if (spec.kind === 'ecdsa') return (await generate('ec', {namedCurve: spec.curve ?? 'P-256'})).privateKey;
  const modulusLength = spec.bits ?? 2048;
  if (modulusLength < 2048) throw new PkiError(`an RSA key of ${modulusLength} bits is too short: at least 2048 are needed`);
  return (await generate('rsa', {modulusLength})).privateKey;
};

/** The encodings of private keys by PEM label: SEC 1, PKCS #1, PKCS #8. */
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

/** The first usable private key in PEM: RSA, ECDSA or Ed25519 as PKCS #1, SEC 1 or PKCS #8. Other blocks, such as EC PARAMETERS, are passed over. */
export const parsePrivateKey = (pem: Buffer | string): KeyObject => {
  let encrypted = false;
  for (const {label, headers, bytes} of pemBlocks(pem)) {
    if (label === 'ENCRYPTED PRIVATE KEY' || headers['DEK-Info'] !== undefined) {
      encrypted = true;
      continue;
    }
    const encoding = encodings.get(label);
    // A label may lie about the encoding: PKCS #8 under another name is common enough.
    const key = encoding && (decodePrivateKey(bytes, encoding) ?? decodePrivateKey(bytes, 'pkcs8'));
    if (key) return key;
  }
  if (encrypted) throw new PkiError('the private key is encrypted: keys must be stored without a passphrase');
  throw new PkiError('data does not contain a valid RSA, ECDSA or Ed25519 private key');
};

/** A private key in PEM, in the encoding that tools expect of its kind: SEC 1 for ECDSA, PKCS #1 for RSA, PKCS #8 for Ed25519. */
export const privateKeyPem = (key: KeyObject): string => {
  if (key.asymmetricKeyType === 'ec') return toPem('EC PRIVATE KEY', key.export({format: 'der', type: 'sec1'}));
  if (key.asymmetricKeyType === 'rsa') return toPem('RSA PRIVATE KEY', key.export({format: 'der', type: 'pkcs1'}));
  return toPem('PRIVATE KEY', key.export({format: 'der', type: 'pkcs8'}));
};

/** The SubjectPublicKeyInfo of a private or public key (RFC 5280 §4.1.2.7), in DER. */
export const publicKeyDer = (key: KeyObject): Buffer => (key.type === 'private' ? createPublicKey(key) : key).export({format: 'der', type: 'spki'});

/** A public key in PEM (label PUBLIC KEY). */
export const publicKeyPem = (key: KeyObject): string => toPem('PUBLIC KEY', publicKeyDer(key));

/** Whether two keys, private or public, share their public half. */
export const sameKey = (one: KeyObject, other: KeyObject): boolean => publicKeyDer(one).equals(publicKeyDer(other));

/** How the usual form of a key on a curve begins: everything before the coordinates of its point, which is not compressed. */
const uncompressedPointPrefixes = [
  {crv: 'P-256', start: Buffer.from('3059301306072a8648ce3d020106082a8648ce3d03010703420004', 'hex'), size: 32},
  {crv: 'P-384', start: Buffer.from('3076301006072a8648ce3d020106052b8104002203620004', 'hex'), size: 48},
] as const;

/** A key in that form, read by its coordinates: that takes a third of the time that the general decoder does. Checked to be on the curve all the same. */
const readUncompressedPoint = (info: Buffer): KeyObject | undefined => {
  for (const {crv, start, size} of uncompressedPointPrefixes) {
    if (info.length !== start.length + 2 * size || !info.subarray(0, start.length).equals(start)) continue;
    const coordinate = (from: number) => info.toString('base64url', from, from + size);
    return createPublicKey({key: {kty: 'EC', crv, x: coordinate(start.length), y: coordinate(start.length + size)}, format: 'jwk'});
  }
  return undefined;
};

/**
 * Reads a SubjectPublicKeyInfo. An algorithm that is not supported yields undefined, for a certificate may carry a key nobody uses; a broken
 * key, or a curve that is not supported, is refused.
 */
export const readPublicKey = (info: Buffer): KeyObject | undefined => {
  const algorithm = new DerReader(info).enter().enter();
  const kind = readOid(algorithm.next(tags.oid));
  if (kind === keyOids.ec && !curves.has(readOid(algorithm.next(tags.oid)))) throw new PkiError('x509: unsupported elliptic curve');
  if (kind !== keyOids.rsa && kind !== keyOids.ec && kind !== keyOids.ed25519) return undefined;
  try {
    return readUncompressedPoint(info) ?? createPublicKey({key: info, format: 'der', type: 'spki'});
  } catch (error) {
    throw new PkiError(kind === keyOids.ec ? 'x509: failed to unmarshal elliptic curve point' : 'x509: malformed public key', {cause: error});
  }
};
