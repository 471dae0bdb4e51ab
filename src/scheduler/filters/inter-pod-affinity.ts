import {signsPodAffinity} from '#src/scheduler/signatures/plugin-signatures.js';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import {StepCount, type Steps} from '#src/base/steps.js';
import {matchesAffinityTerm, matchesPerStep, parseTerms, type AffinityTerm} from '#src/scheduler/cache/affinity-term.js';
import type {NodeInfo} from '#src/scheduler/cache/node-info.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import {
  nodesPerStep,
  unschedulable,
  unresolvable,
  type PreparedFilter,
  type Cluster,
  type Filter,
} from '#src/scheduler/framework/plugin.js';
import {TopologyCounts} from './topology-counts.js';

type PodLabels = Pick<PodInfo, 'namespace' | 'labels'>;
type Labels = Readonly<Record<string, string>>;

const matchesAllTerms = (terms: readonly AffinityTerm[], pod: PodLabels, {labelsOf}: Cluster): boolean =>
  terms.length > 0 && terms.every(term => matchesAffinityTerm(term, pod, labelsOf));

/** Counts, by topology domain, the pods that matter to a pod's affinity. */
class AffinityCounts {
  /** Existing pods whose anti-affinity rejects this pod. */
  readonly existingAntiAffinity = new TopologyCounts();
  /** Existing pods that match this pod's affinity and anti-affinity terms. */
  readonly affinity = new TopologyCounts();
  readonly antiAffinity = new TopologyCounts();
  readonly #pod: PodInfo;
  readonly #cluster: Cluster;

  constructor(pod: PodInfo, cluster: Cluster) {
    this.#pod = pod;
    this.#cluster = cluster;
  }

  /** Counts all existing pods. */
  *countAll(): Steps<void> {
    const {required, requiredAnti} = this.#pod.terms;
    yield* parseTerms(required);
    yield* parseTerms(requiredAnti);
    const ownTerms = required.length + requiredAnti.length;
    const matches = new StepCount(matchesPerStep);
    const nodes = new StepCount(nodesPerStep);
    for (const node of ownTerms > 0 ? this.#cluster.nodes : this.#cluster.nodesWithRequiredAntiAffinity) {
      for (const other of node.withRequiredAntiAffinity.values()) {
        yield* parseTerms(other.terms.requiredAnti);
        this.#countExistingAntiAffinity(other, node, 1);
        if (matches.add(other.terms.requiredAnti.length)) yield;
      }
      if (ownTerms > 0) {
        for (const other of node.pods.values()) {
          this.#countOwnTerms(other, node, 1);
          if (matches.add(ownTerms)) yield;
        }
      }
      if (nodes.add(1)) yield;
    }
  }

  count(other: PodInfo, node: NodeInfo, by: 1 | -1): void {
    this.#countExistingAntiAffinity(other, node, by);
    this.#countOwnTerms(other, node, by);
  }

  #countExistingAntiAffinity({terms}: PodInfo, {labels}: NodeInfo, by: 1 | -1): void {
    for (const term of terms.requiredAnti)
      if (matchesAffinityTerm(term, this.#pod, this.#cluster.labelsOf)) this.existingAntiAffinity.add(term.topologyKey, labels, by);
  }

  #countOwnTerms(other: PodInfo, {labels}: NodeInfo, by: 1 | -1): void {
    const {required, requiredAnti} = this.#pod.terms;
    if (matchesAllTerms(required, other, this.#cluster)) for (const {topologyKey} of required) this.affinity.add(topologyKey, labels, by);
    for (const term of requiredAnti)
      if (matchesAffinityTerm(term, other, this.#cluster.labelsOf)) this.antiAffinity.add(term.topologyKey, labels, by);
  }
}

/**
 * Whether a node satisfies the required affinity terms. The first pod of a group with affinity to itself may be placed
 * anywhere.
 */
const satisfiesAffinity = (
  {terms: {required}}: PodInfo,
  {labels}: NodeInfo,
  {affinity}: AffinityCounts,
  isFirst: () => boolean,
): boolean => {
  if (required.some(({topologyKey}) => labels[topologyKey] === undefined)) return false;
  return required.every(({topologyKey}) => affinity.get(topologyKey, labels[topologyKey]) > 0) || isFirst();
};

const prepare = function* (pod: PodInfo, cluster: Cluster): Steps<PreparedFilter | undefined> {
  const counts = new AffinityCounts(pod, cluster);
  yield* counts.countAll();
  const {required, requiredAnti} = pod.terms;
  if (counts.existingAntiAffinity.isEmpty && required.length === 0 && requiredAnti.length === 0) return undefined;
  const isFirst = () => counts.affinity.isEmpty && matchesAllTerms(required, pod, cluster);
  return {
    filter(node) {
      const {labels} = node;
      if (!satisfiesAffinity(pod, node, counts, isFirst)) return unresolvable("node(s) didn't match pod affinity rules");
      if (requiredAnti.some(({topologyKey}) => counts.antiAffinity.get(topologyKey, labels[topologyKey]) > 0))
        return unschedulable("node(s) didn't match pod anti-affinity rules");
      for (const key of counts.existingAntiAffinity.keys()) {
        if (counts.existingAntiAffinity.get(key, labels[key]) > 0)
          return unschedulable("node(s) didn't satisfy existing pods anti-affinity rules");
      }
      return undefined;
    },
    add: (other, node) => counts.count(other, node, 1),
    remove: (other, node) => counts.count(other, node, -1),
  };
};

const podLabelsOf = ({metadata}: Frozen<Pod>): PodLabels => ({namespace: metadata?.namespace ?? '', labels: metadata?.labels ?? {}});
const hasRequiredAntiAffinity = (other: Frozen<Pod>): boolean =>
  Boolean(other.spec?.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.length);

/** Whether a matching pod appeared, or one disappeared that the anti-affinity rejects or that rejected this pod. */
const shouldQueueOnPod = (pod: PodInfo, old: Frozen<Pod> | undefined, now: Frozen<Pod> | undefined, cluster: Cluster): boolean => {
  if (now?.metadata?.uid === pod.uid) return true;
  const {required, requiredAnti} = pod.terms;
  const matchesAffinity = (other: Frozen<Pod> | undefined) => other !== undefined && matchesAllTerms(required, podLabelsOf(other), cluster);
  const matchesAntiAffinity = (other: Frozen<Pod> | undefined) =>
    other !== undefined && requiredAnti.some(term => matchesAffinityTerm(term, podLabelsOf(other), cluster.labelsOf));
  return (
    (matchesAffinity(now) && !matchesAffinity(old)) ||
    (matchesAntiAffinity(old) && !matchesAntiAffinity(now)) ||
    (!now && old !== undefined && hasRequiredAntiAffinity(old))
  );
};

/**
 * Whether a required term may now be met on the node, or an anti-affinity term is no longer violated: a node without
 * the topology key violates none. Differs from upstream: a pod without terms of its own, rejected by the anti-affinity
 * of others, is retried too.
 */
const shouldQueueOnNode = (
  {terms: {required, requiredAnti}}: PodInfo,
  old: Frozen<Node> | undefined,
  now: Frozen<Node> | undefined,
): boolean => {
  if (required.length === 0 && requiredAnti.length === 0) return true;
  const [before, after] = [old, now].map(node => node?.metadata?.labels ?? {}) as [Labels, Labels];
  const hasChanged = ({topologyKey}: {readonly topologyKey: string}) => before[topologyKey] !== after[topologyKey];
  return (
    required.some(term => after[term.topologyKey] !== undefined && hasChanged(term)) ||
    requiredAnti.some(term => !old || (before[term.topologyKey] !== undefined && hasChanged(term)))
  );
};

/**
 * Places a pod near the pods that it requires, away from those it excludes and from those that exclude it. Whether
 * preferred terms of existing pods are ignored matters to scores alone.
 */
export const interPodAffinityWith = (ignorePreferredTermsOfExistingPods: boolean): Filter => ({
  plugin: 'InterPodAffinity',
  sign: signsPodAffinity(ignorePreferredTermsOfExistingPods),
  prepare,
  hints: [
    {
      on: ['AssignedPodAdd', 'AssignedPodUpdatePodLabel', 'UnschedulablePodUpdatePodLabel', 'AssignedPodDelete'],
      shouldQueue: shouldQueueOnPod,
    },
    {
      on: ['NodeAdd', 'NodeUpdateNodeLabel'],
      shouldQueue: (pod, old: Frozen<Node> | undefined, now: Frozen<Node> | undefined) => shouldQueueOnNode(pod, old, now),
    },
  ],
});

export const interPodAffinity = interPodAffinityWith(false);
