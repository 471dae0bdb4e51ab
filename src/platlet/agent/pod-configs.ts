// Part of the sixth stage of an agent: the sandbox and container configurations that the runtime gets.

import {join} from 'node:path';
import type {Host} from '#src/platlet/host/host.js';
import {Environments} from '#src/platlet/inputs/environment.js';
import {NodePodConfigs, type PodConfigSettings} from '#src/platlet/inputs/pod-configs.js';
import type {UserNamespaces} from '#src/platlet/user-namespaces/user-namespaces.js';
import type {Cluster} from './cluster.js';
import type {AgentHost} from './host.js';
import type {NodeStage} from './node.js';
import type {ResourceManagers} from '#src/platlet/resource-managers/resource-managers.js';
import type {AgentParts} from './parts.js';
import {memoryQosSettings, swapSettings} from '#src/platlet/resize/memory-settings.js';
import {cpuPeriodOf, pageSizesOf} from './pod-cgroups.js';
import type {PodInputs} from './pod-objects.js';
import type {PodVolumesStage} from './pod-volumes.js';

/** The results of the earlier stages. */
interface Before {
  readonly host: AgentHost;
  readonly cluster: Pick<Cluster, 'events'>;
  readonly node: Pick<NodeStage, 'addresses' | 'allocatable'>;
  readonly inputs: PodInputs;
  readonly volumes: PodVolumesStage;
  readonly managers: ResourceManagers;
  readonly users: UserNamespaces | undefined;
}

/** Creates the builder of pod configurations. */
export const podConfigs = async (
  parts: AgentParts,
  {host: agentHost, cluster, node, inputs, volumes: {volumes, mounts}, managers, users}: Before,
): Promise<NodePodConfigs> => {
  const {naming, host, random} = parts;
  const {objects, services, handlerOf} = inputs;
  const hostAddresses = (): readonly string[] => node.addresses.known;
  return new NodePodConfigs({
    host,
    folders: agentHost.folders,
    random,
    events: cluster.events,
    environments: new Environments({objects, services, naming, hostAddresses, allocatable: node.allocatable, volumes}),
    mounts,
    handlerOf,
    settings: {...(await configSettings(parts, agentHost, node.allocatable)), managers, users},
  });
};

const configSettings = async (
  parts: AgentParts,
  {folders, hierarchy}: AgentHost,
  allocatable: NodeStage['allocatable'],
): Promise<PodConfigSettings> => {
  const {
    settings,
    naming,
    identity: {machine},
    host,
  } = parts;
  return {
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
      killsGroups: hierarchy.version === 2 && settings.singleProcessOOMKill !== true,
      swap: await swapSettings(parts, hierarchy),
      memoryQos: memoryQosSettings(parts, hierarchy, allocatable),
    },
  };
};

const thermalThrottle = (cpu: number): string => `/sys/devices/system/cpu/cpu${cpu}/thermal_throttle`;

/** Returns the sysfs directories of CPUs that containers must not see. */
const maskedFolders = async (host: Host, cores: number): Promise<readonly string[]> => {
  const found = await Promise.all(
    Array.from({length: cores}, async (_, cpu) => ((await host.status(thermalThrottle(cpu))) ? [thermalThrottle(cpu)] : [])),
  );
  return found.flat();
};
