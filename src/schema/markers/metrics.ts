import type {GroupMarkers} from './types.js';

/** The types of `metrics`, which have no field table. */
export const metrics: GroupMarkers = {
  v1beta1: {
    ContainerMetrics: {name: ':string required', usage: ':map[string]quantity required'},
    NodeMetrics: {
      apiVersion: ':string',
      kind: ':string',
      metadata: ':meta/v1.ObjectMeta',
      timestamp: ':time required',
      usage: ':map[string]quantity required',
      window: ':string required',
    },
    NodeMetricsList: {
      apiVersion: ':string',
      items: ':[]metrics/v1beta1.NodeMetrics required',
      kind: ':string',
      metadata: ':meta/v1.ListMeta',
    },
    PodMetrics: {
      apiVersion: ':string',
      containers: ':[]metrics/v1beta1.ContainerMetrics required atomic',
      kind: ':string',
      metadata: ':meta/v1.ObjectMeta',
      timestamp: ':time required',
      window: ':string required',
    },
    PodMetricsList: {
      apiVersion: ':string',
      items: ':[]metrics/v1beta1.PodMetrics required',
      kind: ':string',
      metadata: ':meta/v1.ListMeta',
    },
  },
};
