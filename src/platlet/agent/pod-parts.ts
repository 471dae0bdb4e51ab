// Composes what the workers of pods need of the node: configurations, images, volumes, cgroups and what containers leave.

import {join} from 'node:path';
import type {InformerFactory} from '#informers/factory.js';
import {parseQuantity, quantityNumber} from '#src/api/quantity.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {Naming} from '#src/api/naming.js';
import type {Node} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import type {Client} from '#src/client/client.js';
import type {GateName} from '#src/options/gate-table.js';
import {checkReservation} from '#src/platlet/cgroups/allocatable.js';
import type {CgroupHierarchy} from '#src/platlet/cgroups/hierarchy.js';
import {NodeCgroups} from '#src/platlet/cgroups/node-cgroups.js';
import {listOf, reservationOf} from '#src/platlet/node/capacity.js';
import {nodeReference} from '#src/platlet/node/conditions.js';
import type {Settings} from '#src/platlet/config/fields.js';
import type {NodeFolders} from '#src/platlet/host/folders.js';
import type {Host} from '#src/platlet/host/host.js';
import {ImageAccess} from '#src/platlet/images/image-access.js';
import {ImagePuller} from '#src/platlet/images/puller.js';
import {PullRecords} from '#src/platlet/images/pull-records.js';
import {verificationOf} from '#src/platlet/images/verification.js';
import {Environments} from '#src/platlet/inputs/environment.js';
import {NodePodConfigs} from '#src/platlet/inputs/pod-configs.js';
import {runtimeClassHandlers} from '#src/platlet/inputs/runtime-classes.js';
import type {Service} from '#src/platlet/inputs/service-variables.js';
import {ContainerFiles} from '#src/platlet/logs/output.js';
import type {AgentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import {measuredCgroups} from '#src/platlet/metrics/cgroups.js';
import {imageSizeRange} from '#src/platlet/metrics/image-sizes.js';
import type {Machine} from '#src/platlet/node/machine.js';
import {podObjects, type PodObjects, type ReadStrategy} from '#src/platlet/objects/pod-objects.js';
import type {ContainerOutput, Images, PodCgroups, PodConfigs} from '#src/platlet/pod/ports.js';
import type {Runtime, RuntimeStatus} from '#src/platlet/runtime/runtime.js';
import {Claims} from '#src/platlet/volumes/claims.js';
import {emptyDir} from '#src/platlet/volumes/empty-dir.js';
import {hostPath, localVolume} from '#src/platlet/volumes/host-path.js';
import {payloadVolumes} from '#src/platlet/volumes/payload-volumes.js';
import {Payloads} from '#src/platlet/volumes/payloads.js';
import {NodeVolumes} from '#src/platlet/volumes/pod-volumes.js';
import {PodTokens} from '#src/platlet/volumes/tokens.js';
import type {EventRecorder} from '#src/runtime/events/events.js';

export interface PodPartsContext {
  readonly settings: Settings;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  readonly signal: AbortSignal;
  readonly client: Client;
  /** Whether the client refuses, and there are no services and runtime classes. */
  readonly isStandalone?: boolean | undefined;
  readonly informers: InformerFactory;
  readonly events: EventRecorder;
  readonly runtime: Runtime;
  readonly host: Host;
  readonly folders: NodeFolders;
  readonly machine: Machine;
  /** Returns the addresses of the node. */
  addresses(): readonly string[];
  readonly nodeName: string;
  readonly capacity: Readonly<Record<string, string>>;
  allocatable(): Readonly<Record<string, string>>;
  /** The pods that are admitted and have not ended. */
  activePods(): readonly Frozen<Pod>[];
  /** Returns the Node as the API server has it; undefined while there is none. */
  node(): Frozen<Node> | undefined;
  /** Returns the last status of the runtime. */
  runtimeStatus(): RuntimeStatus | undefined;
  readonly hierarchy: CgroupHierarchy;
  readonly metrics: AgentMetrics;
  gate(name: GateName): boolean;
}

/** What the workers of pods need of the node. */
export interface PodParts {
  readonly configs: PodConfigs;
  readonly images: Images;
  /** Decides which pods may use which images; undefined if all may. */
  readonly imageAccess: ImageAccess | undefined;
  readonly volumes: NodeVolumes;
  readonly cgroups: PodCgroups;
  readonly output: ContainerOutput;
}

const thermalThrottle = (cpu: number): string => `/sys/devices/system/cpu/cpu${cpu}/thermal_throttle`;

/** Returns the folders of processors that containers must not see. */
const maskedFolders = async (host: Host, cores: number): Promise<readonly string[]> => {
  const found = await Promise.all(
    Array.from({length: cores}, async (_, cpu) => ((await host.status(thermalThrottle(cpu))) ? [thermalThrottle(cpu)] : [])),
  );
  return found.flat();
};

/** Composes the parts of a node's pods. */
export const podParts = async (context: PodPartsContext): Promise<PodParts> => {
  const {settings, naming, random, informers, events, host, folders, machine, addresses, isStandalone} = context;
  const services = informers.informer<Service>({kind: kinds.services});
  const runtimeClasses = informers.informer({kind: kinds.runtimeClasses});
  const objects = podObjects({
    ...context,
    strategy: isStandalone ? 'Get' : (settings.configMapAndSecretChangeDetectionStrategy as ReadStrategy),
    cacheMs: () => objectCacheMs(naming, context.node()),
  });
  const handlerOf = isStandalone ? () => Promise.resolve('') : runtimeClassHandlers(naming, runtimeClasses.lister);
  const volumes = nodeVolumes(context, objects, handlerOf);
  const environments = new Environments({
    objects,
    services: () => (isStandalone ? [] : services.isSynced ? (services.lister.list() as readonly Frozen<Service>[]) : undefined),
    naming,
    hostAddresses: addresses,
    allocatable: context.allocatable,
    volumes,
  });
  const configs = new NodePodConfigs({
    host,
    folders,
    random,
    events,
    environments,
    volumes,
    handlerOf,
    settings: {
      agent: naming.agent,
      clusterDns: settings.clusterDNS,
      clusterDomain: settings.clusterDomain,
      resolverFile: settings.resolvConf,
      security: {
        seccomp: join(folders.root, 'seccomp'),
        seccompDefault: settings.seccompDefault,
        maskedPaths: await maskedFolders(host, machine.cores),
      },
      resources: {
        enforcesCpuLimits: settings.cpuCFSQuota,
        cpuPeriod: cpuPeriodOf(settings),
        memoryCapacity: machine.memoryBytes,
        pageSizes: pageSizesOf(machine),
        killsGroups: context.hierarchy.version === 2 && settings.singleProcessOOMKill !== true,
      },
    },
  });
  const imageAccess = await accessOf(context);
  const images = new ImagePuller({
    ...context,
    objects,
    access: imageAccess,
    limits: {
      parallel: settings.serializeImagePulls ? 1 : settings.maxParallelImagePulls || Infinity,
      qps: settings.registryPullQPS,
      burst: settings.registryBurst,
    },
    pulled: (seconds, bytes) => context.metrics.pullDuration.observe(seconds, {image_size_in_bytes: imageSizeRange(bytes)}),
  });
  return {configs, images, imageAccess, volumes, cgroups: await nodeCgroups(context), output: new ContainerFiles(host, folders)};
};

const accessOf = async (context: PodPartsContext): Promise<ImageAccess | undefined> => {
  const {gate, folders, naming, settings} = context;
  if (!gate('PlatletEnsureSecretPulledImages')) return undefined;
  const {imagePullCredentialsVerificationPolicy: policy, preloadedImagesVerificationAllowlist: allowlist} = settings;
  return ImageAccess.open({
    ...context,
    records: await PullRecords.open({...context, root: folders.root}),
    needsVerification: verificationOf(policy, allowlist),
    agent: naming.agent,
  });
};

/** Composes the volumes of pods: all types that need no plugin of others. */
const nodeVolumes = (context: PodPartsContext, objects: PodObjects, handlerOf: (runtimeClass: string) => Promise<string>): NodeVolumes => {
  const {host, folders, client, allocatable, machine, runtimeStatus} = context;
  const tokens = new PodTokens(context);
  const folder = {
    host,
    folders,
    allocatableMemory: () => quantityNumber(parseQuantity(allocatable()['memory'] ?? '0')),
    excludesSwap: machine.swapBytes > 0 && hasNoswap(machine.kernelVersion),
  };
  const payloads = new Payloads({objects, tokens, allocatable});
  return new NodeVolumes({
    ...context,
    objects,
    tokens,
    claims: new Claims(client),
    plugins: [emptyDir(folder), ...payloadVolumes({...context, ...folder, payloads}), hostPath(host), localVolume(context)],
    async mountsRecursively({spec}) {
      const name = spec?.runtimeClassName ? await handlerOf(spec.runtimeClassName) : '';
      return runtimeStatus()?.handlers?.some(handler => handler.name === name && handler.recursiveReadOnlyMounts) ?? false;
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
const nodeCgroups = async (context: PodPartsContext): Promise<PodCgroups> => {
  const {settings, naming, nodeName, capacity, activePods, metrics, clock} = context;
  const reservation = reservationOf(settings);
  checkReservation(listOf(capacity), reservation);
  const percent = context.gate('QOSReserved') ? /^(\d+)%$/.exec(settings.qosReserved['memory'] ?? '')?.[1] : undefined;
  const cgroups = new NodeCgroups({
    ...context,
    activePods,
    node: nodeReference(naming, nodeName),
    capacity: listOf(capacity),
    reservation,
    settings: {
      root: join('/', settings.cgroupRoot),
      pageSizes: pageSizesOf(context.machine),
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
