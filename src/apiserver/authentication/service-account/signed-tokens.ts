// What the authenticators of signed service account tokens share: parsing, signature, issuer and audience. The claims
// are checked by bound-tokens.ts and secret-tokens.ts, on every request; only verified signatures are cached.

import {createHash} from 'node:crypto';
import type {Authentication, AuthenticationRequest, Authenticator} from '#src/api/authentication.js';
import type {UserInfo} from '#src/api/user.js';
import {CacheBound} from '#src/base/cache-bound.js';
import {Lru} from '#src/base/lru.js';
import {readToken, type TokenClaims} from '#src/pki/keys/token.js';
import {bearerToken} from '#src/serving/authenticators/bearer.js';
import type {NoteUse} from './token-uses.js';
import type {VerifyingKeys} from './verifying-keys.js';

/** The trusted tokens of service accounts. */
export interface TokenTrust {
  readonly keys: VerifyingKeys;
  /** The audiences of this server; a token must be issued for one of them unless the request names others. */
  readonly audiences: readonly string[];
  readonly note: NoteUse;
}

/** The reason why a token is not valid, for the log and for token reviews. */
export class InvalidToken extends Error {
  override readonly name = 'InvalidToken';
}

/** Returns the user of a token after its signature, issuer and audience were verified. Throws `InvalidToken`. */
export type CheckClaims = (claims: TokenClaims, token: string, request: AuthenticationRequest) => Promise<UserInfo>;

/** Verified signatures are cached. All other properties of a token are checked each time. */
const bound = new CacheBound('verified_tokens', 16 << 20);

interface Verified {
  readonly claims: TokenClaims;
  /** That of the keys. */
  readonly generation: number;
}

const listed = (texts: readonly string[]): string => `[${texts.map(text => JSON.stringify(text)).join(' ')}]`;

/** Authenticates signed tokens of these issuers, and leaves all others to other authenticators. */
export const signedTokens = (name: string, issuers: readonly string[], trust: TokenTrust, checkClaims: CheckClaims): Authenticator => {
  const accepted = new Set(issuers);
  const verified = new Lru<string, Verified>(bound, {bytesOf: ({claims}) => 500 + 3 * JSON.stringify(claims).length});

  const claimsOf = async (token: string): Promise<TokenClaims | undefined> => {
    const fingerprint = createHash('sha256').update(token).digest('base64');
    const known = verified.get(fingerprint);
    if (known?.generation === trust.keys.generation) return known.claims;
    const read = readToken(token);
    if (!read || !accepted.has(read.claims.iss ?? '')) return undefined;
    const candidates = await trust.keys.of(read.keyId);
    const {generation} = trust.keys;
    if (candidates.length === 0) throw new InvalidToken('invalid signature, no keys found');
    if (!candidates.some(({key}) => read.isSignedBy(key))) throw new InvalidToken('go-jose/go-jose: error in cryptographic primitive');
    verified.set(fingerprint, {claims: read.claims, generation});
    return read.claims;
  };

  /** The wanted audiences that the token is valid for. A token without an audience is for this server. */
  const audiencesOf = ({aud = []}: TokenClaims, wanted: readonly string[]): readonly string[] => {
    const audiences = aud.length > 0 ? aud : trust.audiences;
    const shared = audiences.filter(audience => wanted.includes(audience));
    if (shared.length > 0 || trust.audiences.length === 0) return shared;
    throw new InvalidToken(`token audiences ${listed(audiences)} is invalid for the target audiences ${listed(wanted)}`);
  };

  const authenticate = async (token: string, request: AuthenticationRequest): Promise<Authentication> => {
    const claims = await claimsOf(token);
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
