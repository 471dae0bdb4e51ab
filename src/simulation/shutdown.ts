// Shutdowns of simulated nodes that an annotation asks for. Agents of real nodes end their pods in the same groups.

import {parseDuration} from '#src/api/duration.js';
import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Node} from '#src/api/types.js';
import {nodeReference} from '#src/platlet/node/conditions.js';
import {disruptedCondition} from '#src/platlet/pod/conditions.js';
import {
  graceOf,
  groupsOf,
  periodsOfTotal,
  shutdownMessage,
  shutdownReason,
  type PriorityPeriod,
  type ShutdownGroup,
} from '#src/platlet/node/shutdown-groups.js';
import {isNodeShutdown, shutdownKey, type Agent} from './node/agent.js';
import type {SimulationContext} from './node/context.js';
import {recordsOfNode} from './node-stats.js';
import type {PodRecords} from './streams/target.js';

/** How long pods may take: in all, and of that the critical ones. */
const defaultTotalMs = 30_000;
const defaultCriticalMs = 10_000;

/** The interval of looks at pods that are ending. */
const lookMs = 1_000;

/** Returns the periods that the annotation asks for: `30s/10s`, or the default ones. */
export const shutdownPeriods = (naming: Naming, node: Frozen<Node>): readonly PriorityPeriod[] => {
  const [total = '', critical = ''] = (node.metadata?.annotations?.[shutdownKey(naming)] ?? '').split('/');
  const totalMs = parseDuration(total.trim());
  if (totalMs === undefined) return periodsOfTotal(defaultTotalMs, defaultCriticalMs);
  return periodsOfTotal(totalMs, parseDuration(critical.trim()) ?? 0);
};

/** Looks at the shutdown of nodes, and ends pods. Returns the delay in ms until the next look; Infinity for none. */
export const shutdownLook = (context: SimulationContext, pods: Pick<PodRecords, 'recordOf'>) => {
  const {naming, clock, timeline} = context;

  const tell = (agent: Agent, what: string): void =>
    agent.events.normal(nodeReference(naming, agent.machine.name), 'NodeShutdown', `Shutdown manager detected ${what}`);
  const recordsOf = ({machine: {name}}: Agent) => recordsOfNode(context, pods.recordOf, name).filter(({isFinished}) => !isFinished);

  const end = (agent: Agent, group: ShutdownGroup): void => {
    const records = new Map(recordsOf(agent).map(record => [record.uid, record]));
    for (const pod of group.pods) {
      const record = records.get(pod.metadata?.uid ?? '');
      if (!record) continue;
      const now = timeline.now();
      record.termination = {
        since: now,
        deadline: now + graceOf(pod, group) * 1000,
        reason: shutdownReason,
        message: shutdownMessage,
        failed: true,
        disruption: disruptedCondition(naming, shutdownMessage),
      };
      context.enqueuePod(record.key);
    }
  };

  /** Begins the next group that has pods, once those of the one before have ended or had their time. */
  const goOn = (agent: Agent, groups: readonly ShutdownGroup[]): number => {
    const [next, ...later] = groups.filter(group => group.pods.length > 0);
    if (!next) {
      agent.shutdown = {ending: undefined, later: []};
      return Infinity;
    }
    end(agent, next);
    agent.shutdown = {ending: {group: next, until: clock.monotonic() + next.seconds * 1000}, later};
    return Math.min(lookMs, next.seconds * 1000);
  };

  return (agent: Agent, node: Frozen<Node>): number => {
    if (!isNodeShutdown(naming, node)) {
      if (agent.shutdown) tell(agent, 'shutdown cancellation');
      agent.shutdown = undefined;
      return Infinity;
    }
    if (!agent.shutdown) {
      tell(agent, 'shutdown event');
      const periods = shutdownPeriods(naming, node);
      return goOn(
        agent,
        groupsOf(
          periods,
          recordsOf(agent).map(({pod}) => pod),
        ),
      );
    }
    const {ending, later} = agent.shutdown;
    if (!ending) return Infinity;
    const left = ending.until - clock.monotonic();
    const uids = new Set(ending.group.pods.map(({metadata}) => metadata?.uid));
    if (left > 0 && recordsOf(agent).some(({uid}) => uids.has(uid))) return Math.min(lookMs, left);
    return goOn(agent, later);
  };
};
