import type {SignatureFragment} from '#src/scheduler/framework/plugin.js';
import type {Frozen} from '#src/api/key.js';
import type {NodeSelectorTerm} from '#src/api/pod.js';
import {canonicalJsonInSteps} from '#src/base/json/canonical-json.js';
import type {Steps} from '#src/base/steps.js';

/** Returns a text for each item, in the order of the texts. */
const sortedTexts = function* <T>(items: readonly T[], toValue: (item: T) => unknown): Steps<string[]> {
  const texts: string[] = [];
  for (const item of items) texts.push(yield* canonicalJsonInSteps(toValue(item)));
  return texts.sort();
};

type Requirements = Frozen<NodeSelectorTerm>['matchExpressions'];

const requirementTexts = (requirements: Requirements = []): Steps<string[]> =>
  sortedTexts(requirements, requirement => ({...requirement, ...(requirement.values ? {values: [...requirement.values].sort()} : {})}));

const termValue = function* ({matchExpressions, matchFields}: Frozen<NodeSelectorTerm>): Steps<object> {
  return {MatchExpressions: yield* requirementTexts(matchExpressions), MatchFields: yield* requirementTexts(matchFields)};
};

/** The node affinity of a pod, with the same text for the same terms in another order. */
export const nodeAffinity: SignatureFragment = {
  key: 'v1.Pod.Spec.Affinity.NodeAffinity',
  *value({pod}): Steps<unknown> {
    const affinity = pod.spec?.affinity?.nodeAffinity;
    if (!affinity) return null;
    const preferred: object[] = [];
    for (const {weight, preference} of affinity.preferredDuringSchedulingIgnoredDuringExecution ?? [])
      preferred.push({Weight: weight, Preference: yield* termValue(preference)});
    const required: object[] = [];
    for (const term of affinity.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [])
      required.push(yield* termValue(term));
    return {Required: yield* sortedTexts(required, term => term), Preferred: yield* sortedTexts(preferred, term => term)};
  },
};
