import {exponentialBuckets} from '#src/base/meter.js';
import type {ControllerContext} from '#src/runtime/controller.js';

/** Returns functions that measure how long the check of one node, and of all nodes, takes. */
export const durations = ({meter, clock}: Pick<ControllerContext, 'meter' | 'clock'>) => {
  const one = meter.histogram({
    name: 'node_collector_update_node_health_duration_seconds',
    help: 'Duration in seconds for NodeController to update the health of a single node.',
    buckets: exponentialBuckets(0.001, 4, 8),
  });
  const all = meter.histogram({
    name: 'node_collector_update_all_nodes_health_duration_seconds',
    help: 'Duration in seconds for NodeController to update the health of all nodes.',
    buckets: exponentialBuckets(0.01, 4, 8),
  });
  const timed = async <T>(histogram: typeof one, act: () => Promise<T>): Promise<T> => {
    const began = clock.monotonic();
    try {
      return await act();
    } finally {
      histogram.observe((clock.monotonic() - began) / 1000);
    }
  };
  return {one: <T>(act: () => Promise<T>) => timed(one, act), all: <T>(act: () => Promise<T>) => timed(all, act)};
};
