import {signsResources} from '#src/scheduler/signatures/plugin-signatures.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import type {NodeInfo} from '#src/scheduler/cache/node-info.js';
import type {Score} from '#src/scheduler/framework/plugin.js';
import {maxNodeScore} from './normalize.js';

/** Returns the free share of a resource with the pod on the node, from 0 to 100. */
const free = (requested: number, capacity: number): number =>
  requested > capacity ? 0 : Math.floor(((capacity - requested) * maxNodeScore) / capacity);

/** The mean over cpu and memory, as far as the node has them. */
const leastAllocatedScore = (
  {nonZeroRequests: pod}: Pick<PodInfo, 'nonZeroRequests'>,
  {nonZeroRequested, allocatable}: Pick<NodeInfo, 'nonZeroRequested' | 'allocatable'>,
): number => {
  const {cpu, memory} = allocatable;
  const count = (cpu > 0 ? 1 : 0) + (memory > 0 ? 1 : 0);
  if (count === 0) return 0;
  const sum =
    (cpu > 0 ? free(nonZeroRequested.cpu + pod.cpu, cpu) : 0) + (memory > 0 ? free(nonZeroRequested.memory + pod.memory, memory) : 0);
  return Math.floor(sum / count);
};

/** Prefers nodes with more free resources. */
export const leastAllocated: Score = {
  plugin: 'NodeResourcesFit',
  sign: signsResources,
  weight: 1,
  prepare: pod => ({
    signature: `${pod.nonZeroRequests.cpu} ${pod.nonZeroRequests.memory}`,
    score: node => leastAllocatedScore(pod, node),
  }),
};
