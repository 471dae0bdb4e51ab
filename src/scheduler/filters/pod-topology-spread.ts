import {signsTopologySpread} from '#src/scheduler/signatures/plugin-signatures.js';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import {leastOf} from '#src/base/extremes.js';
import type {Steps} from '#src/base/steps.js';
import type {NodeInfo} from '#src/scheduler/cache/node-info.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import {unschedulable, unresolvable, type PreparedFilter, type Cluster, type Filter} from '#src/scheduler/framework/plugin.js';
import {
  nodeInclusion,
  defaultConstraints,
  hasTopologyKeys,
  ownConstraints,
  type Constraint,
  type DefaultConstraint,
} from '#src/scheduler/topology/constraints.js';

/** The number of matching pods in each topology domain of a constraint. */
class DomainCounts {
  readonly constraint: Constraint;
  /** Whether pods on a node are counted. */
  readonly includes: (node: NodeInfo) => boolean;
  readonly #byDomain = new Map<string, number>();
  #minimum: number | undefined;

  constructor(constraint: Constraint, pod: PodInfo) {
    this.constraint = constraint;
    this.includes = nodeInclusion(constraint, pod);
  }

  add(domain: string, by: number): void {
    this.#byDomain.set(domain, this.countIn(domain) + by);
    this.#minimum = undefined;
  }

  countIn(domain: string): number {
    return this.#byDomain.get(domain) ?? 0;
  }

  /** The lowest count of a domain; 0 while there are fewer domains than `minDomains`. */
  get minimum(): number {
    if (this.#byDomain.size < this.constraint.minDomains) return 0;
    return (this.#minimum ??= leastOf(this.#byDomain.values()));
  }
}

const countDomains = function* (pod: PodInfo, constraints: readonly Constraint[], cluster: Cluster): Steps<DomainCounts[]> {
  const all = constraints.map(constraint => ({
    domainCounts: new DomainCounts(constraint, pod),
    countOn: cluster.memo.podCounter(pod.namespace, constraint.selector),
  }));
  for (const node of cluster.nodes) {
    yield;
    if (!hasTopologyKeys(node.labels, constraints)) continue;
    for (const {domainCounts, countOn} of all)
      if (domainCounts.includes(node)) domainCounts.add(node.labels[domainCounts.constraint.topologyKey]!, countOn(node));
  }
  return all.map(({domainCounts}) => domainCounts);
};

type Defaults = readonly DefaultConstraint[];

/** Returns the hard constraints of a pod, or the default ones if it states none. */
const constraintsFor = (pod: PodInfo, cluster: Cluster, defaults: Defaults = []): readonly Constraint[] =>
  pod.pod.spec?.topologySpreadConstraints?.length
    ? ownConstraints(pod, 'DoNotSchedule', cluster)
    : defaultConstraints(pod, defaults, 'DoNotSchedule', cluster);

const prepare = function* (pod: PodInfo, cluster: Cluster, defaults: Defaults | undefined): Steps<PreparedFilter | undefined> {
  const constraints = constraintsFor(pod, cluster, defaults);
  if (constraints.length === 0) return undefined;
  const all = yield* countDomains(pod, constraints, cluster);
  const count = (other: PodInfo, node: NodeInfo, by: 1 | -1) => {
    if (other.namespace !== pod.namespace || other.pod.metadata?.deletionTimestamp || !hasTopologyKeys(node.labels, constraints)) return;
    for (const domainCounts of all) {
      const {selector, topologyKey} = domainCounts.constraint;
      if (selector.matches(other.labels) && domainCounts.includes(node)) domainCounts.add(node.labels[topologyKey]!, by);
    }
  };
  return {
    filter({labels}) {
      for (const domainCounts of all) {
        const {topologyKey, selector, maxSkew} = domainCounts.constraint;
        const domain = labels[topologyKey];
        if (domain === undefined) return unresolvable("node(s) didn't match pod topology spread constraints (missing required label)");
        const skew = domainCounts.countIn(domain) + (selector.matches(pod.labels) ? 1 : 0) - domainCounts.minimum;
        if (skew > maxSkew) return unschedulable("node(s) didn't match pod topology spread constraints");
      }
      return undefined;
    },
    add: (other, node) => count(other, node, 1),
    remove: (other, node) => count(other, node, -1),
  };
};

const matchesAny = (pod: PodInfo, other: Frozen<Pod> | undefined, constraints: readonly Constraint[]): boolean =>
  other?.metadata?.namespace === pod.namespace && constraints.some(({selector}) => selector.matches(other.metadata?.labels));

/** Whether a pod that counts for a constraint was added, deleted or changed. */
const shouldQueueOnPod = (
  pod: PodInfo,
  old: Frozen<Pod> | undefined,
  now: Frozen<Pod> | undefined,
  constraints: readonly Constraint[],
): boolean => {
  if (now?.metadata?.uid === pod.uid) return true;
  if (!old || !now) return matchesAny(pod, old ?? now, constraints);
  return constraints.some(constraint => matchesAny(pod, old, [constraint]) !== matchesAny(pod, now, [constraint]));
};

/** Whether a domain appeared or disappeared, or a node moved between domains. */
const shouldQueueOnNode = (old: Frozen<Node> | undefined, now: Frozen<Node> | undefined, constraints: readonly Constraint[]): boolean => {
  const domains = (node: Frozen<Node> | undefined) => constraints.map(({topologyKey}) => node?.metadata?.labels?.[topologyKey]);
  const [before, after] = [domains(old), domains(now)];
  const [was, is] = [before, after].map(each => !each.includes(undefined));
  return was !== is || (is === true && before.some((domain, at) => domain !== after[at]));
};

/**
 * Spreads matching pods evenly over topology domains, by the pod's own constraints or the default ones. Without
 * `defaults` those of the system apply, which filter no node.
 */
export const podTopologySpreadWith = (defaults?: Defaults): Filter => ({
  plugin: 'PodTopologySpread',
  sign: signsTopologySpread(defaults),
  prepare: (pod, cluster) => prepare(pod, cluster, defaults),
  hints: [
    {
      on: ['AssignedPodAdd', 'AssignedPodUpdatePodLabel', 'AssignedPodDelete', 'UnschedulablePodUpdatePodLabel'],
      shouldQueue: (pod, old: Frozen<Pod> | undefined, now: Frozen<Pod> | undefined, cluster) =>
        shouldQueueOnPod(pod, old, now, constraintsFor(pod, cluster, defaults)),
    },
    {
      on: ['NodeAdd', 'NodeDelete', 'NodeUpdateNodeLabel'],
      shouldQueue: (pod, old: Frozen<Node> | undefined, now: Frozen<Node> | undefined, cluster) =>
        shouldQueueOnNode(old, now, constraintsFor(pod, cluster, defaults)),
    },
    // A taint or a toleration may change which nodes are counted.
    {
      on: ['NodeUpdateNodeTaint'],
      shouldQueue: (pod, _, now, cluster) => hasTopologyKeys(now?.metadata?.labels ?? {}, constraintsFor(pod, cluster, defaults)),
    },
    {
      on: ['UnschedulablePodUpdatePodToleration'],
      shouldQueue: (pod, _, now, cluster) =>
        now?.metadata?.uid === pod.uid && constraintsFor(pod, cluster, defaults).some(({honoursTaints}) => honoursTaints),
    },
  ],
});

export const podTopologySpread = podTopologySpreadWith();
