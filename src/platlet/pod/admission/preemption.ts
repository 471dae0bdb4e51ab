// Which pods make room for a critical one.

import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {compareQuantities, parseQuantity, quantityMilliValue, subtractQuantities, zeroQuantity, type Quantity} from '#src/api/quantity.js';
import {podQosClass, type PodQosClass} from '#src/model/pod/qos.js';
import {podRequests, type ResourceList} from '#src/model/pod/requests.js';
import type {Shortage} from './allocation.js';
import {isCritical} from '#src/platlet/pod/origin.js';

const priorityOf = ({spec}: Frozen<Pod>): number => spec?.priority ?? 0;

/** Whether a critical pod may take the place of another one. */
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

/** How much is still lacking after a pod has gone, relative to what was lacking. */
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
 * Takes the pods that leave the least lacking, until nothing lacks. Returns undefined if all of them are not enough.
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
 * Returns the pods that make room for a critical one: as few guaranteed ones as possible, then as few burstable ones,
 * then as few others. Undefined if no choice of them is enough, or the pod is not critical.
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

const capitalized = (word: string): string => `${word.charAt(0).toUpperCase()}${word.slice(1)}`;

/** The reason and the message of a pod that makes room for a critical one. */
export const preempted = {reason: 'Preempting', message: 'Preempted in order to admit critical pod'} as const;

/** The condition of such a pod. */
export const preemptedCondition = (naming: Naming) => ({
  type: 'DisruptionTarget',
  status: 'True',
  reason: `TerminationBy${capitalized(naming.agent)}`,
  message: `Pod was preempted by ${capitalized(naming.agent)} to accommodate a critical pod.`,
});
