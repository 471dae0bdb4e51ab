import {isPlainObject} from '#src/schema/decode/plain.js';
import {parseJson} from '#src/base/json/json.js';

/** The claims of a token, by name. Names come from clients: `claim` reads them. */
export type Claims = Readonly<Record<string, unknown>>;

/** Returns a claim; undefined if it is absent. */
export const claim = (claims: Claims, name: string): unknown => (Object.hasOwn(claims, name) ? claims[name] : undefined);

/** The name of a value's JSON type in errors. */
export const jsonKind = (value: unknown): string =>
  Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value === 'bigint' ? 'number' : typeof value;

/** Returns a claim that must be a text. Throws for others, and for an absent one. */
export const textClaim = (claims: Claims, name: string): string => {
  const value = claim(claims, name);
  if (value === undefined) throw new Error('claim not present');
  if (value === null) return '';
  if (typeof value !== 'string') throw new Error(`json: cannot unmarshal ${jsonKind(value)} into Go value of type string`);
  return value;
};

/** Returns a claim that must be a bool. */
export const boolClaim = (claims: Claims, name: string): boolean => {
  const value = claim(claims, name);
  if (value === null) return false;
  if (typeof value !== 'boolean') throw new Error(`json: cannot unmarshal ${jsonKind(value)} into Go value of type bool`);
  return value;
};

/** Returns the texts of a claim that is a text or a list of texts; undefined if it is absent. */
export const textsClaim = (claims: Claims, name: string): string[] | undefined => {
  const value = claim(claims, name);
  if (value === undefined) return undefined;
  const items: readonly unknown[] = Array.isArray(value) ? value : [value];
  return items.map(item => {
    if (typeof item !== 'string') throw new Error(`json: cannot unmarshal ${jsonKind(value)} into Go value of type string`);
    return item;
  });
};

/** Returns the number of a time in seconds since the epoch; undefined if the claim is absent. */
export const timeClaim = (claims: Claims, name: string): number | undefined => {
  const value = claim(claims, name);
  if (value === undefined || value === null) return undefined;
  const seconds = typeof value === 'bigint' ? Number(value) : value;
  if (typeof seconds !== 'number') throw new Error(`json: cannot unmarshal ${jsonKind(value)} into Go value of type float64`);
  return seconds;
};

/** A token in compact serialization (RFC 7515 §7.1) that was not verified. */
export interface UnverifiedToken {
  readonly text: string;
  readonly alg: string;
  readonly kid: string;
  readonly claims: Claims;
  readonly issuer: string;
}

const objectIn = (part: string): Claims | undefined => {
  if (!/^[\w-]*$/.test(part)) return undefined;
  try {
    const value = parseJson(Buffer.from(part, 'base64url').toString());
    return isPlainObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
};

/** Parses a token without verifying it; undefined for what is not a token with an issuer. */
export const parseToken = (text: string): UnverifiedToken | undefined => {
  const parts = text.split('.', 4);
  if (parts.length !== 3) return undefined;
  const [head, body] = parts as [string, string, string];
  const claims = objectIn(body);
  const issuer = claims && claim(claims, 'iss');
  if (!claims || typeof issuer !== 'string') return undefined;
  const header = objectIn(head) ?? {};
  const [alg, kid] = [claim(header, 'alg'), claim(header, 'kid')];
  return {
    text,
    alg: typeof alg === 'string' ? alg : '',
    kid: typeof kid === 'string' ? kid : '',
    claims,
    // One issuer had a second name once.
    issuer: issuer === 'accounts.google.com' ? 'https://accounts.google.com' : issuer,
  };
};
