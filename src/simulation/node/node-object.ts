// The Node object of a simulated machine: identity, capacity, addresses, conditions and taints.

import {createHash} from 'node:crypto';
import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import {isNodesOwnLabel} from '#src/api/node/labels.js';
import {sameJson} from '#src/api/equal.js';
import {wireTime} from '#src/api/time.js';
import type {Node} from '#src/api/types.js';

type NodeStatus = NonNullable<Node['status']>;
type NodeCondition = NonNullable<NodeStatus['conditions']>[number];

/** A simulated machine. */
export interface Machine {
  readonly name: string;
  /** At most one of each family; the first is the primary one. */
  readonly addresses: readonly string[];
  /** A name that resolves to its agent. */
  readonly hostname?: string;
  readonly capacity: Readonly<Record<string, string>>;
  readonly allocatable: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly taints: readonly {readonly key: string; readonly value?: string; readonly effect: string}[];
  /** When it is switched off, in ms after its start, and when on again. */
  readonly outage?: {readonly from: number; readonly to: number};
  /** The most volumes of the simulated driver that can be attached. */
  readonly maxVolumes?: number;
  /** The port of its agent. */
  readonly port: number;
  /** The release that its agent reports. */
  readonly version: string;
}

/** Simulated failures of a node. */
export interface NodeFailures {
  readonly notReady?: string;
  /** Types of conditions: `MemoryPressure`, `DiskPressure`, `PIDPressure`. */
  readonly pressures: readonly string[];
}

const hex = (text: string): string => createHash('sha256').update(text).digest('hex');
const uuid = (text: string): string => hex(text).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');

/** The machine's ids, derived from its name. */
export const machineIds = (name: string): {readonly machineID: string; readonly systemUUID: string; readonly bootID: string} => ({
  machineID: hex(`machine/${name}`).slice(0, 32),
  systemUUID: uuid(`system/${name}`),
  bootID: uuid(`boot/${name}`),
});

const capitalized = (word: string): string => `${word.charAt(0).toUpperCase()}${word.slice(1)}`;

const pressureTexts = [
  {
    type: 'MemoryPressure',
    well: ['HasSufficientMemory', 'has sufficient memory available'],
    badly: ['HasInsufficientMemory', 'has insufficient memory available'],
  },
  {type: 'DiskPressure', well: ['HasNoDiskPressure', 'has no disk pressure'], badly: ['HasDiskPressure', 'has disk pressure']},
  {
    type: 'PIDPressure',
    well: ['HasSufficientPID', 'has sufficient PID available'],
    badly: ['HasInsufficientPID', 'has insufficient PID available'],
  },
] as const;

/** The event reasons for the beginning and end of each pressure. */
export const pressureEvents = new Map(
  pressureTexts.map(({type, well: healthy, badly: unhealthy}) => [
    type as string,
    {False: `Node${healthy[0]}`, True: `Node${unhealthy[0]}`},
  ]),
);

const conditionsOf = (
  naming: Naming,
  {notReady, pressures}: NodeFailures,
): Omit<NodeCondition, 'lastHeartbeatTime' | 'lastTransitionTime'>[] => {
  const {agent} = naming;
  return [
    ...pressureTexts.map(({type, well: healthy, badly: unhealthy}) => {
      const isPressed = pressures.includes(type);
      const [reason, text] = isPressed ? unhealthy : healthy;
      return {type, status: isPressed ? 'True' : 'False', reason: `${capitalized(agent)}${reason}`, message: `${agent} ${text}`};
    }),
    notReady === undefined
      ? {type: 'Ready', status: 'True', reason: `${capitalized(agent)}Ready`, message: `${agent} is posting ready status`}
      : {type: 'Ready', status: 'False', reason: `${capitalized(agent)}NotReady`, message: notReady},
  ];
};

export interface Image {
  readonly names: readonly string[];
  readonly sizeBytes: number;
}

/** Returns the node's status at `now`; fields and conditions of others are kept. */
export const nodeStatus = (
  naming: Naming,
  machine: Machine,
  failures: NodeFailures,
  images: readonly Image[],
  before: Frozen<NodeStatus> | undefined,
  now: number,
): NodeStatus => {
  const {name, addresses, hostname, capacity, allocatable, port, version} = machine;
  const known = before?.conditions ?? [];
  const own = conditionsOf(naming, failures).map(condition => {
    const old = known.find(({type}) => type === condition.type);
    const lastTransitionTime = old?.status === condition.status && old.lastTransitionTime ? old.lastTransitionTime : wireTime(now);
    return {...condition, lastHeartbeatTime: wireTime(now), lastTransitionTime};
  });
  return {
    ...(structuredClone(before ?? {}) as NodeStatus),
    addresses: [
      ...addresses.map(address => ({type: 'InternalIP', address})),
      ...(hostname === undefined ? [] : [{type: 'Hostname', address: hostname}]),
    ],
    // Resources advertised by others, such as device plugins, are allocatable.
    capacity: {...before?.capacity, ...capacity},
    allocatable: {...before?.capacity, ...allocatable},
    conditions: [
      ...(structuredClone(known) as NodeCondition[]).filter(({type}) => !own.some(condition => condition.type === type)),
      ...own,
    ],
    ...(images.length > 0 ? {images: images.map(({names, sizeBytes}) => ({names: [...names], sizeBytes}))} : {}),
    daemonEndpoints: {kubeletEndpoint: {Port: port}},
    nodeInfo: {
      ...machineIds(name),
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

const withoutHeartbeats = ({conditions = [], ...rest}: Frozen<NodeStatus>): unknown => ({
  ...rest,
  conditions: conditions.map(condition => ({...condition, lastHeartbeatTime: undefined})),
});

/** Whether two statuses differ in more than heartbeats. */
export const statusDiffers = (a: Frozen<NodeStatus> | undefined, b: Frozen<NodeStatus>): boolean =>
  !a || !sameJson(withoutHeartbeats(a), withoutHeartbeats(b));

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
        ...Object.fromEntries(Object.entries(labels).filter(([key]) => isNodesOwnLabel(key, naming))),
        [naming.labels.hostname]: name,
        [naming.labels.os]: 'linux',
        [naming.labels.arch]: 'amd64',
      },
      annotations: {...annotations, [naming.subKey('volumes', 'controller-managed-attach-detach')]: 'true'},
    },
    ...(taints.length > 0 ? {spec: {taints: taints.map(taint => ({...taint}))}} : {}),
    status: nodeStatus(naming, machine, failures, [], undefined, now),
  };
};
