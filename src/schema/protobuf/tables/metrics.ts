import type {GroupTable} from './group-table.js';

const v1alpha1 = {
  ContainerMetrics: '1 name string!; 2 usage {quantity}!',
  NodeMetrics: '@1 metadata ObjectMeta; 2 timestamp time; 3 window duration; 4 usage {quantity}!',
  NodeMetricsList: '@1 metadata ListMeta; 2 items []NodeMetrics!',
  PodMetrics: '@1 metadata ObjectMeta; 2 timestamp time; 3 window duration; 4 containers []ContainerMetrics!',
  PodMetricsList: '@1 metadata ListMeta; 2 items []PodMetrics!',
};

/** The protobuf messages of `metrics`. */
export const metrics: GroupTable = {
  v1alpha1,
  v1beta1: v1alpha1,
};
