import {kind} from '#src/api/kind.js';
import type * as types from '#src/api/types.js';

/** The kinds of the group; a version that is not the best one is named with its version. */
export const authenticationKinds = {
  selfSubjectReviews: kind<types.SelfSubjectReview>('authentication', 'v1', 'SelfSubjectReview', 'selfsubjectreviews', false),
  tokenReviews: kind<types.TokenReview>('authentication', 'v1', 'TokenReview', 'tokenreviews', false),
  /** Not a resource of its own: what is asked for, and given, at the `token` of an account. */
  tokenRequests: kind<types.TokenRequest>('authentication', 'v1', 'TokenRequest', 'tokenrequests', true),
} as const;
