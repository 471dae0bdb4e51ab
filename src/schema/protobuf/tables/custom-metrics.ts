import type {GroupTable} from './group-table.js';

const v1beta1 = {
  MetricListOptions: '@1 labelSelector string; 2 metricLabelSelector string',
  MetricValue:
    '@1 describedObject core/v1.ObjectReference; 2 metricName string!; 3 timestamp time; 4 window *int64; 5 value quantity; 6 selector *LabelSelector',
  MetricValueList: '@1 metadata ListMeta; 2 items []MetricValue!',
};

/** The protobuf messages of `custom.metrics`. */
export const customMetrics: GroupTable = {
  v1beta1,
  v1beta2: {
    ...v1beta1,
    MetricIdentifier: '1 name string!; 2 selector *LabelSelector',
    MetricValue:
      '@1 describedObject core/v1.ObjectReference; 2 metric MetricIdentifier; 3 timestamp time; 4 windowSeconds *int64; 5 value quantity',
  },
};
