import type {Score} from '#src/scheduler/framework/plugin.js';
import {balancedAllocation} from './balanced-allocation.js';
import {dynamicResourcesScore} from './dynamic-resources.js';
import {imageLocality} from './image-locality.js';
import {interPodAffinityScore} from './inter-pod-affinity.js';
import {leastAllocated} from './least-allocated.js';
import {nodeAffinityScore} from './node-affinity.js';
import {podTopologySpreadScore} from './pod-topology-spread.js';
import {taintTolerationScore} from './taint-toleration.js';
import {volumeBindingScore} from './volume-binding.js';

/** All scores, with their default weights. */
export const scores: readonly Score[] = [
  taintTolerationScore,
  nodeAffinityScore,
  leastAllocated,
  podTopologySpreadScore,
  interPodAffinityScore,
  balancedAllocation,
  imageLocality,
  volumeBindingScore,
  dynamicResourcesScore,
];
