// Part of the sixth stage of an agent: the volumes of its pods, of all types that are implemented in tree.

import {parseQuantity, quantityNumber} from '#src/api/quantity.js';
import type {NodeFolders} from '#src/platlet/host/folders.js';
import {volumeLabels} from '#src/platlet/volumes/volume-labels.js';
import {Claims} from '#src/platlet/volumes/claims.js';
import {ContainerMounts, type ContainerMountsParts} from '#src/platlet/volumes/container-mounts.js';
import {emptyDir} from '#src/platlet/volumes/empty-dir.js';
import {hostPath, localVolume} from '#src/platlet/volumes/host-path.js';
import {imageVolume} from '#src/platlet/volumes/image.js';
import {VolumeOperation} from '#src/platlet/volumes/operation.js';
import {payloadVolumes} from '#src/platlet/volumes/payload-volumes.js';
import {Payloads} from '#src/platlet/volumes/payloads.js';
import type {PodSources} from '#src/platlet/sources/pod-sources.js';
import type {VolumePlugin} from '#src/platlet/volumes/plugin.js';
import {NodeVolumes} from '#src/platlet/volumes/pod-volumes.js';
import {VolumeResolver} from '#src/platlet/volumes/resolver.js';
import {StorageOperations} from '#src/platlet/volumes/storage-operations.js';
import type {PodTokens} from '#src/platlet/volumes/tokens.js';
import {VolumeFolders} from '#src/platlet/volumes/volume-folders.js';
import {excludesSwapOn} from '#src/platlet/volumes/swap.js';
import type {UserNamespaces} from '#src/platlet/user-namespaces/user-namespaces.js';
import type {Cluster} from './cluster.js';
import type {NodeStage} from './node.js';
import type {NodeStorage} from './node-storage.js';
import type {AgentParts} from './parts.js';
import {podCredentials, type PodCredentials} from './pod-credentials.js';
import type {PodInputs} from './pod-objects.js';

/** The volumes of a node's pods, and their mounts in containers. */
export interface PodVolumesStage {
  readonly volumes: NodeVolumes;
  readonly mounts: ContainerMounts;
  /** The tokens of pods, which are forgotten with their volumes. */
  readonly tokens: PodTokens;
}

/** The results of the earlier stages. */
interface Before {
  readonly folders: NodeFolders;
  readonly cluster: Pick<Cluster, 'events' | 'informers' | 'registered'>;
  readonly sources: Pick<PodSources, 'all'>;
  readonly users: UserNamespaces | undefined;
  readonly storage: Pick<NodeStorage, 'plugin' | 'tokens'>;
  readonly node: Pick<NodeStage, 'allocatable' | 'health'>;
  readonly inputs: Pick<PodInputs, 'objects' | 'handlerOf'>;
}

/** Creates the volumes of pods. */
export const podVolumes = (parts: AgentParts, before: Before, signal: AbortSignal): PodVolumesStage => {
  const {clients, clock, log, meter, naming, host} = parts;
  const {folders, cluster, inputs} = before;
  const {tokens} = before.storage;
  const {events} = cluster;
  const {objects} = inputs;
  const credentials = podCredentials(parts, {cluster, pods: () => before.sources.all()}, signal);
  const operations = new StorageOperations(meter, clock, naming);
  const plugins = pluginsOf(parts, {...before, operations}, credentials);
  const resolver = new VolumeResolver({naming, plugins, claims: new Claims(clients.main), node: cluster.registered});
  const labels = volumeLabels(parts.gate, parts);
  const volumes = new NodeVolumes({
    operation: name => new VolumeOperation({resolver, labels, operations, host, clock, log, events, signal}, name),
    folders: new VolumeFolders({host, folders, log, plugins, operations}),
    host,
    objects,
    tokens,
    certificates: credentials.certificates,
    users: before.users,
    clock,
  });
  return {volumes, tokens, mounts: new ContainerMounts({volumes, host, folders, log, mountsRecursively: recursiveMounts(before)})};
};

const pluginsOf = (
  {host, clock, random, identity}: Pick<AgentParts, 'host' | 'clock' | 'random' | 'identity'>,
  {
    folders,
    cluster: {events},
    storage: {plugin: csi, tokens},
    node: {allocatable},
    inputs: {objects},
    operations,
  }: Before & {readonly operations: StorageOperations},
  credentials: PodCredentials,
): readonly VolumePlugin[] => {
  const excludesSwap = excludesSwapOn(identity.machine);
  const allocatableMemory = (): number => quantityNumber(parseQuantity(allocatable()['memory'] ?? '0'));
  const payloads = new Payloads({objects, tokens, ...credentials, allocatable});
  return [
    emptyDir({host, folders, allocatableMemory, excludesSwap}),
    ...payloadVolumes({host, folders, allocatableMemory, excludesSwap, clock, random, payloads, operations}),
    hostPath(host),
    localVolume({host, folders, events, operations}),
    imageVolume,
    csi,
  ];
};

/** Returns a check whether the runtime handler of a pod supports recursive read-only mounts. */
const recursiveMounts =
  ({node: {health}, inputs}: Before): ContainerMountsParts['mountsRecursively'] =>
  async ({spec}) => {
    const name = spec?.runtimeClassName ? await inputs.handlerOf(spec.runtimeClassName) : '';
    return health.status?.handlers?.some(handler => handler.name === name && handler.recursiveReadOnlyMounts) ?? false;
  };
