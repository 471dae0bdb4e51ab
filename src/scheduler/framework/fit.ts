// Searches the nodes on which a pod fits, and notes why it does not fit on others.

import {isSteps, StepCount, stepsOf, type Steps, type MaybeSteps} from '#src/base/steps.js';
import type {NodeInfo} from '#src/scheduler/cache/node-info.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import {
  evaluateNode,
  prepareFilters,
  runFiltersWithNominatedPods,
  type FilterSet,
  type NominatedPods,
  type PluginRejection,
} from './filter-set.js';
import {nodesPerStep, unresolvable, type Cluster, type Filter, type PluginName, type Rejection} from './plugin.js';

/** Why a pod fits no node. */
export interface Diagnosis {
  /** The rejections of evaluated nodes, in order of evaluation. */
  readonly byNode: Map<string, PluginRejection>;
  /** The common rejection of all other nodes, if they were excluded together. */
  rest: Rejection | undefined;
  /** Set if every node was rejected before any was evaluated. */
  preFilterMessage: string | undefined;
  readonly rejectedBy: Set<PluginName>;
}

const emptyDiagnosis = (): Diagnosis => ({byNode: new Map(), rest: undefined, preFilterMessage: undefined, rejectedBy: new Set()});

/** Below this number of nodes all are evaluated. */
const minFeasibleNodes = 100;

/**
 * Returns after how many feasible nodes the search may end: a share of all nodes that shrinks as their number grows,
 * unless a percentage is given.
 */
export const numFeasibleNodesToFind = (all: number, percentage = 0): number => {
  if (all < minFeasibleNodes) return all;
  const share = percentage || Math.max(5, 50 - Math.floor(all / 125));
  return Math.max(minFeasibleNodes, Math.floor((all * share) / 100));
};

/** What is known of a pod by its likeness to earlier ones. */
export interface NodeHint {
  /** Equal for pods with the same feasible nodes and scores; undefined if the pod has none. */
  readonly signature: string | undefined;
  /** The node to look at first. */
  readonly node: string | undefined;
}

export interface FilterOptions {
  readonly cluster: Cluster;
  readonly filters: readonly Filter[];
  readonly nominatedPods: NominatedPods;
  /** The node to which the pod is nominated. */
  readonly nominatedNode: string | undefined;
  readonly percentageOfNodesToScore: number;
  /** Whether nodes are scored, which is the default; otherwise the search ends at the first feasible one. */
  readonly isScored?: boolean;
  /** The index in the order of nodes at which to begin. */
  readonly startIndex: number;
  /** Returns a node that an earlier pod makes likely; called unless the filters reject every node. */
  hintFor?(filterSet: FilterSet): Steps<NodeHint>;
}

/** The result of filtering. */
export interface FilterResult {
  readonly feasible: readonly NodeInfo[];
  readonly diagnosis: Diagnosis;
  readonly filterSet: FilterSet;
  /** How many nodes the search looked at; 0 if the nominated or the hinted node made it unnecessary. */
  readonly searched: number;
  readonly hint: NodeHint | undefined;
}

/** Finds feasible nodes: the nominated or the hinted one, or as many as scoring needs. */
export const findFeasibleNodes = function* (
  pod: PodInfo,
  {cluster, filters, nominatedPods, nominatedNode, percentageOfNodesToScore, isScored = true, startIndex, hintFor}: FilterOptions,
): Steps<FilterResult> {
  const filterSet = yield* prepareFilters(pod, filters, cluster);
  const diagnosis = emptyDiagnosis();
  for (const plugin of filterSet.restrictingPlugins) diagnosis.rejectedBy.add(plugin);
  if (filterSet.rejection) {
    diagnosis.rest = filterSet.rejection;
    diagnosis.preFilterMessage = filterSet.rejection.reasons.join(', ');
    diagnosis.rejectedBy.add(filterSet.rejection.plugin);
    return {feasible: [], diagnosis, filterSet, searched: 0, hint: undefined};
  }
  const takesLong = filterSet.filters.some(({check}) => check.evaluate);
  const reject = (node: NodeInfo, rejection: PluginRejection): void => {
    diagnosis.byNode.set(node.name, rejection);
    diagnosis.rejectedBy.add(rejection.plugin);
  };
  /**
   * Filters the node, and evaluates one that all filters accept where that takes long: then the result are its steps.
   */
  const check = (node: NodeInfo): MaybeSteps<PluginRejection | undefined> =>
    runFiltersWithNominatedPods(filterSet, node, nominatedPods) ?? (takesLong ? evaluateNode(filterSet, node) : undefined);
  const hint = hintFor && (yield* hintFor(filterSet));
  const first = nominatedNode || hint?.node;
  const likely = first ? cluster.node(first) : undefined;
  if (likely) {
    const rejection = yield* stepsOf(check(likely));
    if (!rejection) return {feasible: [likely], diagnosis, filterSet, searched: 0, hint};
    reject(likely, rejection);
  }

  const {nodes: names} = filterSet;
  const nodes = names ? [...names].map(name => cluster.node(name)).filter(node => node !== undefined) : cluster.nodes;
  if (names) diagnosis.rest = unresolvable(`node(s) didn't satisfy plugin(s) [${[...filterSet.restrictingPlugins].sort().join(' ')}]`);
  const wanted = isScored ? numFeasibleNodesToFind(nodes.length, percentageOfNodesToScore) : 1;
  const fitting: NodeInfo[] = [];
  const steps = new StepCount(nodesPerStep);
  for (let at = 0; at < nodes.length && fitting.length < wanted; at++) {
    const node = nodes[(startIndex + at) % nodes.length]!;
    const checked = check(node);
    const rejection = isSteps(checked) ? yield* checked : checked;
    if (rejection) reject(node, rejection);
    else fitting.push(node);
    if (steps.add(1)) yield;
  }
  return {feasible: fitting, diagnosis, filterSet, searched: fitting.length + diagnosis.byNode.size, hint};
};
