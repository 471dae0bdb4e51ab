// The resources of pods and their containers that can be resized. Pure.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod, ResourceRequirements} from '#src/api/pod.js';
import {canonicalQuantity, compareQuantities, parseQuantity, quantityMilliValue, quantityValue, zeroQuantity} from '#src/api/quantity.js';
import {isSidecar} from '#src/model/pod/restart.js';

export type Requirements = Frozen<ResourceRequirements>;

/** The resources of a pod: of its containers by name, and of the pod itself. */
export interface PodResources {
  readonly containers: Readonly<Record<string, Requirements>>;
  readonly pod?: Requirements | undefined;
}

type Amounts = Readonly<Record<string, string>>;

const sameAmounts = (a: Amounts = {}, b: Amounts = {}): boolean =>
  Object.keys(a).length === Object.keys(b).length &&
  Object.keys(a).every(name => b[name] !== undefined && compareQuantities(parseQuantity(a[name]!), parseQuantity(b[name])) === 0);

/** Whether requests and limits are the same amounts, however they are written. */
export const sameRequirements = (a: Requirements = {}, b: Requirements = {}): boolean =>
  a === b || (sameAmounts(a.requests, b.requests) && sameAmounts(a.limits, b.limits));

const ordered = <A>(items: Readonly<Record<string, A>>, map: (item: A) => A): Record<string, A> =>
  Object.fromEntries(
    Object.keys(items)
      .sort()
      .map(key => [key, map(items[key]!)]),
  );

/** Returns requirements in the order and form in which the original writes them. */
export const orderedRequirements = ({limits, requests, claims}: Requirements): Requirements => ({
  ...(limits && Object.keys(limits).length > 0 ? {limits: ordered(limits, canonicalQuantity)} : {}),
  ...(requests && Object.keys(requests).length > 0 ? {requests: ordered(requests, canonicalQuantity)} : {}),
  ...(claims?.length ? {claims} : {}),
});

/** Returns the resources of a pod. `podLevel`: whether those of the pod itself can be resized. */
export const resourcesOf = ({spec}: Frozen<Pod>, podLevel: boolean): PodResources => ({
  containers: Object.fromEntries(
    [...spec!.containers, ...(spec!.initContainers ?? []).filter(isSidecar)].map(({name, resources = {}}) => [name, resources]),
  ),
  ...(podLevel && spec!.resources ? {pod: spec!.resources} : {}),
});

/** Returns a pod with the given resources in the place of its own: the same pod if they are equal. */
export const withResources = (pod: Frozen<Pod>, given: PodResources | undefined, podLevel: boolean): Frozen<Pod> => {
  if (!given) return pod;
  const {spec} = pod;
  let isChanged = false;
  const replaced = <C extends Frozen<AnyContainer>>(container: C): C => {
    const own = given.containers[container.name];
    if (!own || sameRequirements(own, container.resources)) return container;
    isChanged = true;
    return {...container, resources: own};
  };
  const containers = spec!.containers.map(replaced);
  const initContainers = spec!.initContainers?.map(replaced);
  const whole = podLevel && !sameRequirements(given.pod, spec!.resources);
  if (!isChanged && !whole) return pod;
  const {resources, ...rest} = spec!;
  const ofPod = whole ? given.pod : resources;
  return {...pod, spec: {...rest, containers, ...(initContainers ? {initContainers} : {}), ...(ofPod ? {resources: ofPod} : {})}};
};

/** Amounts of cpu in thousandths, of memory in bytes; 0 for none. */
export interface CpuAndMemory {
  readonly cpuRequest: number;
  readonly cpuLimit: number;
  readonly memoryRequest: number;
  readonly memoryLimit: number;
}

const quantityIn = (amounts: Amounts | undefined, name: string) =>
  amounts?.[name] === undefined ? zeroQuantity : parseQuantity(amounts[name]);

/** Returns the limits of a container: those that it does not state are the pod's. */
export const limitsWithin = (pod: Requirements | undefined, {limits = {}}: Requirements): Amounts => {
  const found = {...limits};
  for (const name of ['cpu', 'memory']) {
    const ofPod = pod?.limits?.[name];
    if (ofPod !== undefined && compareQuantities(quantityIn(found, name), zeroQuantity) === 0) found[name] = ofPod;
  }
  return found;
};

const withAmount = (amounts: Amounts | undefined, from: Amounts | undefined, name: string): Amounts | undefined => {
  const {[name]: _, ...others} = amounts ?? {};
  const amount = from?.[name];
  const result = amount === undefined ? others : {...others, [name]: amount};
  return Object.keys(result).length > 0 ? result : undefined;
};

/** Returns requirements that have of one of cpu and memory what is wanted, and of the other what was before. */
export const withAmountsOf = (wanted: Requirements, before: Requirements, resource: 'cpu' | 'memory'): Requirements => {
  const other = resource === 'cpu' ? 'memory' : 'cpu';
  const requests = withAmount(wanted.requests, before.requests, other);
  const limits = withAmount(wanted.limits, before.limits, other);
  return {...(limits ? {limits} : {}), ...(requests ? {requests} : {}), ...(wanted.claims ? {claims: wanted.claims} : {})};
};

/** Returns the amounts of what can be resized. */
export const cpuAndMemoryOf = ({requests, limits}: Requirements = {}): CpuAndMemory => ({
  cpuRequest: Number(quantityMilliValue(quantityIn(requests, 'cpu'))),
  cpuLimit: Number(quantityMilliValue(quantityIn(limits, 'cpu'))),
  memoryRequest: Number(quantityValue(quantityIn(requests, 'memory'))),
  memoryLimit: Number(quantityValue(quantityIn(limits, 'memory'))),
});

const members = ['cpuRequest', 'cpuLimit', 'memoryRequest', 'memoryLimit'] as const;

export const sameCpuAndMemory = (a: CpuAndMemory, b: CpuAndMemory): boolean => members.every(name => a[name] === b[name]);
