import type {Pod, PodSpec, ResourceRequirements} from '#src/api/pod.js';
import {addQuantities, compareQuantities, parseQuantity, zeroQuantity} from '#src/api/quantity.js';
import type {ResourceList} from './requests.js';

export type PodQosClass = 'Guaranteed' | 'Burstable' | 'BestEffort';

const qosResources = ['cpu', 'memory'] as const;

/** Adds what counts, amounts of cpu and memory above zero, and tells whether both were there. */
const addQosResources = (sums: ResourceList, list: Readonly<Record<string, string>> = {}): boolean => {
  let found = 0;
  for (const name of qosResources) {
    const amount = list[name] === undefined ? zeroQuantity : parseQuantity(list[name]);
    if (compareQuantities(amount, zeroQuantity) <= 0) continue;
    sums.set(name, addQuantities(sums.get(name) ?? zeroQuantity, amount));
    found++;
  }
  return found === qosResources.length;
};

/** Whose requests decide: the pod's as a whole where it has any of its own, else each container's. */
const qosRequirements = ({resources, containers, initContainers}: Readonly<PodSpec>): readonly ResourceRequirements[] =>
  resources ? [resources] : [...(containers ?? []), ...(initContainers ?? [])].map(container => container.resources ?? {});

/** How a pod is served when a node runs short (the API reference, pod quality of service classes). */
export const qosClassOf = (spec: Readonly<PodSpec>): PodQosClass => {
  const requests: ResourceList = new Map();
  const limits: ResourceList = new Map();
  let limitsComplete = true;
  for (const one of qosRequirements(spec)) {
    addQosResources(requests, one.requests);
    limitsComplete = addQosResources(limits, one.limits) && limitsComplete;
  }
  if (requests.size === 0 && limits.size === 0) return 'BestEffort';
  const equal = requests.size === limits.size && [...requests].every(([name, amount]) => limits.has(name) && compareQuantities(limits.get(name)!, amount) === 0);
  return limitsComplete && equal ? 'Guaranteed' : 'Burstable';
};

/** The class in the status, or the one that the spec makes. */
export const podQosClass = ({spec, status}: Readonly<Pod>): PodQosClass => (status?.qosClass as PodQosClass | undefined) || qosClassOf(spec!);
