import type {Naming} from '#src/api/naming.js';
import type {ContainerProbes, ContainerStats, NodeStats, PodStats} from '#src/api/node/stats.js';
import {histogramSamples, type Family, type Sample} from './exposition.js';

type Each<T> = (of: T) => Sample;

const containersOf = ({pods}: NodeStats): {readonly pod: PodStats; readonly container: ContainerStats}[] =>
  pods.flatMap(pod => pod.containers.map(container => ({pod, container})));

const counter = (name: string, help: string, samples: readonly Sample[]): Family => ({name, help, type: 'counter', samples});
const gauge = (name: string, help: string, samples: readonly Sample[]): Family => ({name, help, type: 'gauge', samples});

/** The swap that containers may use, where that is limited. */
const swapLimits = (node: NodeStats): readonly Sample[] =>
  containersOf(node).flatMap(({pod: {name: pod, namespace}, container: {name: container, swap}}): Sample[] =>
    swap?.availableBytes === undefined ? [] : [[{container, namespace, pod}, swap.availableBytes + swap.usageBytes, node.time]],
  );

/** `/metrics/resource`: the usage of the node, its pods and their containers, for metrics servers. */
export const resourceMetrics = (node: NodeStats): Family[] => {
  const {time} = node;
  const ofPods = (sample: Each<PodStats>) => node.pods.map(sample);
  const ofContainers = (value: (of: ContainerStats) => number) =>
    containersOf(node).map(({pod: {name: pod, namespace}, container}): Sample => [
      {container: container.name, namespace, pod},
      value(container),
      time,
    ]);
  const podLabels = ({name: pod, namespace}: PodStats) => ({namespace, pod});
  const startTimes = containersOf(node).map(({pod: {name: pod, namespace}, container: {name: container, startedAt}}): Sample => [
    {container, namespace, pod},
    startedAt / 1000,
  ]);
  return [
    counter(
      'container_cpu_usage_seconds_total',
      '[STABLE] Processor time that the container has used, in seconds of a core',
      ofContainers(({cpuSeconds}) => cpuSeconds),
    ),
    gauge(
      'container_memory_working_set_bytes',
      '[STABLE] Memory that the container works with, in bytes',
      ofContainers(({memoryBytes}) => memoryBytes),
    ),
    gauge('container_start_time_seconds', '[STABLE] When the container was started, in seconds of Unix time', startTimes),
    gauge('container_swap_limit_bytes', '[ALPHA] What of the container may be swapped out, in bytes', swapLimits(node)),
    gauge(
      'container_swap_usage_bytes',
      '[ALPHA] What of the container is swapped out, in bytes',
      ofContainers(({swap}) => swap?.usageBytes ?? 0),
    ),
    counter('node_cpu_usage_seconds_total', '[STABLE] Processor time that the node has used, in seconds of a core', [
      [{}, node.cpuSeconds, time],
    ]),
    gauge('node_memory_working_set_bytes', '[STABLE] Memory that the node works with, in bytes', [[{}, node.memoryBytes, time]]),
    gauge('node_swap_usage_bytes', '[ALPHA] What of the node is swapped out, in bytes', [[{}, node.swap?.usageBytes ?? 0, time]]),
    counter(
      'pod_cpu_usage_seconds_total',
      '[STABLE] Processor time that the pod has used, in seconds of a core',
      ofPods(pod => [podLabels(pod), pod.cpuSeconds, time]),
    ),
    gauge(
      'pod_memory_working_set_bytes',
      '[STABLE] Memory that the pod works with, in bytes',
      ofPods(pod => [podLabels(pod), pod.memoryBytes, time]),
    ),
    gauge(
      'pod_swap_usage_bytes',
      '[ALPHA] What of the pod is swapped out, in bytes',
      ofPods(pod => [podLabels(pod), pod.swap?.usageBytes ?? 0, time]),
    ),
    gauge('resource_scrape_error', '[STABLE] 1 if there was an error while getting container metrics, 0 otherwise', [[{}, 0]]),
  ];
};

const probeResults = ['successful', 'failed', 'unknown'] as const;

/** The probes of the running containers of measurements, which have no durations. */
export const measuredProbes = (node: NodeStats): readonly Probed[] =>
  containersOf(node).flatMap(({pod: {name: pod, namespace, uid}, container: {name: container, probes}}) =>
    probes.map(counts => ({...counts, unknown: 0, namespace, pod, uid, container})),
  );

type Probed = Omit<ContainerProbes, 'durations'> & Partial<Pick<ContainerProbes, 'durations'>>;

/** `/metrics/probes`: the results of the probes of containers, and how long they took. */
export const probeMetrics = (probed: readonly Probed[]): Family[] => {
  const results = probed.flatMap(({type, namespace, pod, uid, container, ...counts}) =>
    probeResults.flatMap((result): Sample[] =>
      counts[result] > 0 ? [[{container, namespace, pod, pod_uid: uid, probe_type: type, result}, counts[result]]] : [],
    ),
  );
  const durations = probed.flatMap(({type, namespace, pod, container, durations: measured}) =>
    measured && measured.count > 0 ? histogramSamples({container, namespace, pod, probe_type: type}, measured) : [],
  );
  return [
    counter('prober_probe_total', '[BETA] How often the probes of a container were tried, by what came of it', results),
    {name: 'prober_probe_duration_seconds', help: '[ALPHA] How long the probes of a container took', type: 'histogram', samples: durations},
  ];
};

/** `/metrics`: the agent's own metrics. */
export const agentMetrics = ({name, pods: running, known: {pods, active, containers}}: NodeStats, {agent}: Naming): Family[] => {
  const of = (metric: string) => `${agent}_${metric}`;
  const states = Object.entries(containers).map(([state, count]): Sample => [{container_state: state}, count]);
  return [
    gauge(of('active_pods'), '[ALPHA] Pods that take room on the node; static is true of those that the API server did not send', [
      [{static: ''}, active],
    ]),
    gauge(of('desired_pods'), '[ALPHA] Pods that the node is to run; static is true of those that the API server did not send', [
      [{static: ''}, pods],
    ]),
    gauge(of('node_name'), '[ALPHA] The name of the node, with the value 1', [[{node: name}, 1]]),
    gauge(of('running_containers'), '[ALPHA] Containers by their states', states),
    gauge(of('running_pods'), '[ALPHA] Pods of which something runs', [[{}, running.length]]),
  ];
};
