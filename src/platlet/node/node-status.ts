// The status of a node on a real machine.

import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Image} from '#src/platlet/runtime/images.js';
import type {RuntimeStatus, RuntimeVersion} from '#src/platlet/runtime/runtime.js';
import type {NodeAddress} from './addresses.js';
import {allocatableOf, capacityOf, type CapacitySettings, type DeviceCapacity} from './capacity.js';
import {nodeConditions, type NodeFailures, type NodeStatus} from './conditions.js';
import type {Machine} from './machine.js';

/** The inputs of a node status. Undefined values could not be determined, and leave the Node's values unchanged. */
export interface NodeFacts {
  readonly machine: Machine;
  readonly settings: CapacitySettings;
  /** The version of the agent. */
  readonly version: string;
  readonly port: number;
  readonly addresses: readonly NodeAddress[] | undefined;
  readonly runtime: RuntimeVersion | undefined;
  readonly runtimeStatus: RuntimeStatus | undefined;
  readonly images: readonly Image[] | undefined;
  /** The maximum number of reported images; −1 for all. */
  readonly maxImages: number;
  readonly failures: NodeFailures;
  /** The volumes in use; undefined while unknown. */
  readonly volumesInUse: readonly string[] | undefined;
  /** The devices of plugins, counted. */
  readonly devices?: DeviceCapacity | undefined;
  /** What the node can do that not every node can; undefined if it declares nothing. */
  readonly declaredFeatures?: readonly string[] | undefined;
}

/** The maximum number of names per image. */
const maxNames = 5;

/** Returns the images of a status: the largest first, with digests before tags. */
export const reportedImages = (images: readonly Image[], maxImages: number): NonNullable<NodeStatus['images']> =>
  [...images]
    .sort((a, b) => b.bytes - a.bytes)
    .slice(0, maxImages < 0 ? undefined : maxImages)
    .map(({digests, tags, bytes}) => ({names: [...digests, ...tags].slice(0, maxNames), sizeBytes: bytes}));

const nodeInfoOf = (
  {machine, version, runtime}: NodeFacts,
  before: Frozen<NodeStatus> | undefined,
): NonNullable<NodeStatus['nodeInfo']> => ({
  machineID: machine.machineId,
  systemUUID: machine.systemId,
  bootID: machine.bootId,
  kernelVersion: machine.kernelVersion,
  osImage: machine.osImage,
  containerRuntimeVersion: runtime ? `${runtime.name}://${runtime.version}` : (before?.nodeInfo?.containerRuntimeVersion ?? ''),
  kubeletVersion: version,
  kubeProxyVersion: '',
  operatingSystem: machine.operatingSystem,
  architecture: machine.architecture,
  ...(machine.swapBytes > 0 ? {swap: {capacity: machine.swapBytes}} : {}),
});

const handlersOf = ({handlers}: RuntimeStatus): Pick<NodeStatus, 'runtimeHandlers'> =>
  handlers
    ? {
        runtimeHandlers: handlers.map(({name, recursiveReadOnlyMounts, userNamespaces}) => ({
          name,
          features: {recursiveReadOnlyMounts, userNamespaces},
        })),
      }
    : {};

/** Why a node is not ready although its runtime is: the capacity of required resources is unknown. */
const missingCapacity = (capacity: Readonly<Record<string, string>>, {localStorage}: CapacitySettings): string | undefined => {
  const missing = ['cpu', 'memory', 'pods', ...(localStorage ? ['ephemeral-storage'] : [])].filter(name => capacity[name] === undefined);
  return missing.length > 0 ? `missing node capacity for resources: ${missing.join(', ')}` : undefined;
};

const amountsOf = (counts: Iterable<readonly [string, number]>): Readonly<Record<string, string>> =>
  Object.fromEntries([...counts].map(([name, count]) => [name, String(count)]));

/** Returns the status of a node; fields, conditions and resources set by others are kept. */
export const nodeStatusOf = (naming: Naming, facts: NodeFacts, before: Frozen<NodeStatus> | undefined, now: number): NodeStatus => {
  const {machine, settings, addresses, port, images, maxImages, runtimeStatus, failures, volumesInUse} = facts;
  const own = capacityOf(machine, settings);
  const {capacity: devices = [], allocatable: usable = [], removed = []} = facts.devices ?? {};
  const capacity = {...before?.capacity, ...own, ...amountsOf(devices), ...amountsOf(removed.map(name => [name, 0]))};
  if (!settings.localStorage) delete capacity['ephemeral-storage'];
  const missing = missingCapacity(capacity, settings);
  const notReady = [failures.notReady, missing].filter(reason => reason !== undefined);
  const {volumesInUse: usedBefore, ...rest} = structuredClone(before ?? {}) as NodeStatus;
  const used = volumesInUse ? [...volumesInUse].sort() : (usedBefore ?? []);
  return {
    ...rest,
    ...(used.length > 0 ? {volumesInUse: used} : {}),
    ...(addresses ? {addresses: addresses.map(address => ({...address}))} : {}),
    capacity,
    allocatable: {...allocatableOf(capacity, settings), ...amountsOf(usable)},
    daemonEndpoints: {kubeletEndpoint: {Port: port}},
    nodeInfo: nodeInfoOf(facts, before),
    ...(images ? {images: reportedImages(images, maxImages)} : {}),
    ...(runtimeStatus ? handlersOf(runtimeStatus) : {}),
    ...(runtimeStatus?.supplementalGroupsPolicy === undefined
      ? {}
      : {features: {supplementalGroupsPolicy: runtimeStatus.supplementalGroupsPolicy}}),
    ...(facts.declaredFeatures ? {declaredFeatures: [...facts.declaredFeatures]} : {}),
    conditions: nodeConditions(
      naming,
      {...failures, ...(notReady.length > 0 ? {notReady: notReady.join(', ')} : {})},
      before?.conditions,
      now,
    ),
  };
};
