// Evictions from simulated nodes that an annotation puts under pressure. Agents of real nodes decide in the same way.

import type {Frozen} from '#src/api/key.js';
import type {NodeStats} from '#src/api/node/stats.js';
import type {Pod} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import {evictionText, evictedReason} from '#src/platlet/eviction/message.js';
import {judge, noPressure} from '#src/platlet/eviction/pressure.js';
import {ranked} from '#src/platlet/eviction/ranking.js';
import {observationsOf, signals} from '#src/platlet/eviction/signals.js';
import {thresholdsOf, type Threshold} from '#src/platlet/eviction/thresholds.js';
import {nodeReference} from '#src/platlet/node/conditions.js';
import {disruptedCondition} from '#src/platlet/pod/conditions.js';
import {isCritical} from '#src/platlet/pod/origin.js';
import {scarceResources, type Agent} from './node/agent.js';
import {nodeStatsReader, recordsOfNode} from './node-stats.js';
import type {SimulationContext} from './node/context.js';
import type {PodRecord} from './pod/record.js';
import type {PodRecords} from './streams/target.js';

/** The interval of looks at a node, and at pods that are being evicted, and the limit of the latter. */
const lookMs = 10_000;
const cleanUpLookMs = 1_000;
const cleanUpMs = 30_000;
const graceMs = 1_000;
/** The defaults of a real agent. */
const transitionMs = 300_000;
const thresholds: readonly Threshold[] = thresholdsOf({
  evictionHard: {'memory.available': '100Mi', 'nodefs.available': '10%', 'pid.available': '10%'},
  evictionSoft: {},
  evictionSoftGracePeriod: {},
  evictionMinimumReclaim: {},
});

const leftBytes = 50 * 1024 ** 2;
const processes = 32_768;

/** Returns the statistics of a node that has almost nothing left of some resources, and enough of the others. */
const withScarcity = (stats: NodeStats, scarce: readonly string[]): NodeStats => {
  const {memoryBytes, storageBytes} = stats.machine;
  const availableBytes = Math.floor(storageBytes * (scarce.includes('disk') ? 0.05 : 0.5));
  return {
    ...stats,
    memoryBytes: scarce.includes('memory') ? memoryBytes - leftBytes : Math.min(stats.memoryBytes, memoryBytes / 2),
    fs: {capacityBytes: storageBytes, availableBytes},
    processes: {max: processes, current: Math.floor(processes * (scarce.includes('pid') ? 0.95 : 0.1))},
  };
};

/** Looks at the pressure of nodes, and evicts pods. Returns the delay in ms until the next look; Infinity for none. */
export type PressureLook = (agent: Agent, node: Frozen<Node>) => number;

/** Creates the look at the pressure of nodes. */
export const pressureLook = (context: SimulationContext, pods: Pick<PodRecords, 'behaviors' | 'recordOf'>): PressureLook => {
  const {naming, clock, timeline} = context;
  const readers = new Map<string, () => NodeStats>();
  const statsOfNode = (name: string): NodeStats => {
    const read = readers.get(name) ?? nodeStatsReader(context, pods, name);
    readers.set(name, read);
    return read();
  };

  const evict = (agent: Agent, record: PodRecord, {message, annotations}: ReturnType<typeof evictionText>): void => {
    const now = timeline.now();
    agent.events.warning(record.pod, evictedReason, message, annotations);
    record.termination = {
      since: now,
      deadline: now + graceMs,
      reason: evictedReason,
      message,
      failed: true,
      disruption: disruptedCondition(naming, message),
    };
    context.enqueuePod(record.key);
  };

  const evictOne = (agent: Agent, actionable: readonly Threshold[], stats: NodeStats): PodRecord | undefined => {
    const [threshold] = actionable;
    if (!threshold) return undefined;
    const {resource} = signals[threshold.signal];
    const {name} = agent.machine;
    agent.events.warning(nodeReference(naming, name), 'EvictionThresholdMet', `Attempting to reclaim ${resource}`);
    const records = new Map(
      recordsOfNode(context, pods.recordOf, name).flatMap(record => (record.isFinished ? [] : [[record.uid, record] as const])),
    );
    const measured = new Map(stats.pods.map(pod => [pod.uid, pod]));
    const statsOf = (pod: Frozen<Pod>) => measured.get(pod.metadata?.uid ?? '');
    const order = ranked(
      [...records.values()].map(({pod}) => pod),
      threshold.signal,
      {statsOf, layout: 'one', withPodLevel: true},
    );
    const victim = order.find(pod => !isCritical(naming, pod));
    const record = records.get(victim?.metadata?.uid ?? '');
    if (!victim || !record) return undefined;
    const cause = {resource, thresholds: actionable, observations: observationsOf(stats), withPodLevel: true};
    evict(agent, record, evictionText(victim, statsOf(victim), cause));
    return record;
  };

  return (agent, node) => {
    const now = clock.monotonic();
    const {pressure} = agent;
    const scarce = scarceResources(naming, node);
    if (scarce.length === 0 && pressure.state === noPressure) return Infinity;
    const {victim} = pressure;
    if (victim && !victim.record.isFinished && now < victim.until) return cleanUpLookMs;
    if (now < pressure.lookAt && scarce.join() === pressure.scarce.join()) return pressure.lookAt - now;
    const stats = withScarcity(statsOfNode(agent.machine.name), scarce);
    const judgement = judge(pressure.state, {thresholds, transitionMs}, observationsOf(stats), clock.now());
    const evicted = evictOne(agent, judgement.actionable, stats);
    const isOver = scarce.length === 0 && judgement.pressures.length === 0;
    agent.pressure = {
      state: isOver ? noPressure : judgement.state,
      pressures: judgement.pressures,
      scarce,
      lookAt: evicted ? now : now + lookMs,
      ...(evicted ? {victim: {record: evicted, until: now + cleanUpMs}} : {}),
    };
    return isOver ? Infinity : evicted ? cleanUpLookMs : lookMs;
  };
};
