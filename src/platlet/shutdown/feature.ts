import type {AgentFeature, FeatureContext} from '#src/platlet/feature/feature.js';
import {endingPods} from '#src/platlet/worker/ending-pods.js';
import {endPods} from './end-pods.js';
import type {PriorityPeriod} from '#src/platlet/node/shutdown-groups.js';
import {periodsOf, totalMsOf} from './periods.js';
import {systemLogind} from './logind.js';
import {ShutdownManager, type ShutdownNode} from './manager.js';
import {loadTimes, showTimes, storeTimes, type ShutdownTimes} from './state.js';

/** Ends the pods in order when the machine shuts down. */
export const gracefulShutdown: AgentFeature = {
  name: 'node shutdown manager',
  async start(context) {
    const {settings, flags, gate, naming, host, metrics, clock, log, signal} = context;
    if (!gate('GracefulNodeShutdown')) return;
    const periods = periodsOf(settings, gate('GracefulNodeShutdownBasedOnPodPriority'));
    if (periods.length === 0) return;
    const manager = new ShutdownManager({
      logind: systemLogind({naming, host, clock}),
      node: shutdownNode(context, periods),
      totalMs: totalMsOf(periods),
      clock,
      log,
      signal,
    });
    await manager.start();
    if (!gate('GracefulNodeShutdownBasedOnPodPriority')) return;
    try {
      showTimes(metrics, await loadTimes(host, flags.rootDir));
    } catch (error) {
      log.error({err: error}, 'failed to load graceful shutdown state');
    }
  },
};

/** What of an agent takes part in a shutdown. */
type ShutdownContext = Pick<
  FeatureContext,
  'naming' | 'node' | 'condition' | 'pods' | 'workers' | 'reportNode' | 'events' | 'clock' | 'log' | 'signal'
> &
  Pick<FeatureContext, 'flags' | 'gate' | 'host' | 'metrics'>;

/** The node whose pods end in groups. */
export const shutdownNode = (context: ShutdownContext, periods: readonly PriorityPeriod[]): ShutdownNode => {
  const {naming, node, condition, pods, workers, reportNode, events, clock, log, signal} = context;
  return {
    event: message => events.normal(node, 'NodeShutdown', message),
    shutsDown(isShuttingDown) {
      condition.isShuttingDown = isShuttingDown;
      if (isShuttingDown) reportNode();
    },
    endPods: () => timed(context, () => endPods({naming, pods: endingPods(pods, workers), periods, clock, log, signal})),
  };
};

/** Keeps when the work began and ended. */
const timed = async ({flags, gate, host, metrics, clock, log}: ShutdownContext, work: () => Promise<void>): Promise<void> => {
  if (!gate('GracefulNodeShutdownBasedOnPodPriority')) return await work();
  const store = async (times: ShutdownTimes): Promise<void> => {
    showTimes(metrics, times);
    await storeTimes(host, flags.rootDir, times).catch((error: unknown) =>
      log.error({err: error}, 'failed to store graceful shutdown state'),
    );
  };
  const startedAt = clock.now();
  metrics.shutdownEnd.set(0);
  await store({startedAt});
  await work();
  await store({startedAt, endedAt: clock.now()});
};
