import {join} from 'node:path';
import type {Frozen} from '#src/api/key.js';
import {naming} from '#src/api/naming.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import {noLog} from '#src/base/log.js';
import {noMeter} from '#src/base/meter.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import type {GateName} from '#src/options/gate-table.js';
import {resourceManagers, topologyOf} from '#src/platlet/agent/resource-managers.js';
import type {PodDirectory} from '#src/platlet/worker/pod-directory.js';
import type {ResourceManagers} from '#src/platlet/resource-managers/resource-managers.js';
import type {AgentParts} from '#src/platlet/agent/parts.js';
import {agentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import type {FolderHost} from '#test/platlet/host.js';
import {sysfsHost, sysfsOf, type SysfsMachine} from '#test/platlet/topology/sysfs.js';

export interface ManagersOptions {
  readonly machine?: SysfsMachine;
  readonly settings?: Partial<AgentParts['settings']>;
  readonly gates?: readonly GateName[];
  readonly isReady?: () => boolean;
}

const usual = {
  reservedSystemCPUs: '0',
  reservedMemory: [],
  kubeReserved: {},
  systemReserved: {},
  evictionHard: {},
  evictionSoft: {},
  evictionSoftGracePeriod: {},
  evictionMinimumReclaim: {},
  cpuManagerPolicy: 'static',
  cpuManagerPolicyOptions: {},
  cpuManagerReconcilePeriod: 10_000,
  memoryManagerPolicy: 'None',
  topologyManagerPolicy: 'none',
  topologyManagerPolicyOptions: {},
  topologyManagerScope: 'container',
};

const usualGates: readonly GateName[] = ['CPUManagerPolicyBetaOptions', 'DisableCPUQuotaWithExclusiveCPUs', 'PodLevelResources'];

/** Opens the resource managers of an agent whose machine has the given CPUs. */
export const managersOf = async (
  host: FolderHost,
  {machine = {sockets: 1, coresPerNuma: 4}, settings = {}, gates = usualGates, isReady = () => true}: ManagersOptions = {},
): Promise<ResourceManagers> => {
  const plat = naming('plat');
  await host.makeFolder(host.folders.root, 0o755);
  const {read, list} = sysfsHost(sysfsOf(machine));
  const parts = {
    host: {
      ...host,
      read: (path: string) => (path.startsWith('/sys/devices/system') ? read(path) : host.read(path)),
      list: (path: string) => (path.startsWith('/sys/devices/system') ? list(path) : host.list(path)),
    },
    settings: {...usual, ...settings},
    flags: {rootDir: host.folders.root, allocatesThresholds: false},
    gate: (name: GateName) => gates.includes(name),
    naming: plat,
    identity: {machine: {memoryBytes: 2 ** 33, hugepages: {}}},
    clock: new VirtualClock(),
    log: noLog,
    metrics: agentMetrics(noMeter, plat),
    meter: noMeter,
    clients: {isStandalone: true},
  } as unknown as AgentParts;
  const found = await topologyOf(parts);
  const directory = {sources: {isReady: isReady()}, working: {active: []}, listed: []} as unknown as PodDirectory;
  const cluster = {registered: () => undefined};
  return resourceManagers({...parts, settings: found.settings}, found, {cluster, directory}, new AbortController().signal);
};

export const stateFile = (host: FolderHost): string => join(host.folders.root, 'cpu_manager_state');

type Resources = Readonly<Record<string, string>>;

/** A pod whose containers have these amounts as requests and limits. */
export const aGuaranteed = (uid: string, cpu: readonly string[], init: readonly (string | {readonly sidecar: string})[] = []): Pod => {
  const resourcesOf = (amount: string): {resources: {requests: Resources; limits: Resources}} => ({
    resources: {requests: {cpu: amount, memory: '1Mi'}, limits: {cpu: amount, memory: '1Mi'}},
  });
  return {
    metadata: {uid, name: uid, namespace: 'default'},
    spec: {
      initContainers: init.map((one, at) =>
        typeof one === 'string'
          ? {name: `init${at}`, image: 'app', ...resourcesOf(one)}
          : {name: `init${at}`, image: 'app', restartPolicy: 'Always', ...resourcesOf(one.sidecar)},
      ),
      containers: cpu.map((amount, at) => ({name: `app${at}`, image: 'app', ...resourcesOf(amount)})),
    },
  } as Pod;
};

/** Resolves when the assignments are on disk. */
export const savedBy = (managers: ResourceManagers): Promise<void> => managers.creating({}, {name: ''} as Frozen<AnyContainer>);

/** The CPUs of each container of a pod. */
export const cpusOfPod = (managers: ResourceManagers, pod: Frozen<Pod>): string =>
  [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])]
    .map(container => managers.assignedTo(pod, container as Frozen<AnyContainer>).cpus)
    .join(' ');
