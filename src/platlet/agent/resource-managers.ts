// Part of the fifth stage of an agent: the topology of the machine, and the managers of its CPUs and its memory.

import {join} from 'node:path';
import {quantityOf} from '#src/api/quantity.js';
import {runEvery} from '#src/base/clock.js';
import {totalReservation} from '#src/platlet/cgroups/allocatable.js';
import {bytesOf, milliOf} from '#src/platlet/cgroups/numbers.js';
import {CheckpointFile} from '#src/platlet/checkpoint/checkpoint-file.js';
import {openCpuManager} from '#src/platlet/cpu-manager/open.js';
import {CpuReconciler} from '#src/platlet/cpu-manager/reconcile.js';
import type {AgentFeature} from '#src/platlet/feature/feature.js';
import {devicePluginsFolder, stateFiles} from '#src/platlet/host/folders.js';
import {deviceRegistration} from '#src/platlet/device-manager/feature.js';
import {openDeviceManager} from '#src/platlet/device-manager/open.js';
import {claimReconciliation} from '#src/platlet/dra/feature.js';
import {openClaimManager} from '#src/platlet/dra/open.js';
import {openMemoryManager} from '#src/platlet/memory-manager/open.js';
import {podResources} from '#src/platlet/pod-resources/feature.js';
import {reservationOf} from '#src/platlet/node/capacity.js';
import type {Machine} from '#src/platlet/node/machine.js';
import {ResourceManagers} from '#src/platlet/resource-managers/resource-managers.js';
import type {CpuSet} from '#src/platlet/topology/cpuset.js';
import {readTopology, type MachineTopology, type WholeMachine} from '#src/platlet/topology/read.js';
import {reservedCpus, withReservedCpus} from '#src/platlet/topology/reserved-cpus.js';
import {checkNumaOrder, TopologyManager} from '#src/platlet/topology-manager/manager.js';
import type {TopologyPolicy} from '#src/platlet/topology-manager/merge.js';
import {topologyOptions} from '#src/platlet/topology-manager/options.js';
import type {PodDirectory} from '#src/platlet/worker/pod-directory.js';
import type {Cluster} from './cluster.js';
import type {AgentParts} from './parts.js';

/** The CPUs and the memory of the machine, and the CPUs that pods do not get. */
export interface AgentTopology {
  readonly topology: MachineTopology;
  readonly reserved: CpuSet;
  /** The settings, with the reserved CPUs in the reservation. */
  readonly settings: AgentParts['settings'];
}

/** Reads the topology of the machine. Rejects if it does not have the reserved CPUs. */
export const topologyOf = async ({host, settings, identity: {machine}}: AgentParts): Promise<AgentTopology> => {
  const topology = await readTopology(host, wholeMachine(machine));
  const reserved = reservedCpus(settings.reservedSystemCPUs, topology.cpu);
  return {topology, reserved, settings: withReservedCpus(settings, reserved)};
};

const wholeMachine = ({memoryBytes, hugepages}: Machine): WholeMachine => ({
  memoryBytes,
  hugePages: Object.entries(hugepages).map(([size, total]) => ({pageBytes: bytesOf(size), count: total / bytesOf(size)})),
});

/**
 * Returns the features that keep the CPUs of running containers as they are assigned, let devices register, and tell
 * what pods have.
 */
export const managerFeatures = (managers: ResourceManagers): readonly AgentFeature[] => [
  {
    name: 'CPU manager',
    start({settings, runtime, pods, clock, log, signal}) {
      if (settings.cpuManagerPolicy === 'none') return;
      const reconciler = new CpuReconciler({runtime, log, affinityOf: (uid, container) => managers.cpus.affinityOf(uid, container)});
      runEvery(clock, settings.cpuManagerReconcilePeriod, signal, () => {
        managers.release(pods.working.active);
        return reconciler.reconcile(pods.working.active, pods.listed);
      });
    },
  },
  deviceRegistration(managers.devices),
  claimReconciliation(managers.claims),
  podResources(
    {
      devices: managers.devices.manager,
      cpus: managers.cpus,
      memory: managers.memory,
      claimsOf: (pod, container) => managers.claims.manager.claimsOf(pod, container),
    },
    active => managers.release(active),
  ),
];

/** Opens the resource managers. Rejects if their settings or their saved states do not fit the machine. */
export const resourceManagers = async (
  parts: AgentParts,
  {topology, reserved}: AgentTopology,
  {cluster, directory}: {readonly cluster: Pick<Cluster, 'registered'>; readonly directory: PodDirectory},
  signal: AbortSignal,
): Promise<ResourceManagers> => {
  const {settings, flags, gate, naming, identity, host, clock, log, metrics} = parts;
  const order = {nodes: topology.nodes, options: topologyOptions(settings.topologyManagerPolicyOptions)};
  const policy = settings.topologyManagerPolicy as TopologyPolicy;
  checkNumaOrder(policy, order);
  const reservation = reservationOf(settings, !flags.allocatesThresholds);
  const {agent, system} = reservation;
  const cpuFile = new CheckpointFile({host, path: join(flags.rootDir, stateFiles.cpus), clock, log});
  const cpus = await openCpuManager({
    settings,
    gate,
    naming,
    topology: topology.cpu,
    reserved: {cpus: reserved, milli: milliOf(agent.get('cpu')) + milliOf(system.get('cpu'))},
    file: cpuFile,
    metrics,
  });
  const memoryFile = new CheckpointFile({host, path: join(flags.rootDir, stateFiles.memory), clock, log});
  const memory = await openMemoryManager({
    settings,
    naming,
    nodes: topology.nodes,
    reservation: totalReservation(new Map([['memory', quantityOf(identity.machine.memoryBytes, 'BinarySI')]]), reservation),
    file: memoryFile,
    metrics,
    withPodLevel: gate('PodLevelResources'),
  });
  const devices = await openDeviceManager(
    {folder: join(flags.rootDir, devicePluginsFolder), nodes: topology.nodes.map(({id}) => id), naming, host, clock, log, metrics},
    directory,
  );
  const claims = await openClaimManager(parts, () => cluster.registered(), signal);
  const providers = [cpus, memory, devices.manager];
  const scope = settings.topologyManagerScope as 'container' | 'pod';
  return new ResourceManagers({
    cpus,
    memory,
    topology: new TopologyManager({policy, scope, order, providers, metrics, clock}),
    providers,
    plugged: {devices, claims},
    files: [cpuFile, memoryFile, devices.file],
    dropsQuota: gate('DisableCPUQuotaWithExclusiveCPUs'),
    sources: directory.sources,
  });
};
