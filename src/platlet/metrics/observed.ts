// The metrics of an agent that are computed at scrape time.

import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {FilesystemStats} from '#src/api/node/stats.js';
import type {Pod} from '#src/api/pod.js';
import type {Labels, Meter} from '#src/base/meter.js';
import {isStaticPod} from '#src/platlet/pod/origin.js';
import type {RuntimePod} from '#src/platlet/runtime/state.js';
import {agentMetricName} from './agent-metrics.js';

/** The usage of a mounted claim's file system. */
export interface ClaimUsage extends FilesystemStats {
  readonly namespace: string;
  readonly claim: string;
  readonly isAbnormal?: boolean;
}

/** The worker of a pod. */
export interface ObservedWorker {
  readonly uid: string;
  readonly pod: Frozen<Pod>;
  readonly stage: 'sync' | 'terminating' | 'terminated' | 'finished';
}

/** The pods of a node, as its agent knows them. */
export interface ObservedPods {
  /** The pods of all sources. */
  readonly shown: readonly Frozen<Pod>[];
  /** The pods of the last runtime list. */
  readonly listed: readonly RuntimePod[];
  readonly working: {
    readonly all: Iterable<ObservedWorker>;
    readonly active: readonly Frozen<Pod>[];
    /** Why the agent works on a pod: a source has it, a source had it, or only the runtime has it. */
    originOf(worker: Pick<ObservedWorker, 'uid'>): (typeof origins)[number];
  };
}

export interface ObservedParts {
  readonly naming: Naming;
  readonly nodeName: string;
  /** The cgroup version. */
  readonly cgroupVersion: 1 | 2;
  readonly pods: ObservedPods;
  claims(): readonly ClaimUsage[];
  /** Whether the health of volumes is reported. */
  readonly reportsHealth?: boolean;
}

type Rows = readonly (readonly [Labels, number])[];

const lifecycles = ['sync', 'terminating', 'terminated'] as const;
const origins = ['desired', 'orphan', 'runtime_only'] as const;
const statics = ['', 'true'] as const;
const states = ['created', 'running', 'exited', 'unknown'] as const;

/** Counts the members of each group, including empty groups. */
const countedBy = <T>(groups: readonly Labels[], all: Iterable<T>, groupOf: (one: T) => Labels | undefined): Rows => {
  const keyOf = (labels: Labels): string => Object.values(labels).join('\n');
  const counts = new Map(groups.map(labels => [keyOf(labels), 0]));
  for (const one of all) {
    const labels = groupOf(one);
    if (labels) counts.set(keyOf(labels), (counts.get(keyOf(labels)) ?? 0) + 1);
  }
  return groups.map(labels => [labels, counts.get(keyOf(labels)) ?? 0] as const);
};

/** Registers the metrics in a meter. */
export const observeAgent = (meter: Meter, parts: ObservedParts): void => {
  const {naming, pods} = parts;
  const {working} = pods;
  const gauge = (name: string, help: string, labels: readonly string[], read: () => Rows): void => {
    meter.observed({name: agentMetricName(naming, name), help, labels}, read);
  };
  const staticOf = (pod: Frozen<Pod>): string => (isStaticPod(naming, pod) ? 'true' : '');
  const workers = () => [...working.all];
  const byOrigin = (all: readonly Frozen<Pod>[]): Rows =>
    countedBy(
      statics.map(each => ({static: each})),
      all,
      pod => ({static: staticOf(pod)}),
    );
  gauge('node_name', 'The name of the node; always 1.', ['node'], () => [[{node: parts.nodeName}, 1]]);
  gauge('cgroup_version', 'The version of control groups of the machine.', [], () => [[{}, parts.cgroupVersion]]);
  gauge('running_pods', 'Pods that have a sandbox that runs.', [], () => [
    [{}, pods.listed.filter(({sandboxes}) => sandboxes.some(({isReady}) => isReady)).length],
  ]);
  gauge('running_containers', 'Containers by their states.', ['container_state'], () =>
    countedBy(
      states.map(state => ({container_state: state})),
      pods.listed.flatMap(({containers}) => containers),
      ({state}) => ({container_state: state}),
    ),
  );
  gauge('desired_pods', 'Pods that the agent is to run; static is true for those of files and URLs.', ['static'], () =>
    byOrigin(pods.shown),
  );
  gauge('active_pods', 'Pods that take room on the node; static is true for those of files and URLs.', ['static'], () =>
    byOrigin(working.active),
  );
  gauge('mirror_pods', 'Mirror pods that the agent is to have in the API server, one for each static pod that it has admitted.', [], () => [
    [{}, workers().filter(({pod, stage}) => stage !== 'finished' && isStaticPod(naming, pod)).length],
  ]);
  gauge('managed_ephemeral_containers', 'Ephemeral containers of the pods of the node.', [], () => [
    [{}, pods.shown.reduce((sum, {spec}) => sum + (spec?.ephemeralContainers?.length ?? 0), 0)],
  ]);
  const groups = lifecycles.flatMap(lifecycle => origins.flatMap(config => statics.map(each => ({lifecycle, config, static: each}))));
  gauge('working_pods', 'Pods that the agent works on, by the phase of the work and why.', ['lifecycle', 'config', 'static'], () =>
    countedBy(groups, workers(), worker =>
      worker.stage === 'finished' ? undefined : {lifecycle: worker.stage, config: working.originOf(worker), static: staticOf(worker.pod)},
    ),
  );
  observeClaims(gauge, parts);
};

type AddGauge = (name: string, help: string, labels: readonly string[], read: () => Rows) => void;

const observeClaims = (gauge: AddGauge, {claims, reportsHealth}: ObservedParts): void => {
  const of = (name: string, help: string, value: (usage: ClaimUsage) => number | undefined): void =>
    gauge(`volume_stats_${name}`, help, ['namespace', 'persistentvolumeclaim'], () =>
      claims().flatMap(usage => {
        const found = value(usage);
        return found === undefined ? [] : [[{namespace: usage.namespace, persistentvolumeclaim: usage.claim}, found] as const];
      }),
    );
  of('capacity_bytes', 'The size of the volume in bytes.', ({capacityBytes}) => capacityBytes);
  of('available_bytes', 'The bytes that are free in the volume.', ({availableBytes}) => availableBytes);
  of('used_bytes', 'The bytes that are used in the volume.', ({usedBytes}) => usedBytes);
  of('inodes', 'The most inodes of the volume.', ({inodes}) => inodes);
  of('inodes_free', 'The inodes that are free in the volume.', ({inodesFree}) => inodesFree);
  of('inodes_used', 'The inodes that are used in the volume.', ({inodesUsed}) => inodesUsed);
  if (reportsHealth)
    of(
      'health_status_abnormal',
      'Whether the driver of the volume reports that it is not in order (1) or that it is (0).',
      ({isAbnormal}) => (isAbnormal === undefined ? undefined : Number(isAbnormal)),
    );
};
