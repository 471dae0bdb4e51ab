import type {GroupMarkers} from './types.js';

/** The markers of `policy`, which its field tables do not contain. */
export const policy: GroupMarkers = {
  v1: {
    PodDisruptionBudgetSpec: {'*': 'pointers(unhealthyPodEvictionPolicy)', selector: 'patch=replace'},
    PodDisruptionBudgetStatus: {
      '*': 'required(disruptionsAllowed,currentHealthy,desiredHealthy,expectedPods)',
      conditions: 'map(type) patch=merge(type)',
    },
  },
};
