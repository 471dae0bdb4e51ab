// What two readings of the metrics of an API server say of its requests.

import {quantile, total, type Metrics, type Sample} from './metrics-text.js';

/** The metrics that `requestCounts` reads. */
export const requestMetrics = [
  'apiserver_request_total',
  'apiserver_request_sli_duration_seconds_bucket',
  'apiserver_current_inflight_requests',
  'apiserver_longrunning_requests',
];

/** What a server has counted until `atMs`, and what it does at that time. */
export interface RequestCounts {
  readonly atMs: number;
  readonly reads: number;
  readonly writes: number;
  /** Those with a status from 400 on, which are reads or writes too. */
  readonly refused: number;
  /** The buckets of all requests but watches. */
  readonly latencies: readonly Sample[];
  readonly inflight: number;
  readonly watches: number;
}

/** Requests a second, and the time in seconds that 99 % of them took at most; NaN if there were none. */
export interface RequestRates {
  readonly reads: number;
  readonly writes: number;
  readonly refused: number;
  readonly latencyMost: number;
}

const reads = new Set(['GET', 'LIST', 'WATCH']);

/** Returns what the metrics that were read at `atMs` say of requests. */
export const requestCounts = (metrics: Metrics, atMs: number): RequestCounts => ({
  atMs,
  reads: total(metrics, 'apiserver_request_total', ({verb = ''}) => reads.has(verb)),
  writes: total(metrics, 'apiserver_request_total', ({verb = ''}) => !reads.has(verb)),
  refused: total(metrics, 'apiserver_request_total', ({code = ''}) => code >= '400'),
  latencies: (metrics.get('apiserver_request_sli_duration_seconds_bucket') ?? []).filter(({labels}) => labels['verb'] !== 'WATCH'),
  inflight: total(metrics, 'apiserver_current_inflight_requests'),
  watches: total(metrics, 'apiserver_longrunning_requests', ({verb}) => verb === 'WATCH'),
});

/** Returns the rates between two readings. A server that has begun to count anew has none below 0. */
export const requestRates = (now: RequestCounts, before: RequestCounts): RequestRates => {
  const seconds = Math.max(1, now.atMs - before.atMs) / 1000;
  const rate = (key: 'reads' | 'writes' | 'refused'): number => Math.max(0, now[key] - before[key]) / seconds;
  return {
    reads: rate('reads'),
    writes: rate('writes'),
    refused: rate('refused'),
    latencyMost: quantile(0.99, now.latencies, before.latencies),
  };
};
