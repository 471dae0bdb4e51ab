// Part of the sixth stage of an agent: the cgroups of its pods.

import {join} from 'node:path';
import {checkReservation, podsLimits} from '#src/platlet/cgroups/allocatable.js';
import type {CgroupHierarchy} from '#src/platlet/cgroups/hierarchy.js';
import {NodeAllocatable, reservedGroups} from '#src/platlet/cgroups/node-allocatable.js';
import {NodeCgroups, type NodeCgroupSettings} from '#src/platlet/cgroups/node-cgroups.js';
import type {CgroupLimits} from '#src/platlet/runtime/limits.js';
import {QosGroups, type ReservedMemory} from '#src/platlet/cgroups/qos-groups.js';
import {CgroupWriter} from '#src/platlet/cgroups/writer.js';
import type {Settings} from '#src/platlet/config/fields.js';
import {measuredCgroups} from '#src/platlet/metrics/cgroups.js';
import {parsedAmounts, reservationOf} from '#src/platlet/node/capacity.js';
import type {Machine} from '#src/platlet/node/machine.js';
import type {PodCgroups} from '#src/platlet/pod/ports.js';
import type {WorkingPods} from '#src/platlet/worker/working-pods.js';
import type {Cluster} from './cluster.js';
import type {NodeStage} from './node.js';
import {protectsMemory} from '#src/platlet/resize/memory-settings.js';
import type {ResourceManagers} from '#src/platlet/resource-managers/resource-managers.js';
import type {AgentParts} from './parts.js';

/** The results of the earlier stages. */
interface Before {
  readonly hierarchy: CgroupHierarchy;
  readonly cluster: Pick<Cluster, 'events' | 'node'>;
  readonly node: Pick<NodeStage, 'node'>;
  readonly working: Pick<WorkingPods, 'active'>;
  readonly managers: Pick<ResourceManagers, 'isUnthrottled'>;
}

/** Creates the cgroups above those of pods. Rejects if the machine does not support them. */
export const podCgroups = async (
  parts: AgentParts,
  {hierarchy, cluster, node: {node}, working, managers}: Before,
  signal: AbortSignal,
): Promise<PodCgroups> => {
  const {settings, flags, gate, naming, clock, log, host, identity, metrics} = parts;
  const isProtected = protectsMemory(parts, hierarchy);
  const capacity = parsedAmounts(node.capacity);
  const reservation = reservationOf(settings, !flags.allocatesThresholds);
  checkReservation(capacity, reservation);
  const enforced = new Set(settings.enforceNodeAllocatable);
  const limits = podsLimits(capacity, reservation, enforced.has('pods'));
  const writer = new CgroupWriter(host, hierarchy);
  const groups = {...cgroupSettings(settings, identity.machine), protectsMemory: isProtected};
  const classes = new QosGroups({
    writer,
    root: groups.root,
    memoryReserve: gate('QOSReserved') ? reservedMemoryOf(settings, limits) : undefined,
    protectsMemory: isProtected,
    activePods: () => working.active,
    clock,
    log,
    signal,
  });
  const allocatable = new NodeAllocatable({
    writer,
    pods: {group: classes.groupOf('Guaranteed'), limits, isEnforced: enforced.has('pods')},
    reserved: reservedGroups(naming, reservation, {
      enforced,
      agentGroup: settings.kubeReservedCgroup,
      systemGroup: settings.systemReservedCgroup,
      protectsMemory: isProtected,
    }),
    events: cluster.events,
    node: cluster.node,
    clock,
    log,
    signal,
  });
  const cgroups = new NodeCgroups({
    writer,
    classes,
    allocatable,
    settings: groups,
    isUnthrottled: pod => managers.isUnthrottled(pod),
    clock,
  });
  await cgroups.start();
  return measuredCgroups(cgroups, metrics, clock);
};

const cgroupSettings = (settings: Settings, machine: Machine): NodeCgroupSettings => ({
  root: join('/', settings.cgroupRoot),
  pageSizes: pageSizesOf(machine),
  perPod: settings.cgroupsPerQOS,
  enforcesCpuLimits: settings.cpuCFSQuota,
  cpuPeriod: cpuPeriodOf(settings),
  ...(settings.podPidsLimit > 0 ? {podPids: settings.podPidsLimit} : {}),
});

const reservedMemoryOf = ({qosReserved}: Settings, {memoryBytes = 0}: CgroupLimits): ReservedMemory | undefined => {
  const percent = /^(\d+)%$/.exec(qosReserved['memory'] ?? '')?.[1];
  return percent === undefined ? undefined : {allocatableBytes: memoryBytes, percent: Number(percent)};
};

/** The CPU quota period in microseconds. */
export const cpuPeriodOf = ({cpuCFSQuotaPeriod}: Settings): number => Math.round(cpuCFSQuotaPeriod * 1000);

/** The sizes of huge pages in the form of cgroup file names. */
export const pageSizesOf = ({hugepages}: Machine): readonly string[] => Object.keys(hugepages).map(size => size.replace('i', 'B'));
