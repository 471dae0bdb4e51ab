// The Node object of a simulated machine: identity, capacity, addresses, conditions and taints.

import {createHash} from 'node:crypto';
import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import {isNodesOwnLabel} from '#src/api/node/labels.js';
import type {Node} from '#src/api/types.js';
import type {DeviceCapacity} from '#src/platlet/node/capacity.js';
import {nodeConditions, type NodeFailures, type NodeStatus} from '#src/platlet/node/conditions.js';

/** A simulated machine. */
export interface Machine {
  readonly name: string;
  readonly ids: MachineIds;
  /** At most one per family; the first is the primary one. */
  readonly addresses: readonly string[];
  /** A host name that resolves to its agent. */
  readonly hostname?: string;
  readonly capacity: Readonly<Record<string, string>>;
  readonly allocatable: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly taints: readonly {readonly key: string; readonly value?: string; readonly effect: string}[];
  /** When it is switched off and on again, in ms after its start. */
  readonly outage?: {readonly from: number; readonly to: number};
  /** The maximum number of attachable volumes of the simulated driver. */
  readonly maxVolumes?: number;
  /** The port of its agent. */
  readonly port: number;
  /** The version that its agent reports. */
  readonly version: string;
}

const hex = (text: string): string => createHash('sha256').update(text).digest('hex');
const uuid = (text: string): string => hex(text).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');

export interface MachineIds {
  readonly machineID: string;
  readonly systemUUID: string;
  readonly bootID: string;
}

/** Returns the ids of a machine, derived from its name. */
export const machineIds = (name: string): MachineIds => ({
  machineID: hex(`machine/${name}`).slice(0, 32),
  systemUUID: uuid(`system/${name}`),
  bootID: uuid(`boot/${name}`),
});

export interface Image {
  readonly names: readonly string[];
  readonly sizeBytes: number;
}

const amounts = (counts: ReadonlyMap<string, number>): Record<string, string> =>
  Object.fromEntries([...counts].map(([name, count]) => [name, String(count)]));

/** Returns a machine with the devices that plugins on it report. */
export const withDevices = (machine: Machine, {capacity, allocatable}: Omit<DeviceCapacity, 'removed'>): Machine => ({
  ...machine,
  capacity: {...machine.capacity, ...amounts(capacity)},
  allocatable: {...machine.allocatable, ...amounts(allocatable)},
});

/** Returns the status of the node at `now`; fields and conditions set by others are kept, and shared with `before`. */
export const nodeStatus = (
  naming: Naming,
  machine: Machine,
  failures: NodeFailures,
  images: readonly Image[],
  before: Frozen<NodeStatus> | undefined,
  now: number,
): NodeStatus => {
  const {ids, addresses, hostname, capacity, allocatable, port, version} = machine;
  return {
    ...(before as NodeStatus | undefined),
    addresses: [
      ...addresses.map(address => ({type: 'InternalIP', address})),
      ...(hostname === undefined ? [] : [{type: 'Hostname', address: hostname}]),
    ],
    // Resources advertised by others, such as device plugins, are allocatable.
    capacity: {...before?.capacity, ...capacity},
    allocatable: {...before?.capacity, ...allocatable},
    conditions: nodeConditions(naming, failures, before?.conditions, now),
    ...(images.length > 0 ? {images: images.map(({names, sizeBytes}) => ({names: [...names], sizeBytes}))} : {}),
    daemonEndpoints: {kubeletEndpoint: {Port: port}},
    nodeInfo: {
      ...ids,
      kernelVersion: '6.12.0-simulated',
      osImage: 'Simulated Linux',
      containerRuntimeVersion: 'simulated://1.0.0',
      kubeletVersion: version,
      kubeProxyVersion: '',
      operatingSystem: 'linux',
      architecture: 'amd64',
    },
    features: {supplementalGroupsPolicy: true},
  };
};

/** Returns the labels that only an administrator may set on a node. */
export const adminLabels = (naming: Naming, {labels}: Machine): Record<string, string> =>
  Object.fromEntries(Object.entries(labels).filter(([key]) => !isNodesOwnLabel(key, naming)));

/** Returns the Node that the agent registers. */
export const newNode = (naming: Naming, machine: Machine, failures: NodeFailures, now: number): Node => {
  const {name, labels, annotations, taints} = machine;
  return {
    metadata: {
      name,
      labels: {
        [naming.labels.hostname]: name,
        [naming.labels.os]: 'linux',
        [naming.labels.arch]: 'amd64',
        // The taints that the node controller would add to a new node.
        [naming.subKey('beta', 'os')]: 'linux',
        [naming.subKey('beta', 'arch')]: 'amd64',
        ...Object.fromEntries(Object.entries(labels).filter(([key]) => isNodesOwnLabel(key, naming))),
      },
      annotations: {...annotations, [naming.subKey('volumes', 'controller-managed-attach-detach')]: 'true'},
    },
    ...(taints.length > 0 ? {spec: {taints: taints.map(taint => ({...taint}))}} : {}),
    status: nodeStatus(naming, machine, failures, [], undefined, now),
  };
};
