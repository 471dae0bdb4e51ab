import {kinds} from '#src/api/kinds/index.js';
import {badRequest} from '#src/api/status.js';
import type {SelfSubjectRulesReview} from '#src/api/types.js';
import {defineResource, type ActionContext} from '#src/resources/definition.js';
import {pathSegmentName} from '#src/resources/validation/names.js';

const run = async ({spec}: SelfSubjectRulesReview, {rulesFor, user}: ActionContext): Promise<SelfSubjectRulesReview> => {
  if (!spec?.namespace) throw badRequest('no namespace on request');
  const {resourceRules, nonResourceRules, incomplete, error} = await rulesFor(user, spec.namespace);
  return {metadata: {}, spec: {}, status: {resourceRules, nonResourceRules, incomplete, ...(error ? {evaluationError: error} : {})}};
};

/**
 * SelfSubjectRulesReview: returns what the user of the request may do in a namespace, as far as it can be listed. Never
 * stored.
 */
export const selfSubjectRulesReviews = defineResource<SelfSubjectRulesReview>({
  kind: kinds.selfSubjectRulesReviews,
  metadata: {nameProblems: pathSegmentName},
  main: {writes: {update: []}},
  review: {kind: kinds.selfSubjectRulesReviews, run},
});
