// JSON Web Tokens: signing and reading, and the public keys as a key set. A token that was only read is not verified.

import {createHash, createPublicKey, sign, verify, type KeyObject} from 'node:crypto';
import {PkiError} from '#src/pki/encoding/error.js';
import {publicKeyDer} from './keys.js';

/** The claims of a token (RFC 7519 §4.1), registered and private. Times are in seconds since the epoch. */
export interface TokenClaims {
  readonly iss?: string;
  readonly sub?: string;
  readonly aud?: readonly string[];
  readonly exp?: number;
  readonly nbf?: number;
  readonly iat?: number;
  readonly jti?: string;
  readonly [name: string]: unknown;
}

interface Algorithm {
  readonly name: string;
  readonly hash: string;
  readonly curve?: string;
}

/** Signature algorithms by key type (RFC 7518 §3.1): one for RSA, and one per curve. */
const rs256: Algorithm = {name: 'RS256', hash: 'sha256'};
const byCurve: ReadonlyMap<string, Algorithm> = new Map([
  ['prime256v1', {name: 'ES256', hash: 'sha256', curve: 'P-256'}],
  ['secp384r1', {name: 'ES384', hash: 'sha384', curve: 'P-384'}],
  ['secp521r1', {name: 'ES512', hash: 'sha512', curve: 'P-521'}],
]);
const hashes: ReadonlyMap<string, string> = new Map(['256', '384', '512'].map(bits => [bits, `sha${bits}`]));

const algorithmOf = (key: KeyObject): Algorithm => {
  if (key.asymmetricKeyType === 'rsa') return rs256;
  if (key.asymmetricKeyType !== 'ec') throw new PkiError('tokens are signed with RSA or ECDSA keys only');
  const found = byCurve.get(key.asymmetricKeyDetails?.namedCurve ?? '');
  if (!found) throw new PkiError('unknown private key curve, must be 256, 384, or 521');
  return found;
};

/** A key that signs or verifies tokens. Its id is a hash of the public key. */
export interface TokenKey {
  readonly id: string;
  readonly algorithm: string;
  readonly key: KeyObject;
}

/** Throws a `PkiError` for a key type that tokens are not signed with. */
export const tokenKey = (key: KeyObject): TokenKey => ({
  id: createHash('sha256').update(publicKeyDer(key)).digest('base64url'),
  algorithm: algorithmOf(key).name,
  key,
});

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Returns the claims sorted by name, as they are signed. */
export const sortedClaims = (claims: TokenClaims): TokenClaims =>
  Object.fromEntries(Object.entries(claims).sort(([a], [b]) => (a < b ? -1 : 1)));

/** Returns a token in compact serialization (RFC 7515 §7.1), with claims sorted by name. */
export const signToken = (claims: TokenClaims, {id, key}: TokenKey): string => {
  const {name, hash} = algorithmOf(key);
  const input = `${encoded({alg: name, kid: id})}.${encoded(sortedClaims(claims))}`;
  return `${input}.${sign(hash, Buffer.from(input), {key, dsaEncoding: 'ieee-p1363'}).toString('base64url')}`;
};

/** A parsed token whose signature has not been verified. */
export interface UnverifiedToken {
  /** The `kid` header, or the empty string. */
  readonly keyId: string;
  readonly claims: TokenClaims;
  /** Whether the signature was made with this key, by an algorithm of the key's type. */
  isSignedBy(key: KeyObject): boolean;
}

/** Whether the text is base64url without padding. A remainder of one digit stands for no byte. */
const isBase64Url = (text: string): boolean => text.length % 4 !== 1 && /^[\w-]+$/.test(text);

const part = (text: string): Readonly<Record<string, unknown>> | undefined => {
  if (!isBase64Url(text)) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
};

const isText = (value: unknown): boolean => value === undefined || typeof value === 'string';
const isTime = (value: unknown): boolean => value === undefined || (typeof value === 'number' && Number.isFinite(value));

/** Returns the claims with the audience as a list; undefined if a registered claim has the wrong type. */
const claimsOf = (payload: Readonly<Record<string, unknown>>): TokenClaims | undefined => {
  const {iss, sub, jti, exp, nbf, iat, aud} = payload;
  const audiences = typeof aud === 'string' ? [aud] : (aud ?? []);
  if (![iss, sub, jti].every(isText) || ![exp, nbf, iat].every(isTime)) return undefined;
  if (!Array.isArray(audiences) || !audiences.every(audience => typeof audience === 'string')) return undefined;
  return {...payload, aud: audiences} as TokenClaims;
};

/**
 * Parses a compact token; undefined if it is invalid. One without a signature, as of the algorithm `none`, is signed by
 * no key. Tokens with critical extensions are rejected, since none is
 * supported (RFC 7515 §4.1.11).
 */
export const readToken = (text: string): UnverifiedToken | undefined => {
  const [head = '', body = '', signature = '', ...rest] = text.split('.');
  if (rest.length > 0 || !(signature === '' || isBase64Url(signature))) return undefined;
  const header = part(head);
  const payload = part(body);
  const claims = payload && claimsOf(payload);
  if (!header || !claims || typeof header['alg'] !== 'string' || !isText(header['kid']) || header['crit'] !== undefined) return undefined;
  const alg = header['alg'];
  const bytes = Buffer.from(signature, 'base64url');
  return {
    keyId: (header['kid'] as string | undefined) ?? '',
    claims,
    isSignedBy: key => verifies(alg, key, Buffer.from(`${head}.${body}`), bytes),
  };
};

/** RSA keys verify RS256, RS384 and RS512; each curve has one algorithm. */
const verifies = (alg: string, key: KeyObject, input: Buffer, signature: Buffer): boolean => {
  const hash = key.asymmetricKeyType === 'rsa' ? (alg.startsWith('RS') ? hashes.get(alg.slice(2)) : undefined) : curveHash(alg, key);
  if (!hash) return false;
  try {
    return verify(hash, input, {key, dsaEncoding: 'ieee-p1363'}, signature);
  } catch {
    return false;
  }
};

const curveHash = (alg: string, key: KeyObject): string | undefined => {
  const own = byCurve.get(key.asymmetricKeyDetails?.namedCurve ?? '');
  return own?.name === alg ? own.hash : undefined;
};

/** A public key of a key set (RFC 7517 §4). */
export interface JsonWebKey {
  readonly use: 'sig';
  readonly kty: string;
  readonly kid: string;
  readonly [parameter: string]: string;
}

/** Returns the public key as relying parties read it. */
export const jsonWebKey = ({id, algorithm, key}: TokenKey): JsonWebKey => {
  const {kty = '', crv, n, e, x, y} = (key.type === 'private' ? createPublicKey(key) : key).export({format: 'jwk'});
  const parameters = kty === 'RSA' ? {alg: algorithm, n: n!, e: e!} : {crv: crv!, alg: algorithm, x: x!, y: y!};
  return {use: 'sig', kty, kid: id, ...parameters};
};
