import type {Random} from '#src/base/random.js';
import type {Steps} from '#src/base/steps.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import {evaluateNode, type NominatedPods} from '#src/scheduler/framework/filter-set.js';
import type {FilterResult} from '#src/scheduler/framework/fit.js';
import {fitErrorMessage} from '#src/scheduler/framework/fit-error.js';
import {unresolvable, type Cluster, type Rejection} from '#src/scheduler/framework/plugin.js';
import type {Budgets} from './budgets.js';
import {isCandidate, leastLoss, selectVictims, type Candidate} from './candidates.js';

export interface PreemptionSearch {
  readonly cluster: Cluster;
  readonly nominatedPods: NominatedPods;
  readonly random: Random;
  readonly budgets: Budgets;
}

/**
 * The result of a preemption search: a candidate, or why there is none. `clearNominatedNode` says that the pod's
 * nomination is no longer valid.
 */
export type PreemptionResult = Candidate | {readonly text: string; readonly clearNominatedNode: boolean};

/** Whether a pod is terminating because of a preemption. */
const isPreemptionVictim = ({pod}: PodInfo): boolean =>
  pod.metadata?.deletionTimestamp !== undefined &&
  pod.status?.conditions?.find(({type}) => type === 'DisruptionTarget')?.status === 'True' &&
  pod.status.conditions.some(({type, reason}) => type === 'DisruptionTarget' && reason === 'PreemptionByScheduler');

/** Returns why a pod may not preempt; it waits while victims on its nominated node are terminating. */
const ineligibleReason = (
  pod: PodInfo,
  nominatedNode: string | undefined,
  {diagnosis}: FilterResult,
  {node}: Cluster,
): string | undefined => {
  if (pod.pod.spec?.preemptionPolicy === 'Never') return 'not eligible due to preemptionPolicy=Never.';
  if (!nominatedNode || diagnosis.byNode.get(nominatedNode)?.unresolvable) return undefined;
  const leaving = [...(node(nominatedNode)?.pods.values() ?? [])].some(other => other.priority < pod.priority && isPreemptionVictim(other));
  return leaving ? 'not eligible due to a terminating pod on the nominated node.' : undefined;
};

/** The least number of candidates to compare, or that share of all nodes. */
const minCandidates = 100;
const candidateShare = 0.1;

/** Finds the victims of lowest cost whose eviction makes the pod fit. `nominatedNode` is the pod's nominated node. */
export const findVictims = function* (
  pod: PodInfo,
  nominatedNode: string | undefined,
  filterResult: FilterResult,
  search: PreemptionSearch,
): Steps<PreemptionResult> {
  const {cluster, random} = search;
  const text = ineligibleReason(pod, nominatedNode, filterResult, cluster);
  if (text !== undefined) return {text, clearNominatedNode: false};
  const {diagnosis, filterSet} = filterResult;
  const isUnresolvable = (name: string) => (diagnosis.byNode.get(name) ?? diagnosis.rest)?.unresolvable ?? true;
  const nodes = cluster.nodes.filter(({name}) => !isUnresolvable(name));
  const enough = Math.min(nodes.length, Math.max(minCandidates, Math.floor(nodes.length * candidateShare)));
  const start = Math.floor(random.float() * nodes.length);
  const candidates: Candidate[] = [];
  const byNode = new Map<string, Rejection>();
  let hasNonViolating = false;
  for (let at = 0; at < nodes.length && !(hasNonViolating && candidates.length >= enough); at++) {
    const node = nodes[(start + at) % nodes.length]!;
    const outcome = (yield* evaluateNode(filterSet, node)) ?? selectVictims(node, filterSet, search);
    if (isCandidate(outcome)) {
      candidates.push(outcome);
      hasNonViolating ||= outcome.violations === 0;
    } else byNode.set(node.name, outcome);
    yield;
  }
  const best = yield* leastLoss(candidates);
  return (
    best ?? {
      text: yield* fitErrorMessage(cluster.nodes.length, {
        byNode,
        rest: unresolvable('Preemption is not helpful for scheduling'),
        preFilterMessage: undefined,
      }),
      clearNominatedNode: true,
    }
  );
};
