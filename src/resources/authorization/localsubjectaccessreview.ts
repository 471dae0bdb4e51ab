import {invalid, type FieldError} from '#src/api/field-error.js';
import {kinds} from '#src/api/kinds.js';
import type {LocalSubjectAccessReview} from '#src/api/types.js';
import {defineResource, type ActionContext} from '#src/resources/definition.js';
import {pathSegmentName} from '#src/resources/validation/names.js';
import {originalForm} from '#src/resources/validation/original-form.js';
import {judge, subjectOf, validateBareMetadata, validateSubject} from './access.js';

function* validate({metadata, spec = {}}: Readonly<LocalSubjectAccessReview>, {namespace}: ActionContext): Iterable<FieldError> {
  yield* validateSubject(spec);
  yield* validateBareMetadata(metadata, ['namespace'], 'must be empty except for namespace');
  const {resourceAttributes, nonResourceAttributes} = spec;
  const asked = resourceAttributes?.namespace ?? '';
  if (resourceAttributes && asked !== namespace) yield invalid('spec.resourceAttributes.namespace', asked, 'must match metadata.namespace');
  if (nonResourceAttributes) yield invalid('spec.nonResourceAttributes', originalForm('NonResourceAttributes', nonResourceAttributes), 'disallowed on this kind of request');
}

/** May someone do something in this namespace? For those who administer no more than that. Never stored. */
export const localSubjectAccessReviews = defineResource<LocalSubjectAccessReview>({
  kind: kinds.localSubjectAccessReviews,
  nameProblems: pathSegmentName,
  main: {writes: {update: []}},
  review: {
    kind: kinds.localSubjectAccessReviews,
    validate,
    async run({metadata, spec}, context) {
      return {metadata: {...metadata, namespace: context.namespace}, spec, status: await judge(subjectOf(spec), spec, context)};
    },
  },
});
