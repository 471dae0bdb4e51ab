// What the services tell of containers and of the node. Pure.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import {isSidecar} from '#src/model/pod/restart.js';
import {noNode, type Device} from '#src/platlet/pod/devices/devices.js';
import type {ContainerDevices} from '#src/platlet/pod/devices/pod-devices.js';
import type {ClaimState} from '#src/platlet/dra/claim-infos.js';
import type {MemoryBlock} from '#src/platlet/memory-manager/state.js';
import {ascending, type CpuSet} from '#src/platlet/topology/cpuset.js';
import type {
  ClaimResourceMessage,
  ContainerResourcesMessage,
  DevicesMessage,
  DynamicResourceMessage,
  MemoryMessage,
  PodResourcesMessage,
} from './messages.js';

/** What the managers have assigned to containers, and what they can assign. */
export interface AssignedOnNode {
  readonly devices: {
    devicesOf(uid: string, container: string): ContainerDevices;
    /** The healthy devices, by resource and id. */
    readonly usable: ReadonlyMap<string, ReadonlyMap<string, Device>>;
  };
  readonly cpus: {exclusiveOf(uid: string, container: string): CpuSet; readonly allocatable: CpuSet};
  readonly memory: {blocksOf(uid: string, container: string): readonly MemoryBlock[]; readonly allocatable: readonly MemoryBlock[]};
  /** Returns the claims whose devices a container has, as far as they are told. */
  claimsOf(pod: Frozen<Pod>, container: Frozen<AnyContainer>): readonly ClaimState[];
}

const deviceMessages = (resourceName: string, id: string, nodes: readonly number[] | undefined): readonly DevicesMessage[] => {
  const deviceIds = [id];
  return nodes === undefined
    ? [{resourceName, deviceIds}]
    : nodes.map(node => ({resourceName, deviceIds, topology: {nodes: [{id: node}]}}));
};

const assignedDevices = (devices: ContainerDevices): readonly DevicesMessage[] =>
  [...devices].flatMap(([resource, assigned]) => {
    const nodes = new Map<string, number[]>();
    for (const [node, ids] of assigned.devices)
      for (const id of ids) nodes.set(id, [...(nodes.get(id) ?? []), ...(node === noNode ? [] : [node])]);
    return [...nodes].flatMap(([id, own]) => deviceMessages(resource, id, own.length > 0 ? own : undefined));
  });

const memoryMessage = ({nodes, type, bytes}: MemoryBlock): MemoryMessage => ({
  memoryType: type,
  size: bytes,
  topology: {nodes: nodes.map(id => ({id}))},
});

/** Returns the devices of a claim. Each has the names of those before it of its driver too, as in the original. */
const claimResources = ({drivers}: ClaimState): readonly ClaimResourceMessage[] =>
  [...drivers].flatMap(([driverName, devices]) =>
    devices.map(({pool, device, share}, at) => ({
      cdiDevices: devices.slice(0, at + 1).flatMap(({cdiIds}) => cdiIds.map(name => ({name}))),
      driverName,
      poolName: pool,
      deviceName: device,
      ...(share === undefined ? {} : {shareId: share}),
    })),
  );

const dynamicResource = (claim: ClaimState): DynamicResourceMessage => ({
  claimName: claim.name,
  claimNamespace: claim.namespace,
  claimResources: claimResources(claim),
});

const containerResourcesOf = (assigned: AssignedOnNode, pod: Frozen<Pod>, container: Frozen<AnyContainer>): ContainerResourcesMessage => {
  const {devices, cpus, memory} = assigned;
  const uid = pod.metadata?.uid ?? '';
  const {name} = container;
  return {
    name,
    devices: assignedDevices(devices.devicesOf(uid, name)),
    cpuIds: ascending(cpus.exclusiveOf(uid, name)),
    memory: memory.blocksOf(uid, name).map(memoryMessage),
    dynamicResources: assigned.claimsOf(pod, container).map(dynamicResource),
  };
};

/** Returns what the containers of a pod have: sidecars and regular ones. */
export const podResourcesOf = (assigned: AssignedOnNode, pod: Frozen<Pod>): PodResourcesMessage => {
  const {metadata: {name = '', namespace = ''} = {}, spec} = pod;
  const containers: readonly Frozen<AnyContainer>[] = [...(spec?.initContainers ?? []).filter(isSidecar), ...(spec?.containers ?? [])];
  return {name, namespace, containers: containers.map(container => containerResourcesOf(assigned, pod, container))};
};

/** Returns what the node has for containers, whether they have it or not. */
export const allocatableResources = ({
  devices,
  cpus,
  memory,
}: AssignedOnNode): Omit<ContainerResourcesMessage, 'name' | 'dynamicResources'> => ({
  devices: [...devices.usable].flatMap(([resource, all]) => [...all].flatMap(([id, {nodes}]) => deviceMessages(resource, id, nodes))),
  cpuIds: ascending(cpus.allocatable),
  memory: memory.allocatable.map(memoryMessage),
});

/** Returns what the older service tells of a pod: the devices of regular containers. */
export const alphaPodResources = (
  {devices}: AssignedOnNode,
  {metadata: {uid = '', name = '', namespace = ''} = {}, spec}: Frozen<Pod>,
): {
  readonly name: string;
  readonly namespace: string;
  readonly containers: readonly {readonly name: string; readonly devices: readonly Pick<DevicesMessage, 'resourceName' | 'deviceIds'>[]}[];
} => ({
  name,
  namespace,
  containers: (spec?.containers ?? []).map(container => ({
    name: container.name,
    devices: assignedDevices(devices.devicesOf(uid, container.name)).map(({resourceName, deviceIds}) => ({resourceName, deviceIds})),
  })),
});
