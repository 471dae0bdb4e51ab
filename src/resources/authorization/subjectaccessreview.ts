import {kinds} from '#src/api/kinds/index.js';
import type {SubjectAccessReview} from '#src/api/types.js';
import {defineResource} from '#src/resources/definition.js';
import {pathSegmentName} from '#src/resources/validation/names.js';
import {reviewAccess, subjectOf, validateBareMetadata, validateSubject} from './access.js';

/** SubjectAccessReview: returns whether a user has access. Never stored. */
export const subjectAccessReviews = defineResource<SubjectAccessReview>({
  kind: kinds.subjectAccessReviews,
  metadata: {nameProblems: pathSegmentName},
  main: {writes: {update: []}},
  review: {
    kind: kinds.subjectAccessReviews,
    *validate({metadata, spec}) {
      yield* validateSubject(spec ?? {});
      yield* validateBareMetadata(metadata, [], 'must be empty');
    },
    async run({metadata, spec}, context) {
      return {metadata: metadata ?? {}, spec, status: await reviewAccess(subjectOf(spec), spec, context)};
    },
  },
});
