import type {NodeStats} from '#src/api/node/stats.js';
import {amountOf} from '#src/platlet/pod/container-limits.js';
import type {Agent} from './node/agent.js';
import type {PodRecord} from './pod/record.js';
import {PodStatsReader, totalUsage, usageMeter} from './pod-stats.js';
import type {PodRecords} from './streams/target.js';
import {idleNodeUsage} from './usage.js';
import {podsByNode, type SimulationContext} from '#src/simulation/node/context.js';

const machineStats = ({machine: {capacity, ids}, images}: Agent): NodeStats['machine'] => ({
  id: ids.machineID,
  systemId: ids.systemUUID,
  bootId: ids.bootID,
  cores: amountOf(capacity, 'cpu') ?? 0,
  memoryBytes: amountOf(capacity, 'memory') ?? 0,
  storageBytes: amountOf(capacity, 'ephemeral-storage') ?? 0,
  imageBytes: images.list().reduce((sum, {sizeBytes}) => sum + sizeBytes, 0),
});

const knownPods = (records: readonly PodRecord[]): NodeStats['known'] => {
  const states = records.flatMap(({containers}) => containers.map(({state}) => state.is));
  return {
    pods: records.length,
    active: records.filter(({isFinished}) => !isFinished).length,
    containers: {running: states.filter(is => is === 'running').length, exited: states.filter(is => is === 'ended').length},
  };
};

/** Returns the statistics reader of a simulated node, computed from the rules and the pods. */
export const nodeStatsReader = (
  context: SimulationContext,
  {behaviors, recordOf}: Pick<PodRecords, 'behaviors' | 'recordOf'>,
  node: string,
): (() => NodeStats) => {
  const {timeline} = context;
  const startedAt = timeline.now();
  const measure = usageMeter();
  const podStats = new PodStatsReader(timeline, behaviors, measure);

  return () => {
    const now = timeline.now();
    const agent = context.agents.get(node)!;
    const records = recordsOfNode(context, recordOf, node);
    const pods = records.flatMap(record => podStats.podStats(record, now));
    return {
      name: node,
      time: timeline.wallOf(now),
      startedAt: timeline.wallOf(startedAt),
      machine: machineStats(agent),
      pods,
      known: knownPods(records),
      ...measure(agent, startedAt, totalUsage([idleNodeUsage, ...pods]), now),
    };
  };
};

/** Returns the records of the pods bound to a node. */
export const recordsOfNode = (context: SimulationContext, recordOf: PodRecords['recordOf'], node: string): PodRecord[] =>
  context.pods.by(podsByNode, node).flatMap(({metadata: {namespace = '', name = ''} = {}}) => {
    const record = recordOf(`${namespace}/${name}`);
    return record?.nodeName === node ? [record] : [];
  });
