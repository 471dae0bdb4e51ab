import {createHash} from 'node:crypto';
import {collectionPath, apiVersionOf, kinds} from '#src/api/kinds/index.js';
import type {TokenReview} from '#src/api/types.js';
import type {UserInfo} from '#src/api/user.js';
import type {Authentication, Authenticator} from '#src/api/authentication.js';
import {CacheBound} from '#src/base/cache-bound.js';
import {ResultCache, type Delegate, type DelegationOptions, review} from '#src/serving/delegation.js';
import {bearerToken} from './bearer.js';

export interface TokenReviewOptions extends DelegationOptions {
  readonly cacheTtlMs: number;
  readonly audiences?: readonly string[];
}

const bound = new CacheBound('token_reviews', 16 << 20);

/**
 * Authenticates bearer tokens by TokenReviews of an API server (the API reference, TokenReview). Only hashes of tokens
 * are cached.
 */
export const tokenReviewAuthenticator = (delegate: Delegate, options: TokenReviewOptions): Authenticator => {
  const {clock, cacheTtlMs, audiences} = options;
  const cache = new ResultCache<Authentication>(bound, clock, () => cacheTtlMs);
  const path = collectionPath(delegate.naming, kinds.tokenReviews);
  const createReview = async (token: string): Promise<Authentication> => {
    const body: TokenReview = {
      apiVersion: apiVersionOf(delegate.naming, kinds.tokenReviews),
      kind: kinds.tokenReviews.kind,
      spec: {token, ...(audiences ? {audiences: [...audiences]} : {})},
    };
    return verdict((await review(delegate, path, body, options)) as TokenReview);
  };
  return {
    name: 'token-review',
    takesTokens: true,
    async authenticate(request) {
      const token = bearerToken(request);
      if (!token) return undefined;
      try {
        return await cache.get(createHash('sha256').update(token).digest('base64'), () => createReview(token));
      } catch (error) {
        return {rejected: (error as Error).message};
      }
    },
  };
};

const verdict = ({status}: TokenReview): Authentication => {
  const {user} = status ?? {};
  if (!status?.authenticated || !user?.username) return {rejected: status?.error || 'the token is not known'};
  const found: UserInfo = {
    name: user.username,
    ...(user.uid ? {uid: user.uid} : {}),
    groups: user.groups ?? [],
    ...(user.extra ? {extra: user.extra} : {}),
  };
  return {user: found, ...(status.audiences ? {audiences: status.audiences} : {})};
};
