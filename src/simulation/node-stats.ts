import type {AnyContainer} from '#src/api/pod.js';
import type {Frozen} from '#src/api/key.js';
import type {Consumption, ContainerStats, NodeStats, PodStats, ProbeStats} from '#src/api/node/stats.js';
import type {ResourceUsage} from '#src/api/node/usage.js';
import {amountOf, limitsOf} from '#src/platlet/pod/container-limits.js';
import {fullName} from '#src/simulation/rules/images.js';
import type {ContainerRecord, PodRecord} from './pod/record.js';
import {specContainers, type SpecContainer} from '#src/model/pod/spec-containers.js';
import type {PodRecords} from './streams/target.js';
import {usageAmount, idleNodeUsage} from './usage.js';
import {podsByNode, type SimulationContext} from '#src/simulation/node/context.js';

/** The cumulative CPU time at a time. */
interface CpuTime {
  coreMs: number;
  at: number;
}

/** Accumulates CPU time from one reading to the next, so that the counter never decreases when the rate changes. */
const usageMeter = () => {
  const cpuTimes = new WeakMap<object, CpuTime>();
  return (what: object, since: number, {cpuMillis, memoryBytes}: ResourceUsage, now: number): Consumption => {
    const known = cpuTimes.get(what) ?? {coreMs: 0, at: since};
    known.coreMs += (cpuMillis / 1000) * Math.max(0, now - known.at);
    known.at = Math.max(now, known.at);
    cpuTimes.set(what, known);
    return {cpuMillis, memoryBytes, cpuSeconds: known.coreMs / 1000};
  };
};

const total = (all: readonly ResourceUsage[]): ResourceUsage => ({
  cpuMillis: all.reduce((sum, {cpuMillis}) => sum + cpuMillis, 0),
  memoryBytes: all.reduce((sum, {memoryBytes}) => sum + memoryBytes, 0),
});

type Running = Extract<ContainerRecord['state'], {is: 'running'}>;
type Probe = NonNullable<Frozen<AnyContainer>['livenessProbe']>;

/** Returns the number of probe attempts in an interval. */
const attemptsBetween = ({periodSeconds = 10}: Probe, from: number, to: number): number =>
  to < from ? 0 : Math.floor((to - from) / (periodSeconds * 1000)) + 1;

/**
 * Probe attempts fail until the container is started or ready, and succeed afterwards; startup probes end with the
 * first success.
 */
const probeStatsOf = (container: Frozen<AnyContainer>, {startedAt, startedBy, readyBy}: Running, now: number): ProbeStats[] => {
  const {startupProbe, livenessProbe, readinessProbe} = container as {
    readonly [K in 'startupProbe' | 'livenessProbe' | 'readinessProbe']?: Probe;
  };
  const probeStats = (type: ProbeStats['type'], probe: Probe | undefined, since: number, succeedsFrom: number): ProbeStats[] => {
    if (!probe) return [];
    const first = Math.max(startedAt + (probe.initialDelaySeconds ?? 0) * 1000, since);
    const attempts = attemptsBetween(probe, first, now);
    const failed = Math.min(attempts, attemptsBetween(probe, first, succeedsFrom - 1));
    const successful = type === 'Startup' ? Math.min(1, attempts - failed) : attempts - failed;
    return [{type, successful, failed}];
  };
  const others = startupProbe ? startedBy : startedAt;
  return [
    ...probeStats('Startup', startupProbe, startedAt, startedBy),
    ...probeStats('Liveness', livenessProbe, others, others),
    ...probeStats('Readiness', readinessProbe, others, readyBy),
  ];
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

  const containerStats = (record: PodRecord, of: SpecContainer, own: ContainerRecord, now: number): ContainerStats[] => {
    const {state, id = ''} = own;
    const run = record.runs.get(id);
    if (state.is !== 'running' || !run) return [];
    const {container} = of;
    const {cpu, memory} = behaviors.of(record.pod, of);
    const used = {cpuMillis: usageAmount(cpu, container, 'cpu', 1000), memoryBytes: usageAmount(memory, container, 'memory', 1)};
    return [
      {
        name: container.name,
        id: id.slice(id.indexOf('://') + 3),
        image: fullName(container.image ?? ''),
        startedAt: timeline.wallOf(state.startedAt),
        ...limitsOf(container),
        ...measure(run, state.startedAt, used, now),
        probes: probeStatsOf(container, state, now),
      },
    ];
  };

  const podStats = (record: PodRecord, now: number): PodStats[] => {
    const containers = [...specContainers(record.pod.spec!)].flatMap(of => {
      const own = record.containers.find(({name}) => name === of.container.name);
      return own ? containerStats(record, of, own, now) : [];
    });
    if (containers.length === 0) return [];
    const {namespace = '', name = ''} = record.pod.metadata ?? {};
    return [
      {
        namespace,
        name,
        uid: record.uid,
        startedAt: timeline.wallOf(record.startTime),
        containers,
        ...measure(record, record.startTime, total(containers), now),
      },
    ];
  };

  return () => {
    const now = timeline.now();
    const agent = context.agents.get(node)!;
    const records = recordsOfNode(context, recordOf, node);
    const pods = records.flatMap(record => podStats(record, now));
    const states = records.flatMap(({containers}) => containers.map(({state}) => state.is));
    const {capacity} = agent.machine;
    const {machineID: id, systemUUID: systemId, bootID: bootId} = agent.machine.ids;
    return {
      name: node,
      time: timeline.wallOf(now),
      startedAt: timeline.wallOf(startedAt),
      machine: {
        id,
        systemId,
        bootId,
        cores: amountOf(capacity, 'cpu') ?? 0,
        memoryBytes: amountOf(capacity, 'memory') ?? 0,
        storageBytes: amountOf(capacity, 'ephemeral-storage') ?? 0,
        imageBytes: agent.images.list().reduce((sum, {sizeBytes}) => sum + sizeBytes, 0),
      },
      pods,
      known: {
        pods: records.length,
        active: records.filter(({isFinished}) => !isFinished).length,
        containers: {running: states.filter(is => is === 'running').length, exited: states.filter(is => is === 'ended').length},
      },
      ...measure(agent, startedAt, total([idleNodeUsage, ...pods]), now),
    };
  };
};

/** Returns the records of the pods bound to a node. */
export const recordsOfNode = (context: SimulationContext, recordOf: PodRecords['recordOf'], node: string): PodRecord[] =>
  context.pods.by(podsByNode, node).flatMap(({metadata: {namespace = '', name = ''} = {}}) => {
    const record = recordOf(`${namespace}/${name}`);
    return record?.nodeName === node ? [record] : [];
  });
