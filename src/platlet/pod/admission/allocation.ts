// The accounting of allocated resources, host ports and pod slots of a node.

import type {Frozen} from '#src/api/key.js';
import type {Pod, PodSpec} from '#src/api/pod.js';
import {
  compareQuantities,
  parseQuantity,
  quantityMilliValue,
  quantityValue,
  zeroQuantity,
  addQuantities,
  subtractQuantities,
  type Quantity,
} from '#src/api/quantity.js';
import {podRequests, type ResourceList} from '#src/model/pod/requests.js';
import type {Rejection} from './rejection.js';

/** The resources and host ports that the pods of a node use. */
export interface NodeAllocation {
  readonly used: ResourceList;
  readonly ports: Set<string>;
  pods: number;
}
export const emptyAllocation = (): NodeAllocation => ({used: new Map(), ports: new Set(), pods: 0});

/** Returns the host ports of a pod, formatted with protocol and port. */
const portsOf = ({containers, initContainers = []}: Frozen<PodSpec>): {readonly ip: string; readonly key: string}[] =>
  [...containers, ...initContainers.filter(({restartPolicy}) => restartPolicy === 'Always')].flatMap(({ports = []}) =>
    ports
      .filter(({hostPort}) => hostPort)
      .map(({hostPort, hostIP, protocol = 'TCP'}) => ({ip: hostIP || '0.0.0.0', key: `${protocol}/${hostPort}`})),
  );

/** The allocation of one pod. */
export interface PodAllocation {
  readonly amounts: ResourceList;
  readonly ports: readonly string[];
}

const change = (node: NodeAllocation, amounts: ResourceList, by: (a: Quantity, b: Quantity) => Quantity): void => {
  for (const [name, amount] of amounts) node.used.set(name, by(node.used.get(name) ?? zeroQuantity, amount));
};

/** Returns the allocation of a node without that of one of its pods. */
export const withoutPod = ({used, ports, pods}: NodeAllocation, {amounts, ports: own}: PodAllocation): NodeAllocation => {
  const rest: NodeAllocation = {used: new Map(used), ports: new Set(ports), pods};
  releaseAllocation(rest, {amounts, ports: own});
  return rest;
};

/** Allocates the resources of a pod, even beyond the allocatable ones. */
export const allocate = (node: NodeAllocation, pod: Frozen<Pod>): PodAllocation => {
  const allocation = {
    amounts: podRequests(pod, {podLevel: true}),
    ports: portsOf(pod.spec!).map(({ip, key}) => `${key}/${ip}/${pod.metadata?.uid}`),
  };
  node.pods++;
  change(node, allocation.amounts, addQuantities);
  for (const port of allocation.ports) node.ports.add(port);
  return allocation;
};

/** Releases the resources of a pod. */
export const releaseAllocation = (node: NodeAllocation, {amounts, ports}: PodAllocation): void => {
  node.pods--;
  change(node, amounts, subtractQuantities);
  for (const port of ports) node.ports.delete(port);
};

type Capacity = Readonly<Record<string, string>>;

/** Formats an amount for messages: cpu in millicores, everything else in units. */
const formatAmount = (name: string, amount: Quantity): bigint => (name === 'cpu' ? quantityMilliValue(amount) : quantityValue(amount));

const outOfResource = (name: string, requested: bigint | number, used: bigint | number, capacity: bigint | number): Rejection => ({
  reason: `OutOf${name}`,
  message: `Node didn't have enough resource: ${name}, requested: ${requested}, used: ${used}, capacity: ${capacity}`,
});

const isTaken = (node: NodeAllocation, {ip, key}: {readonly ip: string; readonly key: string}): boolean => {
  for (const taken of node.ports) {
    if (!taken.startsWith(`${key}/`)) continue;
    const other = taken.slice(key.length + 1, taken.lastIndexOf('/'));
    if (ip === '0.0.0.0' || other === '0.0.0.0' || ip === other) return true;
  }
  return false;
};

/**
 * Returns the first resource that is insufficient for a pod; undefined if there is none. Extended resources unknown to
 * the node are ignored.
 */
export const insufficientResource = (node: NodeAllocation, allocatable: Capacity, pod: Frozen<Pod>): Rejection | undefined => {
  const maxPods = Number(allocatable['pods'] ?? 0);
  if (node.pods + 1 > maxPods) return outOfResource('pods', 1, node.pods, maxPods);
  for (const [name, amount] of podRequests(pod, {podLevel: true})) {
    const text = allocatable[name];
    if (compareQuantities(amount, zeroQuantity) === 0 || (text === undefined && name.includes('/'))) continue;
    const used = node.used.get(name) ?? zeroQuantity;
    const capacity = parseQuantity(text ?? '0');
    if (compareQuantities(addQuantities(used, amount), capacity) > 0)
      return outOfResource(name, formatAmount(name, amount), formatAmount(name, used), formatAmount(name, capacity));
  }
  return undefined;
};

/** The amounts that a node lacks for a pod, by resource, including `pods`. */
export type Shortage = ReadonlyMap<string, Quantity>;

/** Returns all amounts that a node lacks for a pod. */
export const shortageOf = (node: NodeAllocation, allocatable: Capacity, pod: Frozen<Pod>): Shortage => {
  const lacking = new Map<string, Quantity>();
  const compare = (name: string, wanted: Quantity, used: Quantity): void => {
    const rest = subtractQuantities(addQuantities(used, wanted), parseQuantity(allocatable[name] ?? '0'));
    if (compareQuantities(rest, zeroQuantity) > 0) lacking.set(name, rest);
  };
  compare('pods', parseQuantity('1'), parseQuantity(String(node.pods)));
  for (const [name, amount] of podRequests(pod, {podLevel: true})) {
    if (compareQuantities(amount, zeroQuantity) === 0 || (allocatable[name] === undefined && name.includes('/'))) continue;
    compare(name, amount, node.used.get(name) ?? zeroQuantity);
  }
  return lacking;
};

/** Whether a host port of the pod is allocated already. */
export const portsConflict = (node: NodeAllocation, {spec}: Frozen<Pod>): boolean => portsOf(spec!).some(port => isTaken(node, port));
