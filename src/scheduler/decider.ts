import type {Lister} from '#informers/lister.js';
import type {PodDisruptionBudget} from '#src/api/pod.js';
import type {Clock} from '#src/base/clock.js';
import type {Random} from '#src/base/random.js';
import type {Steps} from '#src/base/steps.js';
import type {NodeInfo} from './cache/node-info.js';
import type {PodInfo} from './cache/pod-info.js';
import {selectNode, totalScores} from './select-node.js';
import {findFeasibleNodes, runFiltersWithNominatedPods, type FilterResult, type NominatedPods} from '#src/scheduler/framework/fit.js';
import {fitErrorMessage, noClaimsText} from '#src/scheduler/framework/fit-error.js';
import type {SchedulerMetrics} from './metrics.js';
import type {Cluster} from '#src/scheduler/framework/plugin.js';
import {budgetsOf} from './preemption/budgets.js';
import {isCandidate, selectVictims, type Candidate} from './preemption/candidates.js';
import {findVictims, type PreemptionSearch} from './preemption/search.js';
import type {Profile} from './profile.js';
import type {Nominator} from './queue/nominator.js';

/** The result of scheduling a pod: a node, a node with victims to preempt, or a failure message. */
export type Decision =
  | {readonly type: 'node'; readonly node: NodeInfo; readonly filterResult: FilterResult}
  | {readonly type: 'preempt'; readonly candidate: Candidate; readonly text: string; readonly filterResult: FilterResult}
  | {readonly type: 'none'; readonly nominatedNode: '' | undefined; readonly text: string; readonly filterResult: FilterResult};

export interface DeciderParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly cluster: Cluster;
  readonly nominator: Nominator;
  readonly metrics: SchedulerMetrics;
  budgets(): Lister<PodDisruptionBudget>;
}

/** Makes scheduling decisions. Nodes are frozen meanwhile, and the decision is revalidated afterwards. */
export class Decider {
  readonly #parts: DeciderParts;
  /** The index in the order of nodes at which the next search begins. */
  #startIndex = 0;

  constructor(parts: DeciderParts) {
    this.#parts = parts;
  }

  /** Selects the best node, or else a node with victims to preempt. `since` is when the attempt began. There must be a node. */
  *decide(info: PodInfo, {filters, scores, percentageOfNodesToScore, preempts}: Profile, since: number): Steps<Decision> {
    const {clock, random, cluster, nominator, metrics} = this.#parts;
    const all = cluster.nodes.length;
    const nominatedNode = info.pod.status?.nominatedNodeName || nominator.nodeOf(info.uid);
    const filterResult = yield* findFeasibleNodes(info, {
      cluster,
      filters,
      nominatedPods: this.#nominatedPods,
      nominatedNode,
      percentageOfNodesToScore,
      startIndex: this.#startIndex,
    });
    const {feasible, evaluated} = filterResult;
    const name = info.pod.spec?.schedulerName ?? '';
    const filteredAt = clock.monotonic();
    metrics.observeExtensionPoint('Filter', feasible.length > 0 ? 'Success' : 'Unschedulable', name, filteredAt - since);
    this.#startIndex = (this.#startIndex + evaluated) % all;
    const [only] = feasible;
    if (!only) {
      metrics.observeAlgorithm(filteredAt - since);
      return yield* this.#preempt(info, filterResult, {nominatedNode, preempts});
    }
    const node = feasible.length === 1 ? only : selectNode(feasible, yield* totalScores(info, feasible, scores, cluster), random);
    const scoredAt = clock.monotonic();
    metrics.observeExtensionPoint('Score', 'Success', name, scoredAt - filteredAt);
    metrics.observeAlgorithm(scoredAt - since);
    return {type: 'node', node, filterResult};
  }

  /** Checks a decision against the current state. Returns it, or undefined where it no longer holds and must be made again. */
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
    {nominatedNode, preempts}: {readonly nominatedNode: string | undefined; readonly preempts: boolean},
  ): Steps<Decision> {
    const {clock, cluster, metrics} = this.#parts;
    const text = (afterwards?: string) => fitErrorMessage(cluster.nodes.length, filterResult.diagnosis, afterwards);
    if (!preempts) return {type: 'none', nominatedNode: '', text: yield* text(), filterResult};
    const startedAt = clock.monotonic();
    const released = filterResult.filterSet.filters.map(({check}) => check.release?.()).find(each => each !== undefined);
    const outcome = yield* findVictims(info, nominatedNode, filterResult, this.#preemptionSearch());
    metrics.observeExtensionPoint(
      'PostFilter',
      isCandidate(outcome) ? 'Success' : 'Unschedulable',
      info.pod.spec?.schedulerName ?? '',
      clock.monotonic() - startedAt,
    );
    metrics.countPreemption(isCandidate(outcome) ? outcome.victims.length : 0);
    if (isCandidate(outcome)) return {type: 'preempt', candidate: outcome, text: yield* text(), filterResult};
    return {
      type: 'none',
      nominatedNode: outcome.clearNominatedNode ? '' : undefined,
      text: yield* text(`${released ?? noClaimsText}, preemption: ${outcome.text}`),
      filterResult,
    };
  }
}
