// The SubjectAccessReview that a webhook receives in one of two versions, and how its response is read.

import type {Naming} from '#src/api/naming.js';
import type {KubeObject, SubjectAccessReview} from '#src/api/types.js';
import {readReview, type ReviewKind} from '#src/apiserver/backends/review.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import type {SchemaNode} from '#src/schema/node.js';
import type {ReviewSpec} from '#src/serving/authorizers/review-spec.js';

/** The versions of the review that webhooks may be sent. */
export type AccessReviewVersion = 'v1' | 'v1beta1';

type Status = Partial<NonNullable<SubjectAccessReview['status']>>;

const kind = 'SubjectAccessReview';
const text: SchemaNode = {type: 'string'};
const flag: SchemaNode = {type: 'boolean'};
const ref = (name: string) => ({group: 'authorization', version: 'v1', name});

const review: ReviewKind = {
  group: 'authorization',
  kind,
  fields: {
    type: 'object',
    ref: ref(kind),
    properties: new Map<string, SchemaNode>([
      ['kind', text],
      ['apiVersion', text],
      [
        'status',
        {
          type: 'object',
          ref: ref('SubjectAccessReviewStatus'),
          properties: new Map<string, SchemaNode>([
            ['allowed', flag],
            ['denied', flag],
            ['reason', text],
            ['evaluationError', text],
          ]),
        },
      ],
    ]),
  },
};

/** Returns the review to post. In v1beta1 the field of the groups is called `group`. */
export const accessReview = (spec: ReviewSpec, naming: Naming, version: AccessReviewVersion): object => {
  const {groups, ...rest} = spec;
  return {
    kind,
    apiVersion: naming.apiVersion('authorization', version),
    metadata: {},
    spec: version === 'v1' || !groups ? spec : {...rest, group: groups},
    status: {allowed: false},
  };
};

/** Returns the status of a response. Throws an error that describes any other content. */
export const reviewStatus = (response: PlainObject, naming: Naming, version: AccessReviewVersion): Status =>
  readReview<KubeObject & {status?: Status}>(response, review, {naming, version}).status ?? {};
