// The simulated nodes that stand for those of the cluster, and how long its pods run.

import {kinds, apiVersionOf} from '#src/api/kinds/index.js';
import {parseTime} from '#src/api/time.js';
import type {KubeObject, Node} from '#src/api/types.js';
import type {ObjectOf} from '#src/api/kinds/index.js';
import {controllerOf} from '#src/model/owners.js';
import type {SimulationOptions} from '#src/simulation/options.js';
import {exactly} from '#src/simulation/rules/behavior.js';
import {patternOf} from '#src/simulation/rules/pattern.js';
import {noRules, type PodRule, type Rules} from '#src/simulation/rules/rules.js';
import type {Source} from './source.js';

type Job = ObjectOf<typeof kinds.jobs>;
type CronJob = ObjectOf<typeof kinds.cronJobs>;

/** The renewal period of the nodes' leases: nobody watches over them here. */
const renewMs = 24 * 3_600_000;

/** Nodes that run what the cluster's nodes run. */
export interface StandIns {
  readonly count: number;
  readonly simulation: Pick<SimulationOptions, 'placement' | 'rules' | 'renewMs'>;
  readonly notes: readonly string[];
}

const objectsOf = <T extends KubeObject>({objects, naming}: Source, kind: (typeof kinds)[keyof typeof kinds]): T[] =>
  [...objects.values()].filter(object => object.kind === kind.kind && object.apiVersion === apiVersionOf(naming, kind)) as T[];

const isReady = ({status}: Node): boolean => status?.conditions?.some(({type, status: is}) => type === 'Ready' && is === 'True') ?? false;

/** Returns the nodes that are ready. */
export const readyNodes = (source: Source): Node[] => objectsOf<Node>(source, kinds.nodes).filter(isReady);

/**
 * Returns a simulated node for each node that is ready, with its capacity, labels and addresses. `times` says how long
 * the jobs of a cron job run; those that it does not name run as long as they did before.
 */
export const standInsOf = (source: Source, times: ReadonlyMap<string, number>): StandIns => {
  const nodes = objectsOf<Node>(source, kinds.nodes);
  const ready = readyNodes(source);
  const silent = nodes.filter(node => !isReady(node));
  const addresses = ready.map(addressesOf);
  return {
    count: ready.length,
    simulation: {
      renewMs,
      placement: {
        name: index => ready[index]!.metadata!.name!,
        addresses: index => addresses[index]!,
        port: () => 10_250,
        reachedByName: true,
      },
      rules: {...noRules, nodes: ready.map(nodeRule), pods: jobRules(source, times)},
    },
    notes: [
      ...(silent.length > 0 ? [`nodes that are not ready stay so: ${silent.map(({metadata}) => metadata?.name).join(', ')}`] : []),
      ...(nodes.length === 0 ? ['there are no nodes: no pod runs'] : []),
    ],
  };
};

/** At most one address of each family. */
const addressesOf = ({status}: Node): string[] => {
  const own = (status?.addresses ?? []).filter(({type}) => type === 'InternalIP').map(({address}) => address);
  return [own.find(address => !address.includes(':')), own.find(address => address.includes(':'))].flatMap(address => address ?? []);
};

const nodeRule = ({metadata, status}: Node): Rules['nodes'][number] => ({
  names: [patternOf(metadata!.name!)],
  settings: {
    capacity: {...status?.capacity},
    allocatable: {...status?.allocatable},
    labels: {...metadata?.labels},
  },
});

/** How long the pods of each cron job run: as given, or as its jobs did on average. */
const jobRules = (source: Source, times: ReadonlyMap<string, number>): PodRule[] => {
  const durations = new Map<string, number[]>();
  for (const job of objectsOf<Job>(source, kinds.jobs)) {
    const [start, end] = [parseTime(job.status?.startTime), parseTime(job.status?.completionTime)];
    const owner = controllerOf(job as never);
    if (start === undefined || end === undefined || owner?.kind !== 'CronJob') continue;
    const key = `${job.metadata?.namespace}/${owner.name}`;
    const known = durations.get(key);
    if (known) known.push(end - start);
    else durations.set(key, [end - start]);
  }
  return objectsOf<CronJob>(source, kinds.cronJobs).flatMap(({metadata}): PodRule[] => {
    const key = `${metadata?.namespace}/${metadata?.name}`;
    const known = durations.get(key);
    const time = times.get(key) ?? (known && known.reduce((sum, each) => sum + each, 0) / known.length);
    if (time === undefined) return [];
    const match = {namespaces: [patternOf(metadata!.namespace!)], names: [patternOf(`${metadata!.name}-*`)], ownerKinds: ['Job']};
    return [{match, settings: {runFor: exactly(Math.round(time))}}];
  });
};

/** The cron jobs that times are given for must be there. Throws for others. */
export const checkTimes = (source: Source, times: ReadonlyMap<string, number>): void => {
  const known = new Set(objectsOf<CronJob>(source, kinds.cronJobs).map(({metadata}) => `${metadata?.namespace}/${metadata?.name}`));
  for (const name of times.keys()) if (!known.has(name)) throw new Error(`--job-time: there is no cron job ${name}`);
};

/** Returns the range of addresses of services, by the object that keeps it. */
export const serviceRange = (source: Source): string | undefined =>
  objectsOf<KubeObject & {spec?: {cidrs?: readonly string[]}}>(source, kinds.serviceCIDRs)
    .find(({metadata}) => metadata?.name === 'kubernetes')
    ?.spec?.cidrs?.join(',');
