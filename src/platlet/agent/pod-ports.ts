// The sixth stage of an agent: the ports through which pod workers act (configurations, images, volumes, cgroups and
// container output).

import type {ImageAccess} from '#src/platlet/images/image-access.js';
import {ContainerFiles} from '#src/platlet/logs/output.js';
import type {NodeVolumes} from '#src/platlet/volumes/pod-volumes.js';
import type {PodResizes} from '#src/platlet/resize/pod-resizes.js';
import type {WorkerPorts} from '#src/platlet/worker/parts.js';
import type {PodDirectory} from '#src/platlet/worker/pod-directory.js';
import type {AgentHost} from './host.js';
import type {Cluster} from './cluster.js';
import type {NodeStage} from './node.js';
import type {NodeStorage} from './node-storage.js';
import type {ResourceManagers} from '#src/platlet/resource-managers/resource-managers.js';
import type {AgentParts} from './parts.js';
import {userNamespaces} from '#src/platlet/user-namespaces/open.js';
import {podCgroups} from './pod-cgroups.js';
import {podConfigs} from './pod-configs.js';
import {podImages} from './pod-images.js';
import {podInputs} from './pod-objects.js';
import {podVolumes} from './pod-volumes.js';

/** The ports of pods on a machine. */
export interface MachinePorts extends WorkerPorts {
  readonly volumes: NodeVolumes;
  /** Decides which pods may use a present image; undefined if all may. */
  readonly imageAccess: ImageAccess | undefined;
}

/** The results of the earlier stages. */
interface Before {
  readonly host: AgentHost;
  readonly cluster: Cluster;
  readonly storage: NodeStorage;
  readonly node: NodeStage;
  readonly directory: Pick<PodDirectory, 'sources' | 'working'>;
  readonly managers: ResourceManagers;
  readonly resizes: PodResizes;
}

/**
 * Creates the ports of a node's pods, and the cgroups above those of pods. Rejects if the machine does not support
 * them.
 */
export const podPortsOf = async (
  parts: AgentParts,
  {host, cluster, storage, node, directory: {sources, working}, managers, resizes}: Before,
  signal: AbortSignal,
): Promise<MachinePorts> => {
  const {folders, podHierarchy} = host;
  const inputs = podInputs(parts, cluster, signal);
  const users = await userNamespaces(parts, folders, () => node.health.status?.handlers);
  const volumes = podVolumes(parts, {folders, cluster, storage, node, inputs, sources, users}, signal);
  const configs = await podConfigs(parts, {host, cluster, node, inputs, volumes, managers, users});
  const {images, access: imageAccess} = await podImages(parts, {folders, cluster, inputs, tokens: volumes.tokens});
  const cgroups = await podCgroups(parts, {hierarchy: podHierarchy, cluster, node, working, managers}, signal);
  const output = new ContainerFiles(parts.host, folders);
  const healthOf: Pick<WorkerPorts, 'healthOf'> = parts.gate('ResourceHealthStatus')
    ? {healthOf: (pod, container) => managers.healthOf(pod, container)}
    : {};
  return {
    runtime: parts.runtime,
    configs,
    images,
    imageAccess,
    volumes: volumes.volumes,
    cgroups,
    output,
    resizes,
    resourceClaims: managers.claims.manager,
    ...healthOf,
  };
};
