// The events that the runtime streams when containers and sandboxes change.

import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {AgentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import type {Runtime} from '#src/platlet/runtime/runtime.js';
import type {ContainerEvent} from '#src/platlet/runtime/state.js';

/** After so many failures of the stream it is given up. */
const maxStreamFailures = 5;

export interface ContainerEventsParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly runtime: Pick<Runtime, 'followEvents'>;
  readonly metrics: Pick<AgentMetrics, 'eventConnections' | 'eventErrors' | 'eventLatency'>;
  readonly signal: AbortSignal;
}

/**
 * Passes on the events of the runtime. A stream that ends is opened again at once, after `failed`. Resolves once it is
 * given up, or when the signal aborts.
 */
export const followContainerEvents = async (
  {clock, log, runtime, metrics, signal}: ContainerEventsParts,
  received: (event: ContainerEvent) => void,
  failed: () => Promise<void>,
): Promise<void> => {
  const follower = {
    connected: () => metrics.eventConnections.add(),
    received(event: ContainerEvent | undefined) {
      if (!event) return log.error('received an event of a container without the status of its sandbox');
      metrics.eventLatency.observe((clock.now() - event.createdAt) / 1000);
      received(event);
    },
  };
  for (let failures = 0; failures < maxStreamFailures; failures++) {
    try {
      await runtime.followEvents(follower, signal);
    } catch (error) {
      metrics.eventErrors.add();
      log.v(4).info({err: error}, 'failed to get the events of containers');
    }
    if (signal.aborted) return;
    await failed();
  }
};
