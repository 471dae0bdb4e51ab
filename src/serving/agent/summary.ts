import type {Consumption, ContainerStats, NodeStats, PodStats} from '#src/api/node/stats.js';
import {wireTime} from '#src/api/time.js';

const cpuOf = ({cpuMillis, cpuSeconds}: Consumption, time: string) => ({
  time,
  usageNanoCores: Math.round(cpuMillis * 1e6),
  usageCoreNanoSeconds: Math.round(cpuSeconds * 1e9),
});

const memoryOf = ({memoryBytes}: Consumption, time: string, limit?: number) => ({
  time,
  ...(limit === undefined ? {} : {availableBytes: Math.max(0, limit - memoryBytes)}),
  usageBytes: memoryBytes,
  workingSetBytes: memoryBytes,
  rssBytes: memoryBytes,
});

const containerOf = (container: ContainerStats, time: string) => ({
  name: container.name,
  startTime: wireTime(container.startedAt),
  cpu: cpuOf(container, time),
  memory: memoryOf(container, time, container.memoryLimitBytes),
});

const podOf = (pod: PodStats, time: string) => ({
  podRef: {name: pod.name, namespace: pod.namespace, uid: pod.uid},
  startTime: wireTime(pod.startedAt),
  containers: pod.containers.map(container => containerOf(container, time)),
  cpu: cpuOf(pod, time),
  memory: memoryOf(pod, time),
});

/** `/stats/summary`: the usage of the node and its pods; without file systems if only CPU and memory are requested. */
export const summaryOf = (node: NodeStats, {onlyCpuAndMemory}: {readonly onlyCpuAndMemory: boolean}): unknown => {
  const time = wireTime(node.time);
  const {
    machine: {memoryBytes, storageBytes: capacityBytes, imageBytes: usedBytes},
  } = node;
  const fs = {time, availableBytes: Math.max(0, capacityBytes - usedBytes), capacityBytes, usedBytes};
  return {
    node: {
      nodeName: node.name,
      startTime: wireTime(node.startedAt),
      cpu: cpuOf(node, time),
      memory: memoryOf(node, time, memoryBytes),
      ...(onlyCpuAndMemory ? {} : {fs, runtime: {imageFs: fs}}),
    },
    pods: node.pods.map(pod => podOf(pod, time)),
  };
};
