import type {Random} from '#src/base/random.js';
import type {Steps} from '#src/base/steps.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import type {Found, Promised} from '#src/scheduler/fit.js';
import {fitText} from '#src/scheduler/fit-text.js';
import {ruledOut, type Cluster, type Rejection} from '#src/scheduler/plugin.js';
import type {Budgets} from './budgets.js';
import {isCandidate, leastLoss, victimsOn, type Candidate} from './candidates.js';

export interface PreemptionSearch {
  readonly cluster: Cluster;
  readonly promised: Promised;
  readonly random: Random;
  readonly budgets: Budgets;
}

/** What came of looking for pods that could make room: a node with them, or why not. `forget` says that a promise of a node is void. */
export type Preemption = Candidate | {readonly text: string; readonly forget: boolean};

/** Whether a pod is ending because another needed its place. */
const makesRoom = ({pod}: PodInfo): boolean =>
  pod.metadata?.deletionTimestamp !== undefined &&
  pod.status?.conditions?.find(({type}) => type === 'DisruptionTarget')?.status === 'True' &&
  pod.status.conditions.some(({type, reason}) => type === 'DisruptionTarget' && reason === 'PreemptionByScheduler');

/** Why a pod may not make others leave; it waits for those that are leaving for it already. */
const objection = (pod: PodInfo, own: string | undefined, {diagnosis}: Found, {node}: Cluster): string | undefined => {
  if (pod.pod.spec?.preemptionPolicy === 'Never') return 'not eligible due to preemptionPolicy=Never.';
  if (!own || diagnosis.byNode.get(own)?.unresolvable) return undefined;
  const leaving = [...(node(own)?.pods.values() ?? [])].some(other => other.priority < pod.priority && makesRoom(other));
  return leaving ? 'not eligible due to a terminating pod on the nominated node.' : undefined;
};

/** So many nodes that would do are compared at least, or that share of those there are. */
const leastCandidates = 100;
const candidateShare = 0.1;

/** Finds the pods whose leaving loses least and lets a pod fit that fits nowhere. `own` is the node it was promised. */
export const findVictims = function* (pod: PodInfo, own: string | undefined, found: Found, search: PreemptionSearch): Steps<Preemption> {
  const {cluster, random} = search;
  const text = objection(pod, own, found, cluster);
  if (text !== undefined) return {text, forget: false};
  const {diagnosis, checks} = found;
  const isHopeless = (name: string) => (diagnosis.byNode.get(name) ?? diagnosis.rest)?.unresolvable ?? true;
  const nodes = cluster.nodes.filter(({name}) => !isHopeless(name));
  const enough = Math.min(nodes.length, Math.max(leastCandidates, Math.floor(nodes.length * candidateShare)));
  const from = Math.floor(random.float() * nodes.length);
  const candidates: Candidate[] = [];
  const byNode = new Map<string, Rejection>();
  let isClean = false;
  for (let at = 0; at < nodes.length && !(isClean && candidates.length >= enough); at++) {
    const node = nodes[(from + at) % nodes.length]!;
    const outcome = victimsOn(node, checks, search);
    if (isCandidate(outcome)) {
      candidates.push(outcome);
      isClean ||= outcome.violations === 0;
    } else byNode.set(node.name, outcome);
    yield;
  }
  const best = leastLoss(candidates);
  return best ?? {text: fitText(cluster.nodes.length, {byNode, rest: ruledOut('Preemption is not helpful for scheduling'), beforehand: undefined}), forget: true};
};
