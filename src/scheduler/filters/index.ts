import type {Filter} from '#src/scheduler/framework/plugin.js';
import {dynamicResources} from './dynamic-resources.js';
import {interPodAffinity} from './inter-pod-affinity.js';
import {nodeAffinity} from './node-affinity.js';
import {nodeDeclaredFeatures} from './node-declared-features.js';
import {nodeName} from './node-name.js';
import {nodePorts} from './node-ports.js';
import {nodeResourcesFit} from './node-resources-fit.js';
import {nodeUnschedulable} from './node-unschedulable.js';
import {nodeVolumeLimits} from './node-volume-limits.js';
import {podTopologySpread} from './pod-topology-spread.js';
import {taintToleration} from './taint-toleration.js';
import {volumeBinding} from './volume-binding.js';
import {volumeRestrictions} from './volume-restrictions.js';
import {volumeZone} from './volume-zone.js';

/** All filters, in the order in which they run: the first rejection of a node is the one reported. */
export const filters: readonly Filter[] = [
  nodeUnschedulable,
  nodeName,
  taintToleration,
  nodeAffinity,
  nodePorts,
  nodeResourcesFit,
  volumeRestrictions,
  nodeVolumeLimits,
  volumeBinding,
  volumeZone,
  podTopologySpread,
  interPodAffinity,
  dynamicResources,
  nodeDeclaredFeatures,
];
