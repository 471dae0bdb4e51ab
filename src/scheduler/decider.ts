import type {Lister} from '#informers/lister.js';
import type {PodDisruptionBudget} from '#src/api/pod.js';
import type {Clock} from '#src/base/clock.js';
import type {Random} from '#src/base/random.js';
import type {Steps} from '#src/base/steps.js';
import type {NodeInfo} from './cache/node-info.js';
import type {PodInfo} from './cache/pod-info.js';
import {choose, totalScores} from './choose.js';
import {findFitting, judgeWithPromised, type Found, type Promised} from './fit.js';
import {fitText, noClaimsText} from './fit-text.js';
import type {SchedulerMetrics} from './metrics.js';
import type {Cluster} from './plugin.js';
import {budgetsOf} from './preemption/budgets.js';
import {isCandidate, victimsOn, type Candidate} from './preemption/candidates.js';
import {findVictims, type PreemptionSearch} from './preemption/search.js';
import type {Profile} from './profile.js';
import type {Nominated} from './queue/nominated.js';

/** What is to become of a pod: it gets a node, others leave one for it, or there is none, for which there is a text. */
export type Decision =
  | {readonly type: 'node'; readonly node: NodeInfo; readonly found: Found}
  | {readonly type: 'room'; readonly candidate: Candidate; readonly text: string; readonly found: Found}
  | {readonly type: 'none'; readonly nominatedNode: '' | undefined; readonly text: string; readonly found: Found};

export interface DeciderParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly cluster: Cluster;
  readonly nominated: Nominated;
  readonly metrics: SchedulerMetrics;
  budgets(): Lister<PodDisruptionBudget>;
}

/** Finds out what is to become of pods. Nodes stand still while it does, and what it found is to be confirmed once they do not. */
export class Decider {
  readonly #parts: DeciderParts;
  /** Where in the order of nodes the next search begins. */
  #from = 0;

  constructor(parts: DeciderParts) {
    this.#parts = parts;
  }

  /** Finds the best node, or else pods whose leaving makes room. `since` is when the attempt began. There must be a node. */
  *decide(info: PodInfo, {filters, scores, percentage, preempts}: Profile, since: number): Steps<Decision> {
    const {clock, random, cluster, nominated, metrics} = this.#parts;
    const all = cluster.nodes.length;
    const own = info.pod.status?.nominatedNodeName || nominated.nodeOf(info.uid);
    const found = yield* findFitting(info, {cluster, filters, promised: this.#promised, own, percentage, from: this.#from});
    const {fitting, looked} = found;
    const name = info.pod.spec?.schedulerName ?? '';
    const filtered = clock.monotonic();
    metrics.took('Filter', fitting.length > 0 ? 'Success' : 'Unschedulable', name, filtered - since);
    this.#from = (this.#from + looked) % all;
    const [only] = fitting;
    if (!only) {
      metrics.decided(filtered - since);
      return yield* this.#makeRoom(info, found, {own, preempts});
    }
    const node = fitting.length === 1 ? only : choose(fitting, yield* totalScores(info, fitting, scores, cluster), random);
    const chosen = clock.monotonic();
    metrics.took('Score', 'Success', name, chosen - filtered);
    metrics.decided(chosen - since);
    return {type: 'node', node, found};
  }

  /** The decision as it holds now that what happened meanwhile is known; undefined where it is to be made again, since what was chosen is not as it was. */
  confirmed(decision: Decision): Decision | undefined {
    const {cluster} = this.#parts;
    const {checks} = decision.found;
    switch (decision.type) {
      case 'node': {
        const node = cluster.node(decision.node.name);
        return node && !judgeWithPromised(checks, node, this.#promised) ? {...decision, node} : undefined;
      }
      case 'room': {
        const node = cluster.node(decision.candidate.node);
        const candidate = node && victimsOn(node, checks, this.#search());
        return candidate && isCandidate(candidate) ? {...decision, candidate} : undefined;
      }
      case 'none':
        return decision;
    }
  }

  readonly #promised: Promised = node => this.#parts.nominated.on(node);

  #search(): PreemptionSearch {
    const {cluster, random, budgets} = this.#parts;
    return {cluster, random, promised: this.#promised, budgets: budgetsOf(budgets())};
  }

  *#makeRoom(info: PodInfo, found: Found, {own, preempts}: {readonly own: string | undefined; readonly preempts: boolean}): Steps<Decision> {
    const {clock, cluster, metrics} = this.#parts;
    const text = (afterwards?: string) => fitText(cluster.nodes.length, found.diagnosis, afterwards);
    if (!preempts) return {type: 'none', nominatedNode: '', text: text(), found};
    const begun = clock.monotonic();
    const outcome = yield* findVictims(info, own, found, this.#search());
    metrics.took('PostFilter', isCandidate(outcome) ? 'Success' : 'Unschedulable', info.pod.spec?.schedulerName ?? '', clock.monotonic() - begun);
    metrics.preempted(isCandidate(outcome) ? outcome.victims.length : 0);
    if (isCandidate(outcome)) return {type: 'room', candidate: outcome, text: text(), found};
    return {type: 'none', nominatedNode: outcome.forget ? '' : undefined, text: text(`${noClaimsText}, preemption: ${outcome.text}`), found};
  }
}
