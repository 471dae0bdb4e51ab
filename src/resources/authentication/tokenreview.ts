import {kinds} from '#src/api/kinds/index.js';
import {badRequest} from '#src/api/status.js';
import type {TokenReview} from '#src/api/types.js';
import {defineResource, type ActionContext} from '#src/resources/definition.js';
import {pathSegmentName} from '#src/resources/validation/names.js';
import {wireUser} from './user-info.js';

/** Authenticates the token with the server's own authenticators and returns its user and audiences. */
const run = async ({metadata, spec}: TokenReview, {authenticateToken}: ActionContext): Promise<TokenReview> => {
  if (!spec?.token) throw badRequest('token is required for TokenReview in authentication');
  const found = await authenticateToken(spec.token, spec.audiences ?? []);
  const answer = {metadata: metadata ?? {}, spec};
  if (!found) return {...answer, status: {user: {}}};
  if ('rejected' in found) return {...answer, status: {user: {}, error: found.rejected}};
  const {user, audiences = []} = found;
  return {...answer, status: {authenticated: true, user: wireUser(user), ...(audiences.length > 0 ? {audiences: [...audiences]} : {})}};
};

/** TokenReview: returns the user of a token. Never stored. */
export const tokenReviews = defineResource<TokenReview>({
  kind: kinds.tokenReviews,
  metadata: {nameProblems: pathSegmentName},
  main: {writes: {update: []}},
  review: {kind: kinds.tokenReviews, run},
});
