import type {GroupMarkers} from './types.js';

/** The markers of `autoscaling`, which its field tables do not contain. */
export const autoscaling: GroupMarkers = {
  v1: {
    CrossVersionObjectReference: {'*': 'atomic'},
    HorizontalPodAutoscalerSpec: {'*': 'required(scaleTargetRef,maxReplicas) pointers(minReplicas,targetCPUUtilizationPercentage)'},
    HorizontalPodAutoscalerStatus: {'*': 'pointers(currentCPUUtilizationPercentage,observedGeneration)'},
    ScaleSpec: {replicas: 'value'},
  },
  v2: {
    ContainerResourceMetricSource: {'*': 'required(name,target,container)'},
    ContainerResourceMetricStatus: {'*': 'required(name,current,container)'},
    ExternalMetricStatus: {'*': 'required(metric,current)'},
    HPAScalingPolicy: {'*': 'required(type,value,periodSeconds)'},
    HPAScalingRules: {'*': 'pointers(selectPolicy,stabilizationWindowSeconds) kept(policies)', policies: 'atomic', tolerance: ':quantity'},
    HorizontalPodAutoscalerCondition: {'*': 'required(type,status)', lastTransitionTime: 'null'},
    HorizontalPodAutoscalerSpec: {'*': 'required(scaleTargetRef,maxReplicas) pointers(minReplicas)', metrics: 'atomic'},
    HorizontalPodAutoscalerStatus: {
      '*': 'pointers(observedGeneration) kept(currentMetrics)',
      conditions: 'map(type) patch=merge(type)',
      currentMetrics: 'atomic',
    },
    MetricTarget: {'*': 'pointers(averageUtilization)', averageValue: ':quantity', value: ':quantity'},
    MetricValueStatus: {'*': 'pointers(averageUtilization)', averageValue: ':quantity', value: ':quantity'},
    ObjectMetricSource: {'*': 'required(describedObject,target,metric)'},
    ObjectMetricStatus: {'*': 'required(metric,current,describedObject)'},
    PodsMetricStatus: {'*': 'required(metric,current)'},
    ResourceMetricStatus: {'*': 'required(name,current)'},
  },
};
