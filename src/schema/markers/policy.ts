import type {GroupMarkers} from './types.js';

/** What the field tables of `policy` do not say by themselves. */
export const policy: GroupMarkers = {
  v1: {
    PodDisruptionBudgetSpec: {'*': 'pointers(unhealthyPodEvictionPolicy)', selector: 'patch=replace'},
    PodDisruptionBudgetStatus: {
      '*': 'required(disruptionsAllowed,currentHealthy,desiredHealthy,expectedPods)',
      conditions: 'map(type) patch=merge(type)',
    },
  },
};
