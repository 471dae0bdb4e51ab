import {kind} from '#src/api/kind.js';
import type * as types from '#src/api/types.js';

/** The kinds of the group; a version that is not the best one is named with its version. */
export const authorizationKinds = {
  localSubjectAccessReviews: kind<types.LocalSubjectAccessReview>(
    'authorization',
    'v1',
    'LocalSubjectAccessReview',
    'localsubjectaccessreviews',
    true,
  ),
  selfSubjectAccessReviews: kind<types.SelfSubjectAccessReview>(
    'authorization',
    'v1',
    'SelfSubjectAccessReview',
    'selfsubjectaccessreviews',
    false,
  ),
  selfSubjectRulesReviews: kind<types.SelfSubjectRulesReview>(
    'authorization',
    'v1',
    'SelfSubjectRulesReview',
    'selfsubjectrulesreviews',
    false,
  ),
  subjectAccessReviews: kind<types.SubjectAccessReview>('authorization', 'v1', 'SubjectAccessReview', 'subjectaccessreviews', false),
} as const;
