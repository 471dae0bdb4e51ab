import {invalid, type FieldError} from '#src/api/field-error.js';
import {kinds} from '#src/api/kinds/index.js';
import type {LocalSubjectAccessReview} from '#src/api/types.js';
import {defineResource, type ActionContext} from '#src/resources/definition.js';
import {pathSegmentName} from '#src/resources/validation/names.js';
import {internalForm} from '#src/schema/error-texts/internal-form.js';
import {reviewAccess, subjectOf, validateBareMetadata, validateSubject} from './access.js';

function* validate({metadata, spec = {}}: Readonly<LocalSubjectAccessReview>, {namespace}: ActionContext): Iterable<FieldError> {
  yield* validateSubject(spec);
  yield* validateBareMetadata(metadata, ['namespace'], 'must be empty except for namespace');
  const {resourceAttributes, nonResourceAttributes} = spec;
  const requested = resourceAttributes?.namespace ?? '';
  if (resourceAttributes && requested !== namespace)
    yield invalid('spec.resourceAttributes.namespace', requested, 'must match metadata.namespace');
  if (nonResourceAttributes)
    yield invalid(
      'spec.nonResourceAttributes',
      internalForm('NonResourceAttributes', nonResourceAttributes),
      'disallowed on this kind of request',
    );
}

/** LocalSubjectAccessReview: returns whether a user has access in this namespace. Never stored. */
export const localSubjectAccessReviews = defineResource<LocalSubjectAccessReview>({
  kind: kinds.localSubjectAccessReviews,
  metadata: {nameProblems: pathSegmentName},
  main: {writes: {update: []}},
  review: {
    kind: kinds.localSubjectAccessReviews,
    validate,
    async run({metadata, spec}, context) {
      return {metadata: {...metadata, namespace: context.namespace}, spec, status: await reviewAccess(subjectOf(spec), spec, context)};
    },
  },
});
