import type {Pod, PodSpec, ResourceRequirements} from '#src/api/pod.js';
import {addQuantities, compareQuantities, parseQuantity, zeroQuantity} from '#src/api/quantity.js';
import type {ResourceList} from './requests.js';

export type PodQosClass = 'Guaranteed' | 'Burstable' | 'BestEffort';

const qosResources = ['cpu', 'memory'] as const;

/** Adds positive amounts of cpu and memory to the sums. Returns whether both are set. */
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

/** Returns the resources that determine the QoS class: the pod's own if set, else each container's. */
const qosRequirements = ({resources, containers, initContainers}: Readonly<PodSpec>): readonly ResourceRequirements[] =>
  resources ? [resources] : [...(containers ?? []), ...(initContainers ?? [])].map(container => container.resources ?? {});

/** Returns the quality of service class of a pod spec (API reference, pod QoS classes). */
export const qosClassOf = (spec: Readonly<PodSpec>): PodQosClass => {
  const requests: ResourceList = new Map();
  const limits: ResourceList = new Map();
  let limitsComplete = true;
  for (const one of qosRequirements(spec)) {
    addQosResources(requests, one.requests);
    limitsComplete = addQosResources(limits, one.limits) && limitsComplete;
  }
  if (requests.size === 0 && limits.size === 0) return 'BestEffort';
  const equal =
    requests.size === limits.size &&
    [...requests].every(([name, amount]) => limits.has(name) && compareQuantities(limits.get(name)!, amount) === 0);
  return limitsComplete && equal ? 'Guaranteed' : 'Burstable';
};

/** Returns the class in the status, or else that of the spec. */
export const podQosClass = ({spec, status}: Readonly<Pod>): PodQosClass =>
  (status?.qosClass as PodQosClass | undefined) || qosClassOf(spec!);
