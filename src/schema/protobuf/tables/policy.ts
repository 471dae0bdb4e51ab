import type {GroupTable} from './group-table.js';

const v1 = {
  Eviction: '@1 metadata ObjectMeta; 2 deleteOptions *DeleteOptions',
  PodDisruptionBudget: '@1 metadata ObjectMeta; 2 spec PodDisruptionBudgetSpec; 3 status PodDisruptionBudgetStatus',
  PodDisruptionBudgetList: '@1 metadata ListMeta; 2 items []PodDisruptionBudget!',
  PodDisruptionBudgetSpec:
    '1 minAvailable *intorstring; 2 selector *LabelSelector; 3 maxUnavailable *intorstring; 4 unhealthyPodEvictionPolicy *string',
  PodDisruptionBudgetStatus:
    '1 observedGeneration int64; 2 disruptedPods {time}; 3 disruptionsAllowed int32!; 4 currentHealthy int32!; 5 desiredHealthy int32!; 6 expectedPods int32!; 7 conditions []Condition',
};

/** The protobuf messages of `policy`. */
export const policy: GroupTable = {
  v1,
  v1beta1: v1,
};
