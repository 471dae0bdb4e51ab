import {exponentialBuckets, type Meter} from '#src/base/meter.js';
import type {UnusableReason} from './unusable-reason.js';

const results = ['no_hint', 'hint_used', 'hint_not_used'] as const;
export type AttemptResult = (typeof results)[number];

/** Why a batch is not used, or none is made of the results for a pod. */
export type FlushReason = UnusableReason | 'empty_list' | 'pod_not_batchable';
const reasons: readonly FlushReason[] = [
  'pod_skipped',
  'pod_incompatible',
  'expired',
  'node_missing',
  'node_not_full',
  'empty_list',
  'pod_not_batchable',
];

/** Returns the series of each label value, kept at hand because each pod is counted. */
const seriesOf = <K extends string, S>(values: readonly K[], at: (value: K) => S): Readonly<Record<K, S>> =>
  Object.fromEntries(values.map(value => [value, at(value)])) as Record<K, S>;

/** What is measured of the batches of one profile. Times are in ms. */
export interface BatchMetrics {
  countAttempt(result: AttemptResult): void;
  countFlush(reason: FlushReason): void;
  observeHint(hinted: 'hint' | 'no_hint', ms: number): void;
  observeStore(ms: number): void;
  observeSign(ms: number): void;
}

/** Returns the metrics of batches for each profile, under upstream's names and with its help texts. */
export const batchMetrics = (meter: Meter): ((profile: string) => Omit<BatchMetrics, 'observeSign'>) => {
  const attempts = meter.counter({
    name: 'scheduler_batch_attempts_total',
    help: 'Counts of results when we attempt to use batching.',
    labels: ['profile', 'result'],
  });
  const flushes = meter.counter({
    name: 'scheduler_batch_cache_flushed_total',
    help: 'Counts of cache flushes by reason.',
    labels: ['profile', 'reason'],
  });
  const hintTime = meter.histogram({
    name: 'scheduler_get_node_hint_duration_seconds',
    help: 'Latency for getting a node hint.',
    labels: ['hinted', 'profile'],
    buckets: exponentialBuckets(0.00001, 2, 12),
  });
  const storeTime = meter.histogram({
    name: 'scheduler_store_schedule_results_duration_seconds',
    help: 'Latency for getting a no.',
    labels: ['profile'],
    buckets: exponentialBuckets(0.00001, 2, 12),
  });
  return profile => {
    const byResult = seriesOf(results, result => attempts.at({profile, result}));
    const byReason = seriesOf(reasons, reason => flushes.at({profile, reason}));
    const byHint = seriesOf(['hint', 'no_hint'], hinted => hintTime.at({hinted, profile}));
    const stores = storeTime.at({profile});
    return {
      countAttempt: result => byResult[result].add(),
      countFlush: reason => byReason[reason].add(),
      observeHint: (hinted, ms) => byHint[hinted].observe(ms / 1000),
      observeStore: ms => stores.observe(ms / 1000),
    };
  };
};
