import type {ContainerStats, NodeStats, PodStats, ResourcePressure} from '#src/api/node/stats.js';
import type {Family, Sample} from './exposition.js';

/** The period of CPU quotas, in microseconds. */
const quotaPeriod = 100_000;

interface Measured {
  readonly labels: Readonly<Record<string, string>>;
  readonly startedAt: number;
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
  readonly pressure?: ResourcePressure;
  readonly container?: ContainerStats;
}

const folder = '/kubepods';
const labelsOf = (
  id: string,
  {container = '', image = '', name = '', namespace = '', pod = ''}: Readonly<Record<string, string>> = {},
) => ({container, id, image, name, namespace, pod});

const pressures = [
  ['stalled', 'full', 'no tasks could make progress'],
  ['waiting', 'some', 'tasks have waited'],
] as const;

/** How long tasks have waited for resources, where the kernel measures it. */
const pressureFamilies = (measured: readonly Measured[], time: number): Family[] =>
  (['cpu', 'memory', 'io'] as const).flatMap(resource =>
    pressures.flatMap(([state, line, what]): Family[] => {
      const samples = measured.flatMap(({labels, pressure}): Sample[] => {
        const found = pressure?.[resource];
        return found ? [[labels, found[line].total / 1e6, time]] : [];
      });
      const name = `container_pressure_${resource}_${state}_seconds_total`;
      return samples.length > 0
        ? [{name, help: `Time in which ${what} for want of ${resource}, in seconds`, type: 'counter', samples}]
        : [];
    }),
  );

const ofPod = (pod: PodStats): Measured[] => {
  const {namespace, name, uid} = pod;
  const id = `${folder}/pod${uid}`;
  return [
    {...pod, labels: labelsOf(id, {namespace, pod: name})},
    ...pod.containers.map(container => ({
      ...container,
      container,
      labels: labelsOf(`${id}/${container.id}`, {
        container: container.name,
        image: container.image,
        name: container.id,
        namespace,
        pod: name,
      }),
    })),
  ];
};

const gauge = (name: string, help: string, samples: readonly Sample[]): Family => ({name, help, type: 'gauge', samples});
const counter = (name: string, help: string, samples: readonly Sample[]): Family => ({name, help, type: 'counter', samples});

/**
 * `/metrics/cadvisor`: the machine, and each cgroup down to single containers, with the labels by which dashboards and
 * alerts join.
 */
export const containerMetrics = (node: NodeStats): Family[] => {
  const {time, machine} = node;
  const everything: Measured[] = [{...node, labels: labelsOf('/')}, ...node.pods.flatMap(ofPod)];
  const ids = {boot_id: machine.bootId, machine_id: machine.id, system_uuid: machine.systemId};
  return [
    ...usageFamilies(everything, time),
    ...pressureFamilies(everything, time),
    ...specFamilies(everything, time),
    gauge(
      'container_start_time_seconds',
      'When the group began, in seconds of Unix time',
      everything.map(({labels, startedAt}): Sample => [labels, Math.floor(startedAt / 1000), time]),
    ),
    gauge('machine_cpu_cores', 'Cores of the machine', [[ids, machine.cores]]),
    gauge('machine_memory_bytes', 'Memory of the machine, in bytes', [[ids, machine.memoryBytes]]),
  ];
};

/** What each group uses. */
const usageFamilies = (everything: readonly Measured[], time: number): Family[] => {
  const each = (value: (of: Measured) => number, more: Readonly<Record<string, string>> = {}) =>
    everything.map((one): Sample => [{...one.labels, ...more}, value(one), time]);
  const memory = each(({memoryBytes}) => memoryBytes);
  return [
    counter(
      'container_cpu_usage_seconds_total',
      'Processor time that was used, in seconds of a core',
      each(({cpuSeconds}) => cpuSeconds, {cpu: 'total'}),
    ),
    gauge(
      'container_last_seen',
      'When the group was seen last, in seconds of Unix time',
      each(() => Math.floor(time / 1000)),
    ),
    gauge('container_memory_rss', 'Memory that is resident, in bytes', memory),
    gauge('container_memory_usage_bytes', 'Memory that is used, in bytes', memory),
    gauge('container_memory_working_set_bytes', 'Memory that is worked with, in bytes', memory),
  ];
};

/** The requests and limits of containers. */
const specFamilies = (everything: readonly Measured[], time: number): Family[] => {
  const limited = (value: (of: ContainerStats) => number | undefined) =>
    everything.flatMap(({labels, container}): Sample[] => {
      const found = container && value(container);
      return found === undefined ? [] : [[labels, found, time]];
    });
  return [
    gauge(
      'container_spec_cpu_period',
      'The period of the processor quota, in microseconds',
      limited(({cpuLimitMillis}) => (cpuLimitMillis === undefined ? undefined : quotaPeriod)),
    ),
    gauge(
      'container_spec_cpu_quota',
      'The processor quota in a period, in microseconds',
      limited(({cpuLimitMillis}) => (cpuLimitMillis === undefined ? undefined : (cpuLimitMillis / 1000) * quotaPeriod)),
    ),
    gauge(
      'container_spec_cpu_shares',
      'The weight by which processors are shared',
      limited(({cpuRequestMillis = 0}) => Math.max(2, Math.round((cpuRequestMillis / 1000) * 1024))),
    ),
    gauge(
      'container_spec_memory_limit_bytes',
      'The limit of memory in bytes, or 0',
      limited(({memoryLimitBytes = 0}) => memoryLimitBytes),
    ),
  ];
};
