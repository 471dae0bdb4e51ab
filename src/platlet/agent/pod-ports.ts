// The sixth stage of an agent: what the workers of pods act through (configurations, images, volumes, cgroups and what containers leave).

import {join} from 'node:path';
import {parseQuantity, quantityNumber} from '#src/api/quantity.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Node} from '#src/api/types.js';
import {checkReservation} from '#src/platlet/cgroups/allocatable.js';
import {NodeCgroups} from '#src/platlet/cgroups/node-cgroups.js';
import {listOf, reservationOf} from '#src/platlet/node/capacity.js';
import type {Settings} from '#src/platlet/config/fields.js';
import type {Host} from '#src/platlet/host/host.js';
import {ImageAccess} from '#src/platlet/images/image-access.js';
import {ImagePuller} from '#src/platlet/images/puller.js';
import {PullRecords} from '#src/platlet/images/pull-records.js';
import {verificationOf} from '#src/platlet/images/verification.js';
import {Environments} from '#src/platlet/inputs/environment.js';
import {NodePodConfigs, type PodConfigSettings} from '#src/platlet/inputs/pod-configs.js';
import {runtimeClassHandlers} from '#src/platlet/inputs/runtime-classes.js';
import type {Service} from '#src/platlet/inputs/service-variables.js';
import {ContainerFiles} from '#src/platlet/logs/output.js';
import {measuredCgroups} from '#src/platlet/metrics/cgroups.js';
import {imageSizeRange} from '#src/platlet/metrics/image-sizes.js';
import type {Machine} from '#src/platlet/node/machine.js';
import {podObjects, type PodObjects, type ReadStrategy} from '#src/platlet/objects/pod-objects.js';
import type {PodCgroups, PodPorts} from '#src/platlet/pod/ports.js';
import {Claims} from '#src/platlet/volumes/claims.js';
import {emptyDir} from '#src/platlet/volumes/empty-dir.js';
import {hostPath, localVolume} from '#src/platlet/volumes/host-path.js';
import {payloadVolumes} from '#src/platlet/volumes/payload-volumes.js';
import {Payloads} from '#src/platlet/volumes/payloads.js';
import {NodeVolumes} from '#src/platlet/volumes/pod-volumes.js';
import {PodTokens} from '#src/platlet/volumes/tokens.js';
import type {WorkingPods} from '#src/platlet/worker/working-pods.js';
import type {AgentHost} from './host.js';
import type {Cluster} from './cluster.js';
import type {NodeStage} from './node.js';
import type {AgentParts} from './parts.js';

/** The ports of pods on a machine. */
export interface MachinePorts extends PodPorts {
  readonly volumes: NodeVolumes;
  /** Decides which pods may use which images; undefined if all may. */
  readonly imageAccess: ImageAccess | undefined;
}

/** The values of the stages before. */
interface Before {
  readonly host: AgentHost;
  readonly cluster: Cluster;
  readonly node: NodeStage;
  readonly working: WorkingPods;
}

const thermalThrottle = (cpu: number): string => `/sys/devices/system/cpu/cpu${cpu}/thermal_throttle`;

/** Returns the folders of processors that containers must not see. */
const maskedFolders = async (host: Host, cores: number): Promise<readonly string[]> => {
  const found = await Promise.all(
    Array.from({length: cores}, async (_, cpu) => ((await host.status(thermalThrottle(cpu))) ? [thermalThrottle(cpu)] : [])),
  );
  return found.flat();
};

/** Creates the ports of a node's pods, and the control groups that these are in. Rejects where the machine does not have them. */
export const podPortsOf = async (parts: AgentParts, before: Before, signal: AbortSignal): Promise<MachinePorts> => {
  const {settings, clients, naming, clock, runtime, host} = parts;
  const {node, cluster} = before;
  const {informers} = cluster;
  const {folders} = before.host;
  const runtimeClasses = informers.informer({kind: kinds.runtimeClasses});
  const objects = podObjects({
    client: clients.main,
    clock,
    signal,
    informers,
    strategy: clients.isStandalone ? 'Get' : (settings.configMapAndSecretChangeDetectionStrategy as ReadStrategy),
    cacheMs: () => objectCacheMs(naming, cluster.registered()),
  });
  const handlerOf = clients.isStandalone ? () => Promise.resolve('') : runtimeClassHandlers(naming, runtimeClasses.lister);
  const volumes = volumesOf(parts, before, {objects, handlerOf}, signal);
  const environments = new Environments({
    objects,
    services: servicesOf(parts, cluster),
    naming,
    hostAddresses: () => node.addresses.known,
    allocatable: node.allocatable,
    volumes,
  });
  const configs = new NodePodConfigs({
    host,
    folders,
    random: parts.random,
    events: cluster.events,
    environments,
    volumes,
    handlerOf,
    settings: await configSettings(parts, before.host),
  });
  const imageAccess = await accessOf(parts, before.host);
  const images = imagesOf(parts, cluster, objects, imageAccess);
  const cgroups = await cgroupsOf(parts, before, signal);
  return {runtime, configs, images, imageAccess, volumes, cgroups, output: new ContainerFiles(host, folders)};
};

/** Returns what lists the services of all namespaces: undefined before they were listed once. */
const servicesOf = ({clients}: AgentParts, {informers}: Cluster): (() => readonly Frozen<Service>[] | undefined) => {
  const services = informers.informer<Service>({kind: kinds.services});
  if (clients.isStandalone) return () => [];
  return () => (services.isSynced ? (services.lister.list() as readonly Frozen<Service>[]) : undefined);
};

const configSettings = async (
  {settings, naming, identity, host}: AgentParts,
  {folders, hierarchy}: AgentHost,
): Promise<PodConfigSettings> => ({
  agent: naming.agent,
  clusterDns: settings.clusterDNS,
  clusterDomain: settings.clusterDomain,
  resolverFile: settings.resolvConf,
  security: {
    seccomp: join(folders.root, 'seccomp'),
    seccompDefault: settings.seccompDefault,
    maskedPaths: await maskedFolders(host, identity.machine.cores),
  },
  resources: {
    enforcesCpuLimits: settings.cpuCFSQuota,
    cpuPeriod: cpuPeriodOf(settings),
    memoryCapacity: identity.machine.memoryBytes,
    pageSizes: pageSizesOf(identity.machine),
    killsGroups: hierarchy.version === 2 && settings.singleProcessOOMKill !== true,
  },
});

const imagesOf = (parts: AgentParts, {events}: Cluster, objects: PodObjects, access: ImageAccess | undefined): ImagePuller => {
  const {settings, naming, runtime, clock, log, metrics} = parts;
  return new ImagePuller({
    naming,
    runtime,
    objects,
    events,
    clock,
    log,
    access,
    limits: {
      parallel: settings.serializeImagePulls ? 1 : settings.maxParallelImagePulls || Infinity,
      qps: settings.registryPullQPS,
      burst: settings.registryBurst,
    },
    pulled: (seconds, bytes) => metrics.pullDuration.observe(seconds, {image_size_in_bytes: imageSizeRange(bytes)}),
  });
};

const accessOf = async (parts: AgentParts, {folders}: AgentHost): Promise<ImageAccess | undefined> => {
  const {gate, host, naming, settings, runtime, clock, log, meter} = parts;
  if (!gate('PlatletEnsureSecretPulledImages')) return undefined;
  const {imagePullCredentialsVerificationPolicy: policy, preloadedImagesVerificationAllowlist: allowlist} = settings;
  return ImageAccess.open({
    records: await PullRecords.open({host, naming, root: folders.root}),
    needsVerification: verificationOf(policy, allowlist),
    runtime,
    clock,
    log,
    meter,
    agent: naming.agent,
  });
};

/** What the volumes of pods are filled from. */
interface VolumeInputs {
  readonly objects: PodObjects;
  /** Returns the handler of a RuntimeClass. */
  handlerOf(runtimeClass: string): Promise<string>;
}

/** Composes the volumes of pods: all types that need no plugin of others. */
const volumesOf = (parts: AgentParts, before: Before, {objects, handlerOf}: VolumeInputs, signal: AbortSignal): NodeVolumes => {
  const {clients, clock, random, log, naming, host, identity} = parts;
  const {cluster, node} = before;
  const {events} = cluster;
  const {folders} = before.host;
  const {machine} = identity;
  const {allocatable} = node;
  const tokens = new PodTokens({client: clients.main, clock, random, log});
  const folder = {
    host,
    folders,
    allocatableMemory: () => quantityNumber(parseQuantity(allocatable()['memory'] ?? '0')),
    excludesSwap: machine.swapBytes > 0 && hasNoswap(machine.kernelVersion),
  };
  const payloads = new Payloads({objects, tokens, allocatable});
  return new NodeVolumes({
    naming,
    host,
    folders,
    clock,
    log,
    events,
    signal,
    objects,
    tokens,
    node: cluster.registered,
    claims: new Claims(clients.main),
    plugins: [
      emptyDir(folder),
      ...payloadVolumes({...folder, clock, random, payloads}),
      hostPath(host),
      localVolume({host, folders, events}),
    ],
    async mountsRecursively({spec}) {
      const name = spec?.runtimeClassName ? await handlerOf(spec.runtimeClassName) : '';
      return node.health.status?.handlers?.some(handler => handler.name === name && handler.recursiveReadOnlyMounts) ?? false;
    },
  });
};

/** Whether the kernel can keep a file system in memory from being swapped. */
const hasNoswap = (kernelVersion: string): boolean => {
  const [major = 0, minor = 0] = kernelVersion.split('.').map(part => parseInt(part, 10));
  return major > 6 || (major === 6 && minor >= 4);
};

const usualCacheMs = 60_000;

/** How long objects of pods are used without being read anew: what the Node says, by the size of the cluster. */
const objectCacheMs = (naming: Naming, node: Frozen<Node> | undefined): number => {
  const seconds = node?.metadata?.annotations?.[naming.subKey('node.alpha', 'ttl')];
  return seconds !== undefined && /^\d+$/.test(seconds) ? Number(seconds) * 1000 : usualCacheMs;
};

/** Creates the groups of the node's pods. Rejects where the machine does not have them. */
const cgroupsOf = async (parts: AgentParts, before: Before, signal: AbortSignal): Promise<PodCgroups> => {
  const {settings, gate, naming, clock, log, host, identity, metrics} = parts;
  const {cluster, node, working} = before;
  const capacity = listOf(node.node.capacity);
  const reservation = reservationOf(settings);
  checkReservation(capacity, reservation);
  const percent = gate('QOSReserved') ? /^(\d+)%$/.exec(settings.qosReserved['memory'] ?? '')?.[1] : undefined;
  const cgroups = new NodeCgroups({
    naming,
    host,
    hierarchy: before.host.hierarchy,
    clock,
    log,
    events: cluster.events,
    node: cluster.node,
    signal,
    activePods: () => working.active,
    capacity,
    reservation,
    settings: {
      root: join('/', settings.cgroupRoot),
      pageSizes: pageSizesOf(identity.machine),
      perPod: settings.cgroupsPerQOS,
      enforced: new Set(settings.enforceNodeAllocatable),
      agentGroup: settings.kubeReservedCgroup,
      systemGroup: settings.systemReservedCgroup,
      enforcesCpuLimits: settings.cpuCFSQuota,
      cpuPeriod: cpuPeriodOf(settings),
      ...(settings.podPidsLimit > 0 ? {podPids: settings.podPidsLimit} : {}),
      ...(percent === undefined ? {} : {reservedMemoryPercent: Number(percent)}),
    },
  });
  await cgroups.start();
  return measuredCgroups(cgroups, metrics, clock);
};

/** The period of CPU quotas in microseconds, as the kernel has it. */
const cpuPeriodOf = ({cpuCFSQuotaPeriod}: Settings): number => Math.round(cpuCFSQuotaPeriod * 1000);

/** The sizes of huge pages, as control groups name them. */
const pageSizesOf = ({hugepages}: Machine): readonly string[] => Object.keys(hugepages).map(size => size.replace('i', 'B'));
