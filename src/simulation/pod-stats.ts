import type {AnyContainer} from '#src/api/pod.js';
import type {Frozen} from '#src/api/key.js';
import type {Consumption, ContainerStats, PodStats, ProbeStats} from '#src/api/node/stats.js';
import type {ResourceUsage} from '#src/api/node/usage.js';
import {limitsOf} from '#src/platlet/pod/container-limits.js';
import {fullName} from '#src/simulation/rules/images.js';
import type {ContainerRecord, PodRecord} from './pod/record.js';
import {specContainers, type SpecContainer} from '#src/model/pod/spec-containers.js';
import type {PodRecords} from './streams/target.js';
import type {Timeline} from './time/timeline.js';
import {usageAmount} from './usage.js';

/** The cumulative CPU time at a time. */
interface CpuTime {
  coreMs: number;
  at: number;
}

/** Returns what something has used up to now. */
export type UsageMeter = (what: object, since: number, usage: ResourceUsage, now: number) => Consumption;

/** Accumulates CPU time from one reading to the next, so that the counter never decreases when the rate changes. */
export const usageMeter = (): UsageMeter => {
  const cpuTimes = new WeakMap<object, CpuTime>();
  return (what, since, {cpuMillis, memoryBytes}, now) => {
    const known = cpuTimes.get(what) ?? {coreMs: 0, at: since};
    known.coreMs += (cpuMillis / 1000) * Math.max(0, now - known.at);
    known.at = Math.max(now, known.at);
    cpuTimes.set(what, known);
    return {cpuMillis, memoryBytes, cpuSeconds: known.coreMs / 1000};
  };
};

/** The sum of all usage. */
export const totalUsage = (all: readonly ResourceUsage[]): ResourceUsage => ({
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

/** Reads the statistics of pods, computed from the rules. */
export class PodStatsReader {
  readonly #timeline: Timeline;
  readonly #behaviors: PodRecords['behaviors'];
  readonly #measure: UsageMeter;

  constructor(timeline: Timeline, behaviors: PodRecords['behaviors'], measure: UsageMeter) {
    this.#timeline = timeline;
    this.#behaviors = behaviors;
    this.#measure = measure;
  }

  /** The statistics of a pod; none if nothing of it runs. */
  podStats(record: PodRecord, now: number): PodStats[] {
    const containers = [...specContainers(record.pod.spec!)].flatMap(of => {
      const own = record.containers.find(({name}) => name === of.container.name);
      return own ? this.#containerStats(record, of, own, now) : [];
    });
    if (containers.length === 0) return [];
    const {namespace = '', name = ''} = record.pod.metadata ?? {};
    return [
      {
        namespace,
        name,
        uid: record.uid,
        startedAt: this.#timeline.wallOf(record.startTime),
        containers,
        ...this.#measure(record, record.startTime, totalUsage(containers), now),
      },
    ];
  }

  #containerStats(record: PodRecord, of: SpecContainer, own: ContainerRecord, now: number): ContainerStats[] {
    const {state, id = ''} = own;
    const run = record.runs.get(id);
    if (state.is !== 'running' || !run) return [];
    const {container} = of;
    const {cpu, memory} = this.#behaviors.of(record.pod, of);
    const used = {cpuMillis: usageAmount(cpu, container, 'cpu', 1000), memoryBytes: usageAmount(memory, container, 'memory', 1)};
    return [
      {
        name: container.name,
        id: id.slice(id.indexOf('://') + 3),
        image: fullName(container.image ?? ''),
        startedAt: this.#timeline.wallOf(state.startedAt),
        ...limitsOf(container),
        ...this.#measure(run, state.startedAt, used, now),
        probes: probeStatsOf(container, state, now),
      },
    ];
  }
}
