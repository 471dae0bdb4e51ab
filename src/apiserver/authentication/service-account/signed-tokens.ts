import {createHash} from 'node:crypto';
import type {Authentication, AuthenticationRequest, Authenticator} from '#src/api/authentication.js';
import type {UserInfo} from '#src/api/user.js';
import {CacheBound} from '#src/base/cache-bound.js';
import {Lru} from '#src/base/lru.js';
import {readToken, type TokenClaims, type TokenKey} from '#src/pki/keys/token.js';
import {bearerToken} from '#src/serving/authenticators/bearer.js';
import type {NoteUse} from './token-uses.js';

/** Which tokens of service accounts are believed. */
export interface TokenTrust {
  readonly keys: readonly TokenKey[];
  /** Names of this server; a token must be meant for one of them unless the request says for whom. */
  readonly audiences: readonly string[];
  readonly note: NoteUse;
}

/** Why a token is not valid, for the log and for token reviews. */
export class InvalidToken extends Error {
  override readonly name = 'InvalidToken';
}

/** Says whose token it is, once its signature, issuer and audience are found good. Throws `InvalidToken`. */
export type CheckClaims = (claims: TokenClaims, token: string, request: AuthenticationRequest) => Promise<UserInfo>;

/** Signatures that are remembered. Everything else about a token is judged each time. */
const bound = new CacheBound('verified_tokens', 16 << 20);

const listed = (texts: readonly string[]): string => `[${texts.map(text => JSON.stringify(text)).join(' ')}]`;

/** Recognises signed tokens by their issuer and leaves all others to other methods. */
export const signedTokens = (name: string, issuers: readonly string[], trust: TokenTrust, checkClaims: CheckClaims): Authenticator => {
  const accepted = new Set(issuers);
  const verified = new Lru<string, TokenClaims>(bound, {bytesOf: claims => 500 + 3 * JSON.stringify(claims).length});

  const claimsOf = (token: string): TokenClaims | undefined => {
    const fingerprint = createHash('sha256').update(token).digest('base64');
    const known = verified.get(fingerprint);
    if (known) return known;
    const read = readToken(token);
    if (!read || !accepted.has(read.claims.iss ?? '')) return undefined;
    const candidates = read.keyId ? trust.keys.filter(({id}) => id === read.keyId) : trust.keys;
    if (candidates.length === 0) throw new InvalidToken('invalid signature, no keys found');
    if (!candidates.some(({key}) => read.isSignedBy(key))) throw new InvalidToken('go-jose/go-jose: error in cryptographic primitive');
    verified.set(fingerprint, read.claims);
    return read.claims;
  };

  /** For whom the token is, of those it is asked for. A token that does not say is for this server. */
  const audiencesOf = ({aud = []}: TokenClaims, wanted: readonly string[]): readonly string[] => {
    const stated = aud.length > 0 ? aud : trust.audiences;
    const shared = stated.filter(audience => wanted.includes(audience));
    if (shared.length > 0 || trust.audiences.length === 0) return shared;
    throw new InvalidToken(`token audiences ${listed(stated)} is invalid for the target audiences ${listed(wanted)}`);
  };

  const authenticate = async (token: string, request: AuthenticationRequest): Promise<Authentication> => {
    const claims = claimsOf(token);
    if (!claims) return undefined;
    if (!claims.aud?.length) trust.note('legacy', claims.sub ?? '', request);
    const audiences = audiencesOf(claims, request.audiences ?? trust.audiences);
    return {user: await checkClaims(claims, token, request), audiences};
  };

  return {
    name,
    takesTokens: true,
    authenticate(request) {
      const token = bearerToken(request);
      if (!token) return undefined;
      return authenticate(token, request).catch((error: unknown) => {
        if (error instanceof InvalidToken) return {rejected: error.message};
        throw error;
      });
    },
  };
};
