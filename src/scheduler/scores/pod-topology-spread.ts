import {signsTopologySpread} from '#src/scheduler/signatures/plugin-signatures.js';
import type {NodeInfo} from '#src/scheduler/cache/node-info.js';
import {leastOf, mostOf} from '#src/base/extremes.js';
import {StepCount, type Steps} from '#src/base/steps.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import {scoresPerStep, type Cluster, type NodeScorer, type Score} from '#src/scheduler/framework/plugin.js';
import {
  nodeInclusion,
  defaultConstraints,
  hasTopologyKeys,
  ownConstraints,
  systemConstraints,
  type Constraint,
  type DefaultConstraint,
} from '#src/scheduler/topology/constraints.js';
import {maxNodeScore} from './normalize.js';

/** Scores nodes by one topology spread constraint. */
interface ConstraintScorer {
  readonly maxSkew: number;
  hasTopology(node: NodeInfo): boolean;
  /** Increases with the number of domains, since each has fewer pods. */
  readonly weight: number;
  countIn(node: NodeInfo): number;
}

interface ScoringNodes {
  readonly pod: PodInfo;
  /** The feasible nodes, and the nodes whose pods are counted. */
  readonly feasible: readonly NodeInfo[];
  readonly counted: readonly NodeInfo[];
  readonly cluster: Cluster;
}

/** Returns the scorer of a constraint; undefined if no feasible node has its topology key. */
const constraintScorer = function* (
  constraint: Constraint,
  {pod, feasible, counted, cluster}: ScoringNodes,
): Steps<ConstraintScorer | undefined> {
  const {topologyKey, maxSkew, selector} = constraint;
  const hasTopology = cluster.memo.hasLabel(topologyKey);
  const countOn = cluster.memo.podCounter(pod.namespace, selector);
  if (topologyKey === cluster.naming.labels.hostname)
    return {maxSkew, hasTopology, weight: Math.log(feasible.length + 2), countIn: countOn};
  const byDomain = new Map<string, number>();
  for (const node of feasible) if (hasTopology(node)) byDomain.set(node.labels[topologyKey]!, 0);
  const includes = nodeInclusion(constraint, pod);
  if (byDomain.size === 0) return undefined;
  const steps = new StepCount(scoresPerStep);
  for (const node of counted) {
    if (steps.add(1)) yield;
    const domain = node.labels[topologyKey];
    const before = domain === undefined ? undefined : byDomain.get(domain);
    if (before !== undefined && includes(node)) byDomain.set(domain!, before + countOn(node));
  }
  return {maxSkew, hasTopology, weight: Math.log(byDomain.size + 2), countIn: ({labels}) => byDomain.get(labels[topologyKey] ?? '') ?? 0};
};

const prepare = function* (
  pod: PodInfo,
  nodes: readonly NodeInfo[],
  cluster: Cluster,
  defaults: readonly DefaultConstraint[] | undefined,
): Steps<NodeScorer | undefined> {
  const hasConstraints = (pod.pod.spec?.topologySpreadConstraints ?? []).length > 0;
  // Nodes must have all topology keys of stated constraints; for system defaults, those that they have.
  const requireAllTopologies = hasConstraints || defaults !== undefined;
  const constraints = hasConstraints
    ? ownConstraints(pod, 'ScheduleAnyway', cluster)
    : defaultConstraints(pod, defaults ?? systemConstraints(cluster.naming), 'ScheduleAnyway', cluster);
  if (constraints.length === 0) return undefined;
  const isCounted = ({labels}: NodeInfo): boolean => !requireAllTopologies || hasTopologyKeys(labels, constraints);
  const feasible = requireAllTopologies ? nodes.filter(isCounted) : nodes;
  const counted = requireAllTopologies ? cluster.nodes.filter(isCounted) : cluster.nodes;
  const scorers: ConstraintScorer[] = [];
  for (const each of constraints) {
    const scorer = yield* constraintScorer(each, {pod, feasible, counted, cluster});
    if (scorer) scorers.push(scorer);
  }
  return {
    score(node) {
      if (!isCounted(node)) return 0;
      let sum = 0;
      for (const {maxSkew, hasTopology, weight, countIn} of scorers) if (hasTopology(node)) sum += countIn(node) * weight + (maxSkew - 1);
      return Math.round(sum);
    },
    normalize(scores, all) {
      const valid = requireAllTopologies ? scores.filter((_, at) => isCounted(all[at]!)) : scores;
      const [least, most] = [leastOf(valid), mostOf(valid)];
      for (let at = 0; at < scores.length; at++) {
        if (!isCounted(all[at]!)) scores[at] = 0;
        else scores[at] = most === 0 ? maxNodeScore : Math.floor((maxNodeScore * (most + least - scores[at]!)) / most);
      }
    },
  };
};

/** Prefers domains with few matching pods. Pods without constraints use the given defaults, or those of the system. */
export const podTopologySpreadBy = (defaults?: readonly DefaultConstraint[]): Score => ({
  plugin: 'PodTopologySpread',
  sign: signsTopologySpread(defaults),
  weight: 2,
  prepare: (pod, nodes, cluster) => prepare(pod, nodes, cluster, defaults),
});

export const podTopologySpreadScore = podTopologySpreadBy();
