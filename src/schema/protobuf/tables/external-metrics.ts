import type {GroupTable} from './group-table.js';

/** The protobuf messages of `external.metrics`. */
export const externalMetrics: GroupTable = {
  v1beta1: {
    ExternalMetricValue: '@1 metricName string!; 2 metricLabels {string}; 3 timestamp time; 4 window *int64; 5 value quantity',
    ExternalMetricValueList: '@1 metadata ListMeta; 2 items []ExternalMetricValue!',
  },
};
