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
  let sum = 0;
  let count = 0;
  for (const name of ['cpu', 'memory'] as const) {
    if (allocatable[name] <= 0) continue;
    sum += free(nonZeroRequested[name] + pod[name], allocatable[name]);
    count++;
  }
  return count === 0 ? 0 : Math.floor(sum / count);
};

/** Prefers nodes with more free resources. */
export const leastAllocated: Score = {
  plugin: 'NodeResourcesFit',
  weight: 1,
  prepare: pod => ({score: node => leastAllocatedScore(pod, node)}),
};
