import type {NodeInfo} from '#src/scheduler/cache/node-info.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import type {Score} from '#src/scheduler/plugin.js';
import {maxNodeScore} from './normalize.js';

export interface WeightedResource {
  readonly name: string;
  readonly weight: number;
}

/** A point of a line that says how good a share of use is, both in percent. */
export interface ShapePoint {
  readonly utilization: number;
  readonly score: number;
}

/** How nodes are compared by the resources that are used on them with the pod. */
export type AllocationStrategy =
  | {readonly type: 'LeastAllocated' | 'MostAllocated'; readonly resources: readonly WeightedResource[]}
  | {readonly type: 'RequestedToCapacityRatio'; readonly resources: readonly WeightedResource[]; readonly shape: readonly ShapePoint[]};

type ScoreFunction = (requested: number, capacity: number) => number;

const leastRequestedScore: ScoreFunction = (requested, capacity) => (requested > capacity ? 0 : Math.floor(((capacity - requested) * maxNodeScore) / capacity));
const mostRequestedScore: ScoreFunction = (requested, capacity) => Math.floor((Math.min(requested, capacity) * maxNodeScore) / capacity);

/** The height of the line at a share of use; it goes on level beyond its ends. */
const interpolate = (shape: readonly ShapePoint[], utilization: number): number => {
  const after = shape.findIndex(point => utilization <= point.utilization);
  if (after < 0) return shape.at(-1)!.score;
  if (after === 0) return shape[0]!.score;
  const [from, to] = [shape[after - 1]!, shape[after]!];
  return from.score + Math.trunc(((to.score - from.score) * (utilization - from.utilization)) / (to.utilization - from.utilization));
};

const requestedToCapacityRatio =
  (shape: readonly ShapePoint[]): ScoreFunction =>
  (requested, capacity) =>
    capacity === 0 || requested > capacity ? interpolate(shape, 100) : interpolate(shape, Math.floor((requested * 100) / capacity));

/** What is used of a resource on a node with the pod, and what there is; nothing where the pod does not ask for what only some do. */
const usageOf = (name: string, {requests, nonZeroRequests}: PodInfo, node: NodeInfo): {readonly requested: number; readonly capacity: number} | undefined => {
  switch (name) {
    case 'cpu':
    case 'memory':
      return {requested: node.nonZeroRequested[name] + nonZeroRequests[name], capacity: node.allocatable[name]};
    case 'ephemeral-storage':
      return {requested: node.requested.ephemeralStorage + requests.ephemeralStorage, capacity: node.allocatable.ephemeralStorage};
    default: {
      const wanted = requests.scalars.get(name) ?? 0;
      return wanted === 0 ? undefined : {requested: (node.requested.scalars.get(name) ?? 0) + wanted, capacity: node.allocatable.scalars.get(name) ?? 0};
    }
  }
};

/** Compares nodes by a strategy other than the usual one. */
export const resourceAllocation = (strategy: AllocationStrategy): Score => {
  const {resources} = strategy;
  const isRatio = strategy.type === 'RequestedToCapacityRatio';
  const scoreOf = isRatio ? requestedToCapacityRatio(strategy.shape) : strategy.type === 'LeastAllocated' ? leastRequestedScore : mostRequestedScore;
  return {
    plugin: 'NodeResourcesFit',
    weight: 1,
    prepare: pod => ({
      score(node) {
        let sum = 0;
        let weights = 0;
        for (const {name, weight} of resources) {
          const used = usageOf(name, pod, node);
          if (!used || used.capacity === 0) continue;
          const score = scoreOf(used.requested, used.capacity);
          if (isRatio && score <= 0) continue; // What is of no use is left out of the mean.
          sum += score * weight;
          weights += weight;
        }
        if (weights === 0) return 0;
        return isRatio ? Math.round(sum / weights) : Math.floor(sum / weights);
      },
    }),
  };
};
