import type {GroupTable} from './group-table.js';

const v1 = {
  PriorityClass: '@1 metadata ObjectMeta; 2 value int32!; 3 globalDefault bool; 4 description string; 5 preemptionPolicy *string',
  PriorityClassList: '@1 metadata ListMeta; 2 items []PriorityClass!',
};

/** The protobuf messages of `scheduling`. */
export const scheduling: GroupTable = {
  v1,
  v1alpha1: {
    ...v1,
    BasicSchedulingPolicy: '',
    GangSchedulingPolicy: '1 minCount int32!',
    PodGroup: '1 name string!; 3 policy PodGroupPolicy',
    PodGroupPolicy: '2 basic *BasicSchedulingPolicy; 3 gang *GangSchedulingPolicy',
    TypedLocalObjectReference: '1 apiGroup string; 2 kind string!; 3 name string!',
    Workload: '@1 metadata ObjectMeta; 2 spec WorkloadSpec',
    WorkloadList: '@1 metadata ListMeta; 2 items []Workload!',
    WorkloadSpec: '1 controllerRef *TypedLocalObjectReference; 2 podGroups []PodGroup!',
  },
  v1beta1: v1,
};
