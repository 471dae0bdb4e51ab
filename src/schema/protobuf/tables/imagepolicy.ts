import type {GroupTable} from './group-table.js';

/** The protobuf messages of `imagepolicy`. */
export const imagepolicy: GroupTable = {
  v1alpha1: {
    ImageReview: '@1 metadata ObjectMeta; 2 spec ImageReviewSpec; 3 status ImageReviewStatus',
    ImageReviewContainerSpec: '1 image string',
    ImageReviewSpec: '1 containers []ImageReviewContainerSpec; 2 annotations {string}; 3 namespace string',
    ImageReviewStatus: '1 allowed bool!; 2 reason string; 3 auditAnnotations {string}',
  },
};
