import {signsPodAffinity} from '#src/scheduler/signatures/plugin-signatures.js';
import {leastOf, mostOf} from '#src/base/extremes.js';
import {StepCount, type Steps} from '#src/base/steps.js';
import {matchesAffinityTerm, matchesPerStep, parseTerms, type AffinityTerm} from '#src/scheduler/cache/affinity-term.js';
import type {NodeInfo} from '#src/scheduler/cache/node-info.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import {TopologyCounts} from '#src/scheduler/filters/topology-counts.js';
import {nodesPerStep, type Cluster, type Score} from '#src/scheduler/framework/plugin.js';
import {maxNodeScore} from './normalize.js';

export interface AffinityWeights {
  /** The weight of a required affinity term of an existing pod. */
  readonly required: number;
  /** Whether preferred terms of existing pods are ignored if this pod has none. */
  readonly ignorePreferredTermsOfExistingPods: boolean;
}

/**
 * Returns the score of each topology domain: from this pod's preferences, and from the preferences and requirements of
 * existing pods.
 */
const topologyScores = function* (
  pod: PodInfo,
  cluster: Cluster,
  {required, ignorePreferredTermsOfExistingPods}: AffinityWeights,
): Steps<TopologyCounts> {
  const counts = new TopologyCounts();
  const {preferred, preferredAnti} = pod.terms;
  const hasPreferences = preferred.length + preferredAnti.length > 0;
  if (!hasPreferences && ignorePreferredTermsOfExistingPods) return counts;
  const addTerms = (terms: readonly (AffinityTerm & {readonly weight?: number})[], of: PodInfo, {labels}: NodeInfo, sign: 1 | -1) => {
    for (const term of terms)
      if (matchesAffinityTerm(term, of, cluster.labelsOf)) counts.add(term.topologyKey, labels, sign * (term.weight ?? required));
  };
  yield* parseTerms(preferred);
  yield* parseTerms(preferredAnti);
  const matches = new StepCount(matchesPerStep);
  const nodes = new StepCount(nodesPerStep);
  for (const node of hasPreferences ? cluster.nodes : cluster.nodesWithAffinity) {
    for (const other of (hasPreferences ? node.pods : node.withAffinity).values()) {
      let count = preferred.length + preferredAnti.length;
      for (const terms of [other.terms.required, other.terms.preferred, other.terms.preferredAnti]) {
        yield* parseTerms(terms);
        count += terms.length;
      }
      if (matches.add(count)) yield;
      addTerms(preferred, other, node, 1);
      addTerms(preferredAnti, other, node, -1);
      if (required > 0) addTerms(other.terms.required, pod, node, 1);
      addTerms(other.terms.preferred, pod, node, 1);
      addTerms(other.terms.preferredAnti, pod, node, -1);
    }
    if (nodes.add(1)) yield;
  }
  return counts;
};

/**
 * Prefers domains near pods that this one prefers or that prefer it, and away from those that either prefers to avoid.
 */
export const interPodAffinityBy = (weights: AffinityWeights): Score => ({
  plugin: 'InterPodAffinity',
  sign: signsPodAffinity(weights.ignorePreferredTermsOfExistingPods),
  weight: 2,
  *prepare(pod, _, cluster) {
    const counts = yield* topologyScores(pod, cluster, weights);
    if (counts.isEmpty) return undefined;
    return {
      score({labels}) {
        let sum = 0;
        for (const key of counts.keys()) sum += counts.get(key, labels[key]);
        return sum;
      },
      normalize(scores) {
        const lowest = leastOf(scores);
        const range = mostOf(scores) - lowest;
        for (const [at, score] of scores.entries()) scores[at] = range > 0 ? Math.floor((maxNodeScore * (score - lowest)) / range) : 0;
      },
    };
  },
});

export const interPodAffinityScore = interPodAffinityBy({required: 1, ignorePreferredTermsOfExistingPods: false});
