import {apiVersionOf, collectionPath, kinds} from '#src/api/kinds/index.js';
import type {SubjectAccessReview} from '#src/api/types.js';
import type {Authorizer, Decision} from '#src/api/authorization.js';
import {CacheBound} from '#src/base/cache-bound.js';
import {ResultCache, type Delegate, type DelegationOptions, review} from '#src/serving/delegation.js';
import {decisionOf, reviewSpec} from './review-spec.js';

export interface AccessReviewOptions extends DelegationOptions {
  readonly allowedTtlMs: number;
  readonly deniedTtlMs: number;
}

const bound = new CacheBound('access_reviews', 16 << 20);

/**
 * Authorizes by SubjectAccessReviews of an API server (the API reference, SubjectAccessReview). Throws when it is not
 * available, which is not a decision.
 */
export const accessReviewAuthorizer = (delegate: Delegate, options: AccessReviewOptions): Authorizer => {
  const {clock, allowedTtlMs, deniedTtlMs} = options;
  const cache = new ResultCache<Decision>(bound, clock, ({decision}) => (decision === 'allow' ? allowedTtlMs : deniedTtlMs));
  const path = collectionPath(delegate.naming, kinds.subjectAccessReviews);
  const createReview = async (spec: SubjectAccessReview['spec']): Promise<Decision> => {
    const body: SubjectAccessReview = {
      apiVersion: apiVersionOf(delegate.naming, kinds.subjectAccessReviews),
      kind: kinds.subjectAccessReviews.kind,
      spec,
    };
    return verdict((await review(delegate, path, body, options)) as SubjectAccessReview);
  };
  return {
    authorize(attributes) {
      const spec = reviewSpec(attributes);
      return cache.get(JSON.stringify(spec), () => createReview(spec));
    },
  };
};

const verdict = ({status}: SubjectAccessReview): Decision => ({
  ...decisionOf(status),
  ...(status?.evaluationError ? {error: status.evaluationError} : {}),
});
