import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import type {Steps} from '#src/base/steps.js';
import {speaksOf, type AffinityTerm} from '#src/scheduler/cache/affinity-term.js';
import type {NodeInfo} from '#src/scheduler/cache/node-info.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import {rejected, ruledOut, type Check, type Cluster, type Filter} from '#src/scheduler/plugin.js';
import {TopologyCounts} from './topology-counts.js';

type Seen = Pick<PodInfo, 'namespace' | 'labels'>;
type Labels = Readonly<Record<string, string>>;

const all = (terms: readonly AffinityTerm[], pod: Seen, {labelsOf}: Cluster): boolean => terms.length > 0 && terms.every(term => speaksOf(term, pod, labelsOf));

/** Counts, by place, what keeps a pod off places or draws it to them. */
class Neighbours {
  /** Pods that refuse this one. */
  readonly refusing = new TopologyCounts();
  /** Pods that this one wants near, or not near. */
  readonly wanted = new TopologyCounts();
  readonly unwanted = new TopologyCounts();
  readonly #pod: PodInfo;
  readonly #cluster: Cluster;

  constructor(pod: PodInfo, cluster: Cluster) {
    this.#pod = pod;
    this.#cluster = cluster;
  }

  /** Counts every pod there is. */
  *countAll(): Steps<void> {
    const {required, requiredAnti} = this.#pod.terms;
    const asks = required.length + requiredAnti.length > 0;
    for (const node of this.#cluster.nodes) {
      for (const other of node.withRequiredAntiAffinity.values()) this.#countRefusal(other, node, 1);
      if (asks) for (const other of node.pods.values()) this.#countWish(other, node, 1);
      yield;
    }
  }

  count(other: PodInfo, node: NodeInfo, by: 1 | -1): void {
    this.#countRefusal(other, node, by);
    this.#countWish(other, node, by);
  }

  #countRefusal({terms}: PodInfo, {labels}: NodeInfo, by: 1 | -1): void {
    for (const term of terms.requiredAnti) if (speaksOf(term, this.#pod, this.#cluster.labelsOf)) this.refusing.add(term.topologyKey, labels, by);
  }

  #countWish(other: PodInfo, {labels}: NodeInfo, by: 1 | -1): void {
    const {required, requiredAnti} = this.#pod.terms;
    if (all(required, other, this.#cluster)) for (const {topologyKey} of required) this.wanted.add(topologyKey, labels, by);
    for (const term of requiredAnti) if (speaksOf(term, other, this.#cluster.labelsOf)) this.unwanted.add(term.topologyKey, labels, by);
  }
}

/** Whether a node is near the pods that the terms want. The first of pods that want each other's company may be alone. */
const isWanted = ({terms: {required}}: PodInfo, {labels}: NodeInfo, {wanted}: Neighbours, isFirst: () => boolean): boolean => {
  if (required.some(({topologyKey}) => labels[topologyKey] === undefined)) return false;
  return required.every(({topologyKey}) => wanted.get(topologyKey, labels[topologyKey]) > 0) || isFirst();
};

const prepare = function* (pod: PodInfo, cluster: Cluster): Steps<Check | undefined> {
  const neighbours = new Neighbours(pod, cluster);
  yield* neighbours.countAll();
  const {required, requiredAnti} = pod.terms;
  if (neighbours.refusing.isEmpty && required.length === 0 && requiredAnti.length === 0) return undefined;
  const isFirst = () => neighbours.wanted.isEmpty && all(required, pod, cluster);
  return {
    judge(node) {
      const {labels} = node;
      if (!isWanted(pod, node, neighbours, isFirst)) return ruledOut("node(s) didn't match pod affinity rules");
      if (requiredAnti.some(({topologyKey}) => neighbours.unwanted.get(topologyKey, labels[topologyKey]) > 0)) return rejected("node(s) didn't match pod anti-affinity rules");
      for (const key of neighbours.refusing.keys()) {
        if (neighbours.refusing.get(key, labels[key]) > 0) return rejected("node(s) didn't satisfy existing pods anti-affinity rules");
      }
      return undefined;
    },
    add: (other, node) => neighbours.count(other, node, 1),
    remove: (other, node) => neighbours.count(other, node, -1),
  };
};

const seen = ({metadata}: Frozen<Pod>): Seen => ({namespace: metadata?.namespace ?? '', labels: metadata?.labels ?? {}});
const refuses = (other: Frozen<Pod>): boolean => Boolean(other.spec?.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.length);

/** Whether a pod is now near that is wanted, or no longer near that is not wanted or that refused. */
const mayHelp = (pod: PodInfo, old: Frozen<Pod> | undefined, now: Frozen<Pod> | undefined, cluster: Cluster): boolean => {
  if (now?.metadata?.uid === pod.uid) return true;
  const {required, requiredAnti} = pod.terms;
  const wants = (other: Frozen<Pod> | undefined) => other !== undefined && all(required, seen(other), cluster);
  const minds = (other: Frozen<Pod> | undefined) => other !== undefined && requiredAnti.some(term => speaksOf(term, seen(other), cluster.labelsOf));
  return (wants(now) && !wants(old)) || (minds(old) && !minds(now)) || (!now && old !== undefined && refuses(old));
};

/**
 * Whether a node now is where a required term may be met, or no longer where an anti-affinity term is broken: a node without the topology key breaks none. Differs
 * from upstream: a pod without terms of its own, rejected for the anti-affinity of others, is tried again too.
 */
const nodeHelps = ({terms: {required, requiredAnti}}: PodInfo, old: Frozen<Node> | undefined, now: Frozen<Node> | undefined): boolean => {
  if (required.length === 0 && requiredAnti.length === 0) return true;
  const [before, after] = [old, now].map(node => node?.metadata?.labels ?? {}) as [Labels, Labels];
  const moved = ({topologyKey}: {readonly topologyKey: string}) => before[topologyKey] !== after[topologyKey];
  return required.some(term => after[term.topologyKey] !== undefined && moved(term)) || requiredAnti.some(term => !old || (before[term.topologyKey] !== undefined && moved(term)));
};

/** Keeps a pod near the pods it requires, away from those it refuses and from those that refuse it. */
export const interPodAffinity: Filter = {
  plugin: 'InterPodAffinity',
  prepare,
  hints: [
    {on: ['AssignedPodAdd', 'AssignedPodUpdatePodLabel', 'UnschedulablePodUpdatePodLabel', 'AssignedPodDelete'], helps: mayHelp},
    {
      on: ['NodeAdd', 'NodeUpdateNodeLabel'],
      helps: (pod, old: Frozen<Node> | undefined, now: Frozen<Node> | undefined) => nodeHelps(pod, old, now),
    },
  ],
};
