import {signsResources} from '#src/scheduler/signatures/plugin-signatures.js';
import type {NodeInfo} from '#src/scheduler/cache/node-info.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import type {Score} from '#src/scheduler/framework/plugin.js';
import {maxNodeScore} from './normalize.js';

export interface WeightedResource {
  readonly name: string;
  readonly weight: number;
}

/** A point of the function from utilization to score, both in percent. */
export interface ShapePoint {
  readonly utilization: number;
  readonly score: number;
}

/** How nodes are scored by their allocated resources. */
export type AllocationStrategy =
  | {readonly type: 'LeastAllocated' | 'MostAllocated'; readonly resources: readonly WeightedResource[]}
  | {readonly type: 'RequestedToCapacityRatio'; readonly resources: readonly WeightedResource[]; readonly shape: readonly ShapePoint[]};

type ScoreFunction = (requested: number, capacity: number) => number;

const leastRequestedScore: ScoreFunction = (requested, capacity) =>
  requested > capacity ? 0 : Math.floor(((capacity - requested) * maxNodeScore) / capacity);
const mostRequestedScore: ScoreFunction = (requested, capacity) => Math.floor((Math.min(requested, capacity) * maxNodeScore) / capacity);

/** Returns the score of a utilization by linear interpolation; constant beyond the ends. */
const interpolate = (shape: readonly ShapePoint[], utilization: number): number => {
  const after = shape.findIndex(point => utilization <= point.utilization);
  if (after < 0) return shape.at(-1)!.score;
  if (after === 0) return shape[0]!.score;
  const [from, to] = [shape[after - 1]!, shape[after]!];
  return from.score + Math.trunc(((to.score - from.score) * (utilization - from.utilization)) / (to.utilization - from.utilization));
};

/** Returns the function that scores a ratio by a shape. */
export const requestedToCapacityRatio =
  (shape: readonly ShapePoint[]): ScoreFunction =>
  (requested, capacity) =>
    capacity === 0 || requested > capacity ? interpolate(shape, 100) : interpolate(shape, Math.floor((requested * 100) / capacity));

/**
 * Returns the requested amount on a node, with the pod, and the capacity; undefined if the pod does not request this
 * scalar resource.
 */
const usageOf = (
  name: string,
  {requests, nonZeroRequests}: PodInfo,
  node: NodeInfo,
): {readonly requested: number; readonly capacity: number} | undefined => {
  switch (name) {
    case 'cpu':
    case 'memory':
      return {requested: node.nonZeroRequested[name] + nonZeroRequests[name], capacity: node.allocatable[name]};
    case 'ephemeral-storage':
      return {requested: node.requested.ephemeralStorage + requests.ephemeralStorage, capacity: node.allocatable.ephemeralStorage};
    default: {
      const wanted = requests.scalars.get(name) ?? 0;
      return wanted === 0
        ? undefined
        : {requested: (node.requested.scalars.get(name) ?? 0) + wanted, capacity: node.allocatable.scalars.get(name) ?? 0};
    }
  }
};

/** Scores nodes by a configured allocation strategy. */
export const resourceAllocation = (strategy: AllocationStrategy): Score => {
  const {resources} = strategy;
  const isRatio = strategy.type === 'RequestedToCapacityRatio';
  const scoreOf = isRatio
    ? requestedToCapacityRatio(strategy.shape)
    : strategy.type === 'LeastAllocated'
      ? leastRequestedScore
      : mostRequestedScore;
  return {
    plugin: 'NodeResourcesFit',
    sign: signsResources,
    weight: 1,
    prepare: pod => ({
      score(node) {
        let sum = 0;
        let weights = 0;
        for (const {name, weight} of resources) {
          const used = usageOf(name, pod, node);
          if (!used || used.capacity === 0) continue;
          const score = scoreOf(used.requested, used.capacity);
          if (isRatio && score <= 0) continue; // A score of 0 is left out of the mean.
          sum += score * weight;
          weights += weight;
        }
        if (weights === 0) return 0;
        return isRatio ? Math.round(sum / weights) : Math.floor(sum / weights);
      },
    }),
  };
};
