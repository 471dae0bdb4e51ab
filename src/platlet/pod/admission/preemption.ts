// Selects the victims of preemption for a critical pod.

import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {compareQuantities, parseQuantity, quantityMilliValue, subtractQuantities, zeroQuantity, type Quantity} from '#src/api/quantity.js';
import {podQosClass, type PodQosClass} from '#src/model/pod/qos.js';
import {podRequests, type ResourceList} from '#src/model/pod/requests.js';
import {disruptedCondition, type ConditionState} from '#src/platlet/pod/conditions.js';
import type {Shortage} from './allocation.js';
import {isCritical} from '#src/platlet/pod/origin.js';

const priorityOf = ({spec}: Frozen<Pod>): number => spec?.priority ?? 0;

/** Whether a critical pod may preempt another one. */
const isPreemptible = (naming: Naming, preemptor: Frozen<Pod>, pod: Frozen<Pod>): boolean =>
  isCritical(naming, preemptor) && (!isCritical(naming, pod) || priorityOf(preemptor) > priorityOf(pod));

const one = parseQuantity('1');

const amountOf = (name: string, requests: ResourceList): Quantity => (name === 'pods' ? one : (requests.get(name) ?? zeroQuantity));

interface Candidate {
  readonly pod: Frozen<Pod>;
  readonly requests: ResourceList;
  readonly qos: PodQosClass;
}

const without = (shortage: Shortage, {requests}: Candidate): Shortage => {
  const left = new Map<string, Quantity>();
  for (const [name, amount] of shortage) {
    const rest = subtractQuantities(amount, amountOf(name, requests));
    if (compareQuantities(rest, zeroQuantity) > 0) left.set(name, rest);
  }
  return left;
};

/**
 * Returns how far a shortage is from being covered if a pod is preempted: the sum of squares of the remaining
 * fractions.
 */
const distance = (shortage: Shortage, candidate: Candidate): number => {
  const left = without(shortage, candidate);
  let sum = 0;
  for (const [name, amount] of left) {
    const needed = Number(quantityMilliValue(shortage.get(name)!));
    sum += (Number(quantityMilliValue(amount)) / needed) ** 2;
  }
  return sum;
};

const total = (candidate: Candidate): number =>
  [...candidate.requests.values()].reduce((sum, amount) => sum + Number(quantityMilliValue(amount)), 0);

/**
 * Selects pods until the shortage is covered, each time the one that leaves the smallest remaining shortage. Returns
 * undefined if all of them are not enough.
 */
const choose = (candidates: readonly Candidate[], shortage: Shortage): Candidate[] | undefined => {
  const left = [...candidates];
  const chosen: Candidate[] = [];
  let lacking = shortage;
  while (lacking.size > 0) {
    if (left.length === 0) return undefined;
    let [best, bestDistance] = [0, Infinity];
    for (const [index, candidate] of left.entries()) {
      const own = distance(lacking, candidate);
      if (own < bestDistance || (own === bestDistance && total(candidate) < total(left[best]!))) [best, bestDistance] = [index, own];
    }
    const [taken] = left.splice(best, 1) as [Candidate];
    chosen.push(taken);
    lacking = without(lacking, taken);
  }
  return chosen;
};

const lackingAfter = (shortage: Shortage, candidates: readonly Candidate[]): Shortage => candidates.reduce(without, shortage);

/**
 * Returns the pods to preempt for a critical one: as few Guaranteed ones as possible, then as few Burstable ones, then
 * as few BestEffort ones. Undefined if all of them are not enough, or the pod is not critical.
 */
export const preemptionVictims = (
  naming: Naming,
  preemptor: Frozen<Pod>,
  pods: readonly Frozen<Pod>[],
  shortage: Shortage,
): readonly Frozen<Pod>[] | undefined => {
  const candidates = pods
    .filter(pod => isPreemptible(naming, preemptor, pod))
    .map((pod): Candidate => ({pod, requests: podRequests(pod, {podLevel: true}), qos: podQosClass(pod as Pod)}));
  const of = (qos: PodQosClass) => candidates.filter(candidate => candidate.qos === qos);
  const [bestEffort, burstable, guaranteed] = [of('BestEffort'), of('Burstable'), of('Guaranteed')];
  const first = choose(guaranteed, lackingAfter(shortage, [...burstable, ...bestEffort]));
  if (!first) return undefined;
  const second = choose(burstable, lackingAfter(shortage, [...bestEffort, ...first]));
  if (!second) return undefined;
  const third = choose(bestEffort, lackingAfter(shortage, [...second, ...first]));
  return third && [...third, ...second, ...first].map(({pod}) => pod);
};

/** The status reason and message of a preempted pod. */
export const preemptedOutcome = {reason: 'Preempting', message: 'Preempted in order to admit critical pod'} as const;

/** The condition of a preempted pod. */
export const preemptedCondition = (naming: Naming): ConditionState => {
  const agent = `${naming.agent.charAt(0).toUpperCase()}${naming.agent.slice(1)}`;
  return disruptedCondition(naming, `Pod was preempted by ${agent} to accommodate a critical pod.`);
};
