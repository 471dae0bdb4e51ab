import type {Filter} from '#src/scheduler/plugin.js';
import {nodeAffinity} from './node-affinity.js';
import {nodeName} from './node-name.js';
import {nodePorts} from './node-ports.js';
import {nodeResourcesFit} from './node-resources-fit.js';
import {interPodAffinity} from './inter-pod-affinity.js';
import {podTopologySpread} from './pod-topology-spread.js';
import {nodeUnschedulable} from './node-unschedulable.js';
import {taintToleration} from './taint-toleration.js';

/** Every filter, in the order they are asked: the first objection is the one people are told. */
export const filters: readonly Filter[] = [nodeUnschedulable, nodeName, taintToleration, nodeAffinity, nodePorts, nodeResourcesFit, podTopologySpread, interPodAffinity];
