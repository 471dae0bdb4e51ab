import type {Pod, PodSpec, ResourceRequirements} from '#src/api/pod.js';
import {addQuantities, compareQuantities, parseQuantity, zeroQuantity} from '#src/api/quantity.js';
import type {Amounts} from './requests.js';

export type QualityClass = 'Guaranteed' | 'Burstable' | 'BestEffort';

const counted = ['cpu', 'memory'] as const;

/** Adds what counts, amounts of cpu and memory above zero, and tells whether both were there. */
const addCounted = (sums: Amounts, list: Readonly<Record<string, string>> = {}): boolean => {
  let found = 0;
  for (const name of counted) {
    const amount = list[name] === undefined ? zeroQuantity : parseQuantity(list[name]);
    if (compareQuantities(amount, zeroQuantity) <= 0) continue;
    sums.set(name, addQuantities(sums.get(name) ?? zeroQuantity, amount));
    found++;
  }
  return found === counted.length;
};

/** Whose requests decide: the pod's as a whole where it has any of its own, else each container's. */
const deciding = ({resources, containers, initContainers}: Readonly<PodSpec>): readonly ResourceRequirements[] =>
  resources ? [resources] : [...(containers ?? []), ...(initContainers ?? [])].map(container => container.resources ?? {});

/** How a pod is served when a node runs short (the API reference, pod quality of service classes). */
export const qualityOf = (spec: Readonly<PodSpec>): QualityClass => {
  const requests: Amounts = new Map();
  const limits: Amounts = new Map();
  let held = true;
  for (const one of deciding(spec)) {
    addCounted(requests, one.requests);
    held = addCounted(limits, one.limits) && held;
  }
  if (requests.size === 0 && limits.size === 0) return 'BestEffort';
  const equal = requests.size === limits.size && [...requests].every(([name, amount]) => limits.has(name) && compareQuantities(limits.get(name)!, amount) === 0);
  return held && equal ? 'Guaranteed' : 'Burstable';
};

/** The class in the status, or the one that the spec makes. */
export const podQuality = ({spec, status}: Readonly<Pod>): QualityClass => (status?.qosClass as QualityClass | undefined) || qualityOf(spec!);
