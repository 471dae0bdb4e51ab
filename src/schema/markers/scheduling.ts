import type {GroupMarkers} from './types.js';

/** The markers of `scheduling`, which its field tables do not contain. */
export const scheduling: GroupMarkers = {
  v1: {
    PriorityClass: {'*': 'pointers(preemptionPolicy)'},
  },
  v1alpha1: {
    BasicSchedulingPolicy: {},
    GangSchedulingPolicy: {minCount: ':int32 required'},
    PodGroup: {name: ':string required', policy: ':scheduling/v1alpha1.PodGroupPolicy required'},
    PodGroupPolicy: {basic: ':scheduling/v1alpha1.BasicSchedulingPolicy', gang: ':scheduling/v1alpha1.GangSchedulingPolicy'},
    TypedLocalObjectReference: {apiGroup: ':string', kind: ':string required', name: ':string required'},
    Workload: {apiVersion: ':string', kind: ':string', metadata: ':meta/v1.ObjectMeta', spec: ':scheduling/v1alpha1.WorkloadSpec required'},
    WorkloadList: {
      apiVersion: ':string',
      items: ':[]scheduling/v1alpha1.Workload required',
      kind: ':string',
      metadata: ':meta/v1.ListMeta',
    },
    WorkloadSpec: {
      controllerRef: ':scheduling/v1alpha1.TypedLocalObjectReference',
      podGroups: ':[]scheduling/v1alpha1.PodGroup required map(name)',
    },
  },
};
