import {ephemeralUsage} from '#src/api/node/ephemeral-usage.js';
import type {
  Consumption,
  ContainerStats,
  FilesystemStats,
  InterfaceStats,
  MemoryStats,
  NodeStats,
  PodStats,
  SystemStats,
  VolumeStats,
} from '#src/api/node/stats.js';
import {wireTime} from '#src/api/time.js';

type Measured = Consumption & {readonly memory?: MemoryStats};

const cpuOf = ({cpuMillis, cpuSeconds, pressure}: Consumption, time: string) => ({
  time,
  usageNanoCores: Math.round(cpuMillis * 1e6),
  usageCoreNanoSeconds: Math.round(cpuSeconds * 1e9),
  ...(pressure?.cpu ? {psi: pressure.cpu} : {}),
});

/** What is swapped out, and the pressure on disks. */
const restOf = ({swap, pressure}: Consumption, time: string) => ({
  ...(swap
    ? {
        swap: {
          time,
          ...(swap.availableBytes === undefined ? {} : {swapAvailableBytes: swap.availableBytes}),
          swapUsageBytes: swap.usageBytes,
        },
      }
    : {}),
  ...(pressure?.io ? {io: {time, psi: pressure.io}} : {}),
});

const memoryOf = ({memoryBytes, memory = {}, pressure}: Measured, time: string, limit?: number) => ({
  time,
  ...(limit === undefined ? {} : {availableBytes: Math.max(0, limit - memoryBytes)}),
  usageBytes: memoryBytes,
  workingSetBytes: memoryBytes,
  rssBytes: memoryBytes,
  ...memory,
  ...(pressure?.memory ? {psi: pressure.memory} : {}),
});

const fsOf = ({at, ...fs}: FilesystemStats, time: string) => ({time: at === undefined ? time : wireTime(at), ...fs});

const interfaceOf = ({name, receivedBytes, receiveErrors, sentBytes, sendErrors}: InterfaceStats) => ({
  name,
  ...(receivedBytes === undefined ? {} : {rxBytes: receivedBytes}),
  ...(receiveErrors === undefined ? {} : {rxErrors: receiveErrors}),
  ...(sentBytes === undefined ? {} : {txBytes: sentBytes}),
  ...(sendErrors === undefined ? {} : {txErrors: sendErrors}),
});

/** The default interface stands for all. */
const networkOf = (interfaces: readonly InterfaceStats[] | undefined, time: string) =>
  interfaces?.[0] ? {network: {time, ...interfaceOf(interfaces[0]), interfaces: interfaces.map(interfaceOf)}} : {};

const containerOf = (container: ContainerStats, time: string, isWhole: boolean) => ({
  name: container.name,
  startTime: wireTime(container.startedAt),
  cpu: cpuOf(container, time),
  memory: memoryOf(container, time, container.memoryLimitBytes),
  ...restOf(container, time),
  ...(isWhole && container.rootfs ? {rootfs: fsOf(container.rootfs, time)} : {}),
  ...(isWhole && container.logs ? {logs: fsOf(container.logs, time)} : {}),
});

const volumeOf = ({name, claim, isEphemeral, isAbnormal, ...fs}: VolumeStats, namespace: string, time: string) => ({
  ...fsOf(fs, time),
  name,
  ...(claim === undefined || isEphemeral ? {} : {pvcRef: {name: claim, namespace}}),
  ...(isAbnormal === undefined ? {} : {volumeHealthStats: {abnormal: isAbnormal}}),
});

/** What a pod takes of the node's storage. */
const ephemeralOf = (pod: PodStats, time: string) => {
  const first = pod.containers.find(({rootfs}) => rootfs)?.rootfs;
  return first ? {'ephemeral-storage': fsOf({...first, ...ephemeralUsage(pod)}, time)} : {};
};

const podOf = (pod: PodStats, time: string, isWhole: boolean) => ({
  podRef: {name: pod.name, namespace: pod.namespace, uid: pod.uid},
  startTime: wireTime(pod.startedAt),
  containers: pod.containers.map(container => containerOf(container, time, isWhole)),
  cpu: cpuOf(pod, time),
  memory: memoryOf(pod, time),
  ...restOf(pod, time),
  ...(isWhole
    ? {
        ...networkOf(pod.network, time),
        ...(pod.volumes ? {volume: pod.volumes.map(volume => volumeOf(volume, pod.namespace, time))} : {}),
        ...ephemeralOf(pod, time),
        ...(pod.processes === undefined ? {} : {process_stats: {process_count: pod.processes}}),
      }
    : {}),
});

const systemOf = (system: SystemStats, time: string) => ({
  name: system.name,
  startTime: wireTime(system.startedAt),
  cpu: cpuOf(system, time),
  memory: memoryOf(system, time),
});

const nodeFs = (node: NodeStats, time: string) => {
  const {
    machine: {storageBytes: capacityBytes, imageBytes: usedBytes},
  } = node;
  const usual = {availableBytes: Math.max(0, capacityBytes - usedBytes), capacityBytes, usedBytes};
  const imageFs = fsOf(node.imageFs ?? node.fs ?? usual, time);
  return {
    fs: fsOf(node.fs ?? usual, time),
    runtime: {imageFs, ...(node.containerFs ? {containerFs: fsOf(node.containerFs, time)} : {})},
  };
};

/**
 * `/stats/summary`: the usage of the node and its pods; without networks and file systems if only CPU and memory are
 * requested.
 */
export const summaryOf = (node: NodeStats, {onlyCpuAndMemory}: {readonly onlyCpuAndMemory: boolean}): unknown => {
  const time = wireTime(node.time);
  return {
    node: {
      nodeName: node.name,
      ...(node.system?.length ? {systemContainers: node.system.map(each => systemOf(each, time))} : {}),
      startTime: wireTime(node.startedAt),
      cpu: cpuOf(node, time),
      memory: memoryOf(node, time, node.machine.memoryBytes),
      ...restOf(node, time),
      ...(onlyCpuAndMemory
        ? {}
        : {
            ...networkOf(node.network, time),
            ...nodeFs(node, time),
            ...(node.processes ? {rlimit: {time, maxpid: node.processes.max, curproc: node.processes.current}} : {}),
          }),
    },
    pods: node.pods.map(pod => podOf(pod, time, !onlyCpuAndMemory)),
  };
};
