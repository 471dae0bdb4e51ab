import type {GroupTable} from './group-table.js';

const v2beta1 = {
  ContainerResourceMetricSource: '1 name string!; 2 targetAverageUtilization *int32; 3 targetAverageValue *quantity; 4 container string!',
  ContainerResourceMetricStatus: '1 name string!; 2 currentAverageUtilization *int32; 3 currentAverageValue quantity; 4 container string!',
  CrossVersionObjectReference: '1 kind string!; 2 name string!; 3 apiVersion string',
  ExternalMetricSource: '1 metricName string!; 2 metricSelector *LabelSelector; 3 targetValue *quantity; 4 targetAverageValue *quantity',
  ExternalMetricStatus: '1 metricName string!; 2 metricSelector *LabelSelector; 3 currentValue quantity; 4 currentAverageValue *quantity',
  HorizontalPodAutoscaler: '@1 metadata ObjectMeta; 2 spec HorizontalPodAutoscalerSpec; 3 status HorizontalPodAutoscalerStatus',
  HorizontalPodAutoscalerCondition: '1 type string!; 2 status string!; 3 lastTransitionTime time; 4 reason string; 5 message string',
  HorizontalPodAutoscalerList: '@1 metadata ListMeta; 2 items []HorizontalPodAutoscaler!',
  HorizontalPodAutoscalerSpec:
    '1 scaleTargetRef CrossVersionObjectReference; 2 minReplicas *int32; 3 maxReplicas int32!; 4 metrics []MetricSpec',
  HorizontalPodAutoscalerStatus:
    '1 observedGeneration *int64; 2 lastScaleTime *time; 3 currentReplicas int32!; 4 desiredReplicas int32!; 5 currentMetrics []MetricStatus; 6 conditions []HorizontalPodAutoscalerCondition',
  MetricSpec:
    '1 type string!; 2 object *ObjectMetricSource; 3 pods *PodsMetricSource; 4 resource *ResourceMetricSource; 5 external *ExternalMetricSource; 7 containerResource *ContainerResourceMetricSource',
  MetricStatus:
    '1 type string!; 2 object *ObjectMetricStatus; 3 pods *PodsMetricStatus; 4 resource *ResourceMetricStatus; 5 external *ExternalMetricStatus; 7 containerResource *ContainerResourceMetricStatus',
  ObjectMetricSource:
    '1 target CrossVersionObjectReference; 2 metricName string!; 3 targetValue quantity; 4 selector *LabelSelector; 5 averageValue *quantity',
  ObjectMetricStatus:
    '1 target CrossVersionObjectReference; 2 metricName string!; 3 currentValue quantity; 4 selector *LabelSelector; 5 averageValue *quantity',
  PodsMetricSource: '1 metricName string!; 2 targetAverageValue quantity; 3 selector *LabelSelector',
  PodsMetricStatus: '1 metricName string!; 2 currentAverageValue quantity; 3 selector *LabelSelector',
  ResourceMetricSource: '1 name string!; 2 targetAverageUtilization *int32; 3 targetAverageValue *quantity',
  ResourceMetricStatus: '1 name string!; 2 currentAverageUtilization *int32; 3 currentAverageValue quantity',
};

const v2 = {
  ...v2beta1,
  ContainerResourceMetricSource: '1 name string!; 2 target MetricTarget; 3 container string!',
  ContainerResourceMetricStatus: '1 name string!; 2 current MetricValueStatus; 3 container string!',
  ExternalMetricSource: '1 metric MetricIdentifier; 2 target MetricTarget',
  ExternalMetricStatus: '1 metric MetricIdentifier; 2 current MetricValueStatus',
  HPAScalingPolicy: '1 type string!; 2 value int32!; 3 periodSeconds int32!',
  HPAScalingRules: '1 selectPolicy *string; 2 policies []HPAScalingPolicy; 3 stabilizationWindowSeconds *int32; 4 tolerance *quantity',
  HorizontalPodAutoscalerBehavior: '1 scaleUp *HPAScalingRules; 2 scaleDown *HPAScalingRules',
  HorizontalPodAutoscalerSpec:
    '1 scaleTargetRef CrossVersionObjectReference; 2 minReplicas *int32; 3 maxReplicas int32!; 4 metrics []MetricSpec; 5 behavior *HorizontalPodAutoscalerBehavior',
  HorizontalPodAutoscalerStatus:
    '1 observedGeneration *int64; 2 lastScaleTime *time; 3 currentReplicas int32; 4 desiredReplicas int32!; 5 currentMetrics []MetricStatus; 6 conditions []HorizontalPodAutoscalerCondition',
  MetricIdentifier: '1 name string!; 2 selector *LabelSelector',
  MetricTarget: '1 type string!; 2 value *quantity; 3 averageValue *quantity; 4 averageUtilization *int32',
  MetricValueStatus: '1 value *quantity; 2 averageValue *quantity; 3 averageUtilization *int32',
  ObjectMetricSource: '1 describedObject CrossVersionObjectReference; 2 target MetricTarget; 3 metric MetricIdentifier',
  ObjectMetricStatus: '1 metric MetricIdentifier; 2 current MetricValueStatus; 3 describedObject CrossVersionObjectReference',
  PodsMetricSource: '1 metric MetricIdentifier; 2 target MetricTarget',
  PodsMetricStatus: '1 metric MetricIdentifier; 2 current MetricValueStatus',
  ResourceMetricSource: '1 name string!; 2 target MetricTarget',
  ResourceMetricStatus: '1 name string!; 2 current MetricValueStatus',
};

/** The protobuf messages of `autoscaling`. */
export const autoscaling: GroupTable = {
  v1: {
    CrossVersionObjectReference: '1 kind string!; 2 name string!; 3 apiVersion string',
    HorizontalPodAutoscaler: '@1 metadata ObjectMeta; 2 spec HorizontalPodAutoscalerSpec; 3 status HorizontalPodAutoscalerStatus',
    HorizontalPodAutoscalerList: '@1 metadata ListMeta; 2 items []HorizontalPodAutoscaler!',
    HorizontalPodAutoscalerSpec:
      '1 scaleTargetRef CrossVersionObjectReference; 2 minReplicas *int32; 3 maxReplicas int32!; 4 targetCPUUtilizationPercentage *int32',
    HorizontalPodAutoscalerStatus:
      '1 observedGeneration *int64; 2 lastScaleTime *time; 3 currentReplicas int32!; 4 desiredReplicas int32!; 5 currentCPUUtilizationPercentage *int32',
    Scale: '@1 metadata ObjectMeta; 2 spec ScaleSpec; 3 status ScaleStatus',
    ScaleSpec: '1 replicas int32',
    ScaleStatus: '1 replicas int32!; 2 selector string',
  },
  v2,
  v2beta1,
  v2beta2: {
    ...v2,
    HPAScalingRules: '1 selectPolicy *string; 2 policies []HPAScalingPolicy; 3 stabilizationWindowSeconds *int32',
    HorizontalPodAutoscalerStatus:
      '1 observedGeneration *int64; 2 lastScaleTime *time; 3 currentReplicas int32!; 4 desiredReplicas int32!; 5 currentMetrics []MetricStatus; 6 conditions []HorizontalPodAutoscalerCondition',
  },
};
