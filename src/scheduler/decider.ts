import type {Lister} from '#informers/lister.js';
import type {PodDisruptionBudget} from '#src/api/pod.js';
import type {Clock} from '#src/base/clock.js';
import type {Random} from '#src/base/random.js';
import type {Steps} from '#src/base/steps.js';
import type {OpportunisticBatch} from './batching/batch.js';
import {otherNodes, type SortedNodes} from './batching/sorted-nodes.js';
import type {NodeInfo} from './cache/node-info.js';
import type {PodInfo} from './cache/pod-info.js';
import {selectNode, totalScores} from './select-node.js';
import {runFiltersWithNominatedPods, type NominatedPods} from '#src/scheduler/framework/filter-set.js';
import {findFeasibleNodes, type FilterResult} from '#src/scheduler/framework/fit.js';
import {fitErrorMessage, noClaimsText, noStateText} from '#src/scheduler/framework/fit-error.js';
import type {SchedulerMetrics} from './metrics.js';
import type {Cluster, Filter} from '#src/scheduler/framework/plugin.js';
import {budgetsOf} from './preemption/budgets.js';
import {isCandidate, selectVictims, type Candidate} from './preemption/candidates.js';
import {findVictims, type PreemptionSearch} from './preemption/search.js';
import type {Profile} from './profile.js';
import type {Nominator} from './queue/nominator.js';

/** The result of scheduling a pod: a node, a node with victims to preempt, or a failure message. */
export type Decision =
  | {
      readonly type: 'node';
      readonly node: NodeInfo;
      readonly filterResult: FilterResult;
      /** The scores of the feasible nodes, if there are several. */
      readonly totals?: readonly number[];
      /** The other feasible nodes, if pods that are alike may take them. */
      readonly otherNodes: SortedNodes | undefined;
    }
  | {readonly type: 'preempt'; readonly candidate: Candidate; readonly text: string; readonly filterResult: FilterResult}
  | {readonly type: 'none'; readonly nominatedNode: '' | undefined; readonly text: string; readonly filterResult: FilterResult};

type NodeDecision = Extract<Decision, {readonly type: 'node'}>;

export interface DeciderParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly cluster: Cluster;
  readonly nominator: Nominator;
  readonly metrics: SchedulerMetrics;
  /** By scheduler name; empty without batching. */
  readonly batches: ReadonlyMap<string, OpportunisticBatch>;
  budgets(): Lister<PodDisruptionBudget>;
}

/** An attempt to schedule a pod. */
export interface Attempt {
  /** When it began. */
  readonly since: number;
  /** The number of the pod among all that were taken from the queue. */
  readonly cycle: number;
}

/** Makes scheduling decisions. Nodes are frozen meanwhile, and the decision is revalidated afterwards. */
export class Decider {
  readonly #parts: DeciderParts;
  /** The index in the order of nodes at which the next search begins. */
  #startIndex = 0;

  constructor(parts: DeciderParts) {
    this.#parts = parts;
  }

  /** Selects the best node, or else a node with victims to preempt. There must be a node. */
  *decide(info: PodInfo, {filters, scores, percentageOfNodesToScore, preempts}: Profile, {since, cycle}: Attempt): Steps<Decision> {
    const {clock, cluster, nominator, metrics, batches} = this.#parts;
    const all = cluster.nodes.length;
    const nominatedNode = info.pod.status?.nominatedNodeName || nominator.nodeOf(info.uid);
    const name = info.pod.spec?.schedulerName ?? '';
    const batch = batches.get(name);
    const filterResult = yield* findFeasibleNodes(info, {
      cluster,
      filters,
      nominatedPods: this.#nominatedPods,
      nominatedNode,
      percentageOfNodesToScore,
      isScored: scores.length > 0,
      startIndex: this.#startIndex,
      ...(batch ? {hintFor: filterSet => batch.hintFor(filterSet, cycle)} : {}),
    });
    const {feasible, searched} = filterResult;
    const filteredAt = clock.monotonic();
    metrics.observeExtensionPoint('Filter', feasible.length > 0 ? 'Success' : 'Unschedulable', name, filteredAt - since);
    this.#startIndex = (this.#startIndex + searched) % all;
    if (feasible.length === 0) {
      metrics.observeAlgorithm(filteredAt - since);
      return yield* this.#preempt(info, filterResult, {nominatedNode, preempts, filters});
    }
    const decision = yield* this.#best(info, scores, filterResult);
    const scoredAt = clock.monotonic();
    metrics.observeExtensionPoint('Score', 'Success', name, scoredAt - filteredAt);
    metrics.observeAlgorithm(scoredAt - since);
    return decision;
  }

  /** Leaves what was found for a pod to those after it that are alike. */
  storeResults({pod}: PodInfo, {node, otherNodes: others, filterResult: {hint, feasible}}: NodeDecision, cycle: number): void {
    if (!hint) return;
    const results = {cycle, hint, chosenNode: node.name, otherNodes: others, feasible: feasible.length};
    this.#parts.batches.get(pod.spec?.schedulerName ?? '')?.store(results);
  }

  /** Selects the best of the feasible nodes. */
  *#best(info: PodInfo, scores: Profile['scores'], filterResult: FilterResult): Steps<NodeDecision> {
    const {random, cluster} = this.#parts;
    const {feasible, hint} = filterResult;
    if (feasible.length === 1) return {type: 'node', node: feasible[0]!, filterResult, otherNodes: undefined};
    const totals = yield* totalScores(info, feasible, scores, cluster);
    const node = selectNode(feasible, totals, random);
    const others = hint?.signature === undefined ? undefined : otherNodes(feasible, totals, node.name, random);
    return {type: 'node', node, filterResult, totals, otherNodes: others};
  }

  /**
   * Checks a decision against the current state. Returns it, or undefined where it no longer holds and must be made
   * again.
   */
  revalidate(decision: Decision): Decision | undefined {
    const {cluster} = this.#parts;
    const {filterSet} = decision.filterResult;
    switch (decision.type) {
      case 'node': {
        const node = cluster.node(decision.node.name);
        return node && !runFiltersWithNominatedPods(filterSet, node, this.#nominatedPods) ? {...decision, node} : undefined;
      }
      case 'preempt': {
        const node = cluster.node(decision.candidate.node);
        const candidate = node && selectVictims(node, filterSet, this.#preemptionSearch());
        return candidate && isCandidate(candidate) ? {...decision, candidate} : undefined;
      }
      case 'none':
        return decision;
    }
  }

  readonly #nominatedPods: NominatedPods = node => this.#parts.nominator.podsFor(node);

  #preemptionSearch(): PreemptionSearch {
    const {cluster, random, budgets} = this.#parts;
    return {cluster, random, nominatedPods: this.#nominatedPods, budgets: budgetsOf(budgets())};
  }

  *#preempt(
    info: PodInfo,
    filterResult: FilterResult,
    {nominatedNode, preempts, filters}: Pick<Profile, 'preempts' | 'filters'> & {readonly nominatedNode: string | undefined},
  ): Steps<Decision> {
    const {clock, cluster, metrics} = this.#parts;
    const text = (...afterwards: readonly string[]) => fitErrorMessage(cluster.nodes.length, filterResult.diagnosis, afterwards.join(', '));
    const name = info.pod.spec?.schedulerName ?? '';
    const startedAt = clock.monotonic();
    const observe = (status: 'Success' | 'Unschedulable' | 'Error') =>
      metrics.observeExtensionPoint('PostFilter', status, name, clock.monotonic() - startedAt);
    const claims = claimsText(filters, filterResult);
    if (claims === noStateText) {
      observe('Error');
      return {type: 'none', nominatedNode: undefined, text: yield* text(claims), filterResult};
    }
    const reasons = claims === undefined ? [] : [claims];
    if (!preempts) return {type: 'none', nominatedNode: '', text: yield* text(...reasons), filterResult};
    const outcome = yield* findVictims(info, nominatedNode, filterResult, this.#preemptionSearch());
    observe(isCandidate(outcome) ? 'Success' : 'Unschedulable');
    metrics.countPreemption(isCandidate(outcome) ? outcome.victims.length : 0);
    if (isCandidate(outcome)) return {type: 'preempt', candidate: outcome, text: yield* text(), filterResult};
    return {
      type: 'none',
      nominatedNode: outcome.clearNominatedNode ? '' : undefined,
      text: yield* text(...reasons, `preemption: ${outcome.text}`),
      filterResult,
    };
  }
}

/**
 * Releases claims that would help, and returns what the plugin of claims says of a pod that fits no node; undefined
 * without the plugin. After an unresolvable rejection of every node by a plugin before it, it has no state of the pod:
 * that error takes the place of a preemption, which would not help.
 */
const claimsText = (filters: readonly Filter[], {filterSet}: FilterResult): string | undefined => {
  const ofClaims = filters.findIndex(({plugin}) => plugin === 'DynamicResources');
  if (ofClaims === -1) return undefined;
  const {rejection} = filterSet;
  if (rejection?.unresolvable && filters.findIndex(({plugin}) => plugin === rejection.plugin) < ofClaims) return noStateText;
  return filterSet.filters.map(({check}) => check.release?.()).find(each => each !== undefined) ?? noClaimsText;
};
