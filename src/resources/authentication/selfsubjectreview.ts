import {kinds} from '#src/api/kinds/index.js';
import {wireTime} from '#src/api/time.js';
import type {SelfSubjectReview} from '#src/api/types.js';
import {defineResource} from '#src/resources/definition.js';
import {pathSegmentName} from '#src/resources/validation/names.js';
import {wireUser} from './user-info.js';

/** SelfSubjectReview: returns the user of the request. Never stored. */
export const selfSubjectReviews = defineResource<SelfSubjectReview>({
  kind: kinds.selfSubjectReviews,
  metadata: {nameProblems: pathSegmentName},
  main: {writes: {update: []}},
  review: {
    kind: kinds.selfSubjectReviews,
    run: (_review, {clock, user}) =>
      Promise.resolve({metadata: {creationTimestamp: wireTime(clock.now())}, status: {userInfo: wireUser(user)}}),
  },
});
