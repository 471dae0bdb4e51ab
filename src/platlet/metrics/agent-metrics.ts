// The counters and histograms that an agent updates. Metrics computed at scrape time are in `observed.ts`.

import type {Naming} from '#src/api/naming.js';
import {exponentialBuckets, type Counter, type Gauge, type Histogram, type Meter} from '#src/base/meter.js';

interface Row {
  /** Names without the prefix of the agent. */
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
}

const usualBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const startBuckets = [0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600];

const counters = {
  acceptedDeferredResizes: {
    name: 'pod_deferred_accepted_resizes_total',
    help: 'Cumulative number of resizes that were accepted after being deferred.',
    labels: ['retry_trigger'],
  },
  infeasibleResizes: {
    name: 'pod_infeasible_resizes_total',
    help: 'Number of infeasible resizes for pods.',
    labels: ['reason_detail'],
  },
  requestedResizes: {
    name: 'container_requested_resizes_total',
    help: "Number of requested resizes, counted at the container level. Different resources on the same container are counted separately. The 'requirement' label refers to 'memory' or 'limits'; the 'operation' label can be one of 'add', 'remove', 'increase' or 'decrease'.",
    labels: ['resource', 'requirement', 'operation'],
  },
  admissionRejections: {name: 'admission_rejections_total', help: 'Pods that the agent did not admit, by reason.', labels: ['reason']},
  alignedResources: {
    name: 'container_aligned_compute_resources_count',
    help: 'Allocations of resources that are aligned, by scope and by what they are aligned to.',
    labels: ['scope', 'boundary'],
  },
  unalignedResources: {
    name: 'container_aligned_compute_resources_failure_count',
    help: 'Allocations of resources that could not be aligned, by scope and by what they had to be aligned to.',
    labels: ['scope', 'boundary'],
  },
  cpuPinningErrors: {name: 'cpu_manager_pinning_errors_total', help: 'Allocations of exclusive CPUs that failed.'},
  cpuPinnings: {name: 'cpu_manager_pinning_requests_total', help: 'Allocations of exclusive CPUs.'},
  memoryPinningErrors: {name: 'memory_manager_pinning_errors_total', help: 'Allocations of memory on NUMA nodes that failed.'},
  memoryPinnings: {name: 'memory_manager_pinning_requests_total', help: 'Allocations of memory on NUMA nodes.'},
  topologyErrors: {
    name: 'topology_manager_admission_errors_total',
    help: 'Pods that were not admitted since their resources could not be aligned.',
  },
  topologyRequests: {name: 'topology_manager_admission_requests_total', help: 'Pods whose resources had to be aligned.'},
  eventConnections: {
    name: 'evented_pleg_connection_success_count',
    help: 'Streams of the events of containers that were opened.',
  },
  eventErrors: {
    name: 'evented_pleg_connection_error_count',
    help: 'Streams of the events of containers that failed or ended.',
  },
  evictions: {name: 'evictions', help: 'Pods that the agent has evicted, by signal.', labels: ['eviction_signal']},
  credentialProviderErrors: {
    name: 'credential_provider_plugin_errors_total',
    help: 'Calls of credential providers that failed, by provider.',
    labels: ['plugin_name'],
  },
  httpRequests: {name: 'http_requests_total', help: 'Requests to the agent.', labels: ['method', 'path', 'server_type', 'long_running']},
  collectedImages: {
    name: 'image_garbage_collected_total',
    help: 'Images that were removed since nothing used them, by reason: space or age.',
    labels: ['reason'],
  },
  hookFallbacks: {name: 'lifecycle_handler_http_fallbacks_total', help: 'Hooks over HTTPS that were answered by HTTP.'},
  orphanedRuntimePods: {name: 'orphaned_runtime_pods_total', help: 'Pods that the runtime had and no source of pods.'},
  deviceRegistrations: {
    name: 'device_plugin_registration_total',
    help: 'Registrations of device plugins, by resource.',
    labels: ['resource_name'],
  },
  discardedEvents: {name: 'pleg_discard_events', help: 'Changes of pods in the runtime that were dropped.'},
  podResources: {
    name: 'pod_resources_endpoint_requests_total',
    help: 'Requests to the service of the resources of pods, by version.',
    labels: ['server_api_version'],
  },
  podResourcesAllocatable: {
    name: 'pod_resources_endpoint_requests_get_allocatable',
    help: 'Requests for the allocatable resources of the node, by version of the service.',
    labels: ['server_api_version'],
  },
  podResourcesGetErrors: {
    name: 'pod_resources_endpoint_errors_get',
    help: 'Requests for the resources of a pod that failed, by version of the service.',
    labels: ['server_api_version'],
  },
  podResourcesGets: {
    name: 'pod_resources_endpoint_requests_get',
    help: 'Requests for the resources of a pod, by version of the service.',
    labels: ['server_api_version'],
  },
  podResourcesLists: {
    name: 'pod_resources_endpoint_requests_list',
    help: 'Requests for the resources of all pods, by version of the service.',
    labels: ['server_api_version'],
  },
  preemptions: {
    name: 'preemptions',
    help: 'Pods that had to make room for critical ones, by the resource that was short.',
    labels: ['preemption_signal'],
  },
  restartedPods: {
    name: 'restarted_pods_total',
    help: 'Pods that came again with the same UID; static is true for those of files and URLs.',
    labels: ['static'],
  },
  sandboxErrors: {
    name: 'run_podsandbox_errors_total',
    help: 'Sandboxes that could not be run, by handler of the runtime class.',
    labels: ['runtime_handler'],
  },
  runtimeErrors: {
    name: 'runtime_operations_errors_total',
    help: 'Calls of the container runtime that failed, by operation.',
    labels: ['operation_type'],
  },
  runtimeCalls: {name: 'runtime_operations_total', help: 'Calls of the container runtime, by operation.', labels: ['operation_type']},
  containerErrors: {
    name: 'started_containers_errors_total',
    help: 'Containers that could not be started, by kind and reason.',
    labels: ['container_type', 'code'],
  },
  requestedImageVolumes: {name: 'image_volume_requested_total', help: 'Number of requested image volumes.'},
  mountedImageVolumes: {name: 'image_volume_mounted_succeed_total', help: 'Number of successful image volume mounts.'},
  imageVolumeErrors: {name: 'image_volume_mounted_errors_total', help: 'Number of failed image volume mounts.'},
  startedContainers: {name: 'started_containers_total', help: 'Starts of containers, by kind.', labels: ['container_type']},
  podErrors: {name: 'started_pods_errors_total', help: 'Pods whose sandboxes could not be started.'},
  startedUserNamespacedPods: {
    name: 'started_user_namespaced_pods_total',
    help: 'Pods with a user namespace whose sandboxes were started.',
  },
  userNamespacedPodErrors: {
    name: 'started_user_namespaced_pods_errors_total',
    help: 'Pods with a user namespace that could not be started.',
  },
  startedPods: {name: 'started_pods_total', help: 'Pods whose sandboxes were started.'},
} as const satisfies Readonly<Record<string, Row>>;

const histograms = {
  cgroupDuration: {
    name: 'cgroup_manager_duration_seconds',
    help: 'Duration of work on the control groups of pods, by operation: create, update or destroy.',
    labels: ['operation_type'],
    buckets: usualBuckets,
  },
  credentialProviderDuration: {
    name: 'credential_provider_plugin_duration',
    help: 'Duration of calls of credential providers in seconds, by provider.',
    labels: ['plugin_name'],
    buckets: usualBuckets,
  },
  containersPerPod: {
    name: 'containers_per_pod_count',
    help: 'Containers of each pod that was started.',
    buckets: exponentialBuckets(1, 2, 5),
  },
  deviceAllocationDuration: {
    name: 'device_plugin_alloc_duration_seconds',
    help: 'Duration of allocations by device plugins, by resource.',
    labels: ['resource_name'],
    buckets: usualBuckets,
  },
  eventLatency: {
    name: 'evented_pleg_connection_latency_seconds',
    help: 'Time from the events of containers until they were received.',
    buckets: usualBuckets,
  },
  evictionStatsAge: {
    name: 'eviction_stats_age_seconds',
    help: 'Age of the measurements by which pods were evicted, by signal.',
    labels: ['eviction_signal'],
    buckets: usualBuckets,
  },
  requestDuration: {
    name: 'http_requests_duration_seconds',
    help: 'Duration of requests to the agent.',
    labels: ['method', 'path', 'server_type', 'long_running'],
    buckets: usualBuckets,
  },
  pullDuration: {
    name: 'image_pull_duration_seconds',
    help: 'Duration of pulls, by the size of the image.',
    labels: ['image_size_in_bytes'],
    buckets: [1, 5, 10, 20, 30, 60, 180, 300, 600, 900, 1200, 1800, 2700, 3600],
  },
  relistDuration: {name: 'pleg_relist_duration_seconds', help: 'Duration of lists of the pods of the runtime.', buckets: usualBuckets},
  relistInterval: {name: 'pleg_relist_interval_seconds', help: 'Time between two lists of the pods of the runtime.', buckets: usualBuckets},
  podStart: {name: 'pod_start_duration_seconds', help: 'Time from when the agent saw a pod first until it ran.', buckets: startBuckets},
  podStartSli: {
    name: 'pod_start_sli_duration_seconds',
    help: 'Time from the creation of a pod until all its containers were reported as started, without pulls of images and init containers.',
    buckets: startBuckets,
  },
  podStartTotal: {
    name: 'pod_start_total_duration_seconds',
    help: 'Time from the creation of a pod until all its containers were reported as started.',
    buckets: startBuckets,
  },
  resizeDuration: {
    name: 'pod_resize_duration_milliseconds',
    help: 'Duration in milliseconds to actuate a pod resize',
    labels: ['success'],
    buckets: [10, 50, 100, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000],
  },
  statusSync: {
    name: 'pod_status_sync_duration_seconds',
    help: 'Time from a change of the status of a pod until the API server had it.',
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 45, 60],
  },
  workerDuration: {
    name: 'pod_worker_duration_seconds',
    help: 'Duration of one sync of a pod, by why it was made: create, update, sync or kill.',
    labels: ['operation_type'],
    buckets: usualBuckets,
  },
  topologyDuration: {
    name: 'topology_manager_admission_duration_ms',
    help: 'Duration of the allocation of the resources of a pod, in milliseconds.',
    buckets: exponentialBuckets(0.05, 2, 15),
  },
  workerStart: {
    name: 'pod_worker_start_duration_seconds',
    help: 'Time from when the agent saw a pod until its worker began.',
    buckets: usualBuckets,
  },
  sandboxDuration: {
    name: 'run_podsandbox_duration_seconds',
    help: 'Duration of runs of sandboxes, by handler of the runtime class.',
    labels: ['runtime_handler'],
    buckets: usualBuckets,
  },
  runtimeDuration: {
    name: 'runtime_operations_duration_seconds',
    help: 'Duration of calls of the container runtime, by operation.',
    labels: ['operation_type'],
    buckets: exponentialBuckets(0.005, 2.5, 14),
  },
} as const satisfies Readonly<Record<string, Row & {readonly buckets: readonly number[]}>>;

const gauges = {
  shutdownStart: {
    name: 'graceful_shutdown_start_time_seconds',
    help: 'When the last graceful shutdown of the node began, in seconds of Unix time.',
  },
  shutdownEnd: {
    name: 'graceful_shutdown_end_time_seconds',
    help: 'When the last graceful shutdown of the node ended, in seconds of Unix time; 0 while it goes on.',
  },
  cpusPerNuma: {
    name: 'cpu_manager_allocation_per_numa',
    help: 'CPUs that containers have exclusively, by NUMA node.',
    labels: ['numa_node'],
  },
  exclusiveCpus: {name: 'cpu_manager_exclusive_cpu_allocation_count', help: 'CPUs that containers have exclusively.'},
  sharedPool: {
    name: 'cpu_manager_shared_pool_size_millicores',
    help: 'The size of the pool of CPUs that containers share, without reserved CPUs, in millicores.',
  },
  credentialProviderConfigInfo: {
    name: 'credential_provider_config_info',
    help: 'The digest of the configuration of credential providers; the value is always 1.',
    labels: ['hash'],
  },
  pendingResizes: {name: 'pod_pending_resizes', help: 'Number of pending resizes for pods.', labels: ['reason']},
  resizesInProgress: {name: 'pod_in_progress_resizes', help: 'Number of in-progress resizes for pods.'},
  inflightRequests: {
    name: 'http_inflight_requests',
    help: 'Requests to the agent that are being answered.',
    labels: ['method', 'path', 'server_type', 'long_running'],
  },
  startup: {name: 'node_startup_duration_seconds', help: 'Duration of the start of the node in total.'},
  startupAfterRegistration: {
    name: 'node_startup_post_registration_duration_seconds',
    help: 'Time from the registration of the node until it was ready.',
  },
  startupBeforeAgent: {
    name: 'node_startup_pre_AGENT_duration_seconds',
    help: 'Time from the start of the machine until that of the agent.',
  },
  startupBeforeRegistration: {
    name: 'node_startup_pre_registration_duration_seconds',
    help: 'Time from the start of the agent until it registered the node.',
  },
  startupRegistration: {name: 'node_startup_registration_duration_seconds', help: 'Duration of the registration of the node.'},
  lastSeen: {name: 'pleg_last_seen_seconds', help: 'When the pods of the runtime were listed last, in seconds of Unix time.'},
} as const satisfies Readonly<Record<string, Row>>;

/** The counters and histograms of an agent. */
export type AgentMetrics = {readonly [K in keyof typeof counters]: Counter} & {readonly [K in keyof typeof histograms]: Histogram} & {
  readonly [K in keyof typeof gauges]: Gauge;
};

const mapped = <R extends Row, T>(rows: Readonly<Record<string, R>>, make: (row: R) => T): [string, T][] =>
  Object.entries(rows).map(([key, row]) => [key, make(row)]);

/** Returns the full name of a metric of the agent. */
export const agentMetricName = ({agent}: Naming, name: string): string => `${agent}_${name.replace('AGENT', agent)}`;

/** Creates the counters and histograms of an agent. */
export const agentMetrics = (meter: Meter, naming: Naming): AgentMetrics => {
  const named = <R extends Row>(row: R): R => ({...row, name: agentMetricName(naming, row.name)});
  return Object.fromEntries<Counter | Histogram | Gauge>([
    ...mapped<Row, Counter>(counters, row => meter.counter(named(row))),
    ...mapped<Row & {readonly buckets: readonly number[]}, Histogram>(histograms, row => meter.histogram(named(row))),
    ...mapped<Row, Gauge>(gauges, row => meter.gauge(named(row))),
  ]) as unknown as AgentMetrics;
};
