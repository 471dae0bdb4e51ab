// What is reported of evictions beside the pods' own events: an event of the node, and metrics.

import type {Clock} from '#src/base/clock.js';
import type {AgentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import type {EventRecorder, Regarding} from '#src/runtime/events/events.js';
import type {StarvedResource} from '#src/platlet/eviction/signals.js';

export interface EvictionReports {
  /** Called when a resource is short. */
  reclaims(resource: StarvedResource): void;
  /** Called with the signal of a pod's eviction. */
  evicted(signal: string): void;
  /** Called with when the measurements were made that pods are evicted for. */
  measuredAt(signal: string, at: number): void;
}

export interface EvictionReportsContext {
  readonly events: EventRecorder;
  readonly node: Regarding;
  readonly metrics: Pick<AgentMetrics, 'evictions' | 'evictionStatsAge'>;
  readonly clock: Clock;
}

/** Returns what reports evictions by events and metrics. */
export const evictionReports = ({events, node, metrics, clock}: EvictionReportsContext): EvictionReports => ({
  reclaims: resource => events.warning(node, 'EvictionThresholdMet', `Attempting to reclaim ${resource}`),
  evicted: signal => metrics.evictions.add({eviction_signal: signal}),
  measuredAt: (signal, at) => metrics.evictionStatsAge.observe(Math.max(0, clock.now() - at) / 1000, {eviction_signal: signal}),
});
