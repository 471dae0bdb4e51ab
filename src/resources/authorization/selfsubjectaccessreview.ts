import {kinds} from '#src/api/kinds/index.js';
import type {SelfSubjectAccessReview} from '#src/api/types.js';
import {defineResource} from '#src/resources/definition.js';
import {pathSegmentName} from '#src/resources/validation/names.js';
import {reviewAccess, validateAccess, validateBareMetadata} from './access.js';

/** SelfSubjectAccessReview: returns whether the user of the request has access. Never stored. */
export const selfSubjectAccessReviews = defineResource<SelfSubjectAccessReview>({
  kind: kinds.selfSubjectAccessReviews,
  metadata: {nameProblems: pathSegmentName},
  main: {writes: {update: []}},
  review: {
    kind: kinds.selfSubjectAccessReviews,
    *validate({metadata, spec}) {
      yield* validateAccess(spec ?? {});
      yield* validateBareMetadata(metadata, [], 'must be empty');
    },
    async run({metadata, spec}, context) {
      return {metadata: metadata ?? {}, spec, status: await reviewAccess(context.user, spec, context)};
    },
  },
});
