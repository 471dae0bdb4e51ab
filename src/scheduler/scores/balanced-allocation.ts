import {signsResources} from '#src/scheduler/signatures/plugin-signatures.js';
import type {NodeInfo} from '#src/scheduler/cache/node-info.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import type {Score} from '#src/scheduler/framework/plugin.js';
import {maxNodeScore} from './normalize.js';

/** Returns the balance of cpu and memory utilization with the pod on the node, 100 at best. */
const balance = ({requests}: Pick<PodInfo, 'requests'>, {requested, allocatable}: Pick<NodeInfo, 'requested' | 'allocatable'>): number => {
  const used = (name: 'cpu' | 'memory') => Math.min(1, (requested[name] + requests[name]) / allocatable[name]);
  const deviation = allocatable.cpu > 0 && allocatable.memory > 0 ? Math.abs((used('cpu') - used('memory')) / 2) : 0;
  return Math.trunc((1 - deviation) * maxNodeScore);
};

/** Prefers nodes with balanced cpu and memory utilization. Does not apply to a pod that requests neither. */
export const balancedAllocation: Score = {
  plugin: 'NodeResourcesBalancedAllocation',
  sign: signsResources,
  weight: 1,
  prepare: pod =>
    pod.requests.cpu === 0 && pod.requests.memory === 0
      ? undefined
      : {signature: `${pod.requests.cpu} ${pod.requests.memory}`, score: node => balance(pod, node)},
};
