import type {GroupFacts} from './form.js';

/** What the field tables of `autoscaling` do not say by themselves. */
export const autoscaling: GroupFacts = {
  v1: {
    CrossVersionObjectReference: {'*': 'atomic'},
    HorizontalPodAutoscalerSpec: {'*': 'required(scaleTargetRef,maxReplicas)'},
    ScaleSpec: {replicas: 'value'},
  },
  v2: {
    ContainerResourceMetricSource: {'*': 'required(name,target,container)'},
    ContainerResourceMetricStatus: {'*': 'required(name,current,container)'},
    ExternalMetricStatus: {'*': 'required(metric,current)'},
    HPAScalingPolicy: {'*': 'required(type,value,periodSeconds)'},
    HPAScalingRules: {policies: 'atomic', tolerance: ':quantity'},
    HorizontalPodAutoscalerCondition: {'*': 'required(type,status)'},
    HorizontalPodAutoscalerSpec: {'*': 'required(scaleTargetRef,maxReplicas)', metrics: 'atomic'},
    HorizontalPodAutoscalerStatus: {conditions: 'map(type) patch=merge(type)', currentMetrics: 'atomic'},
    MetricTarget: {averageValue: ':quantity', value: ':quantity'},
    MetricValueStatus: {averageValue: ':quantity', value: ':quantity'},
    ObjectMetricSource: {'*': 'required(describedObject,target,metric)'},
    ObjectMetricStatus: {'*': 'required(metric,current,describedObject)'},
    PodsMetricStatus: {'*': 'required(metric,current)'},
    ResourceMetricStatus: {'*': 'required(name,current)'},
  },
};
