import type {GroupFacts} from './form.js';

/** What the field tables of `autoscaling` do not say by themselves. */
export const autoscaling: GroupFacts = {
  v1: {
    CrossVersionObjectReference: {'*': 'atomic'},
    ScaleSpec: {replicas: 'value'},
  },
  v2: {
    HPAScalingRules: {policies: 'atomic', tolerance: ':quantity'},
    HorizontalPodAutoscalerSpec: {metrics: 'atomic'},
    HorizontalPodAutoscalerStatus: {conditions: 'map(type) patch=merge(type)', currentMetrics: 'atomic'},
    MetricTarget: {averageValue: ':quantity', value: ':quantity'},
    MetricValueStatus: {averageValue: ':quantity', value: ':quantity'},
  },
};
