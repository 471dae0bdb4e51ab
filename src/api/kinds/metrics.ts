import {kind} from '#src/api/kind.js';
import type {KubeObject} from '#src/api/types.js';

/** Amounts by resource, as quantities. */
type ResourceList = Record<string, string>;

/** What a node used over `window` up to `timestamp`. */
export interface NodeMetrics extends KubeObject {
  timestamp: string;
  window: string;
  usage: ResourceList;
}
/** What the containers of a pod used over `window` up to `timestamp`. */
export interface PodMetrics extends KubeObject {
  timestamp: string;
  window: string;
  containers: {name: string; usage: ResourceList}[];
}

/** The kinds of the group, which are called by what they are measured of. */
export const metricsKinds = {
  nodeMetrics: {...kind<NodeMetrics>('metrics', 'v1beta1', 'NodeMetrics', 'nodes', false), singular: 'node'},
  podMetrics: {...kind<PodMetrics>('metrics', 'v1beta1', 'PodMetrics', 'pods', true), singular: 'pod'},
} as const;
