// How stable a metric is, and whether it is still shown: the deprecation policy of the original's metrics (KEP-1209).
// The help text of a metric begins with its stability, and `registered_metrics_total` counts by it.

import type {MetricSpec} from '#src/base/meter.js';

export type Stability = 'ALPHA' | 'BETA' | 'STABLE';

/** The metrics of the original that are not alpha, below their common prefix. */
const levels: readonly (readonly [Stability, string, readonly string[]])[] = [
  ['BETA', '', ['disabled_metrics_total', 'hidden_metrics_total', 'registered_metrics_total']],
  ['BETA', 'apiserver_authentication_config_controller_', ['automatic_reload_last_timestamp_seconds', 'automatic_reloads_total']],
  ['BETA', 'apiserver_authorization_config_controller_', ['automatic_reload_last_timestamp_seconds', 'automatic_reloads_total']],
  ['BETA', 'apiserver_cel_', ['compilation_duration_seconds', 'evaluation_duration_seconds']],
  [
    'BETA',
    'apiserver_flowcontrol_',
    [
      'current_executing_requests',
      'current_executing_seats',
      'current_inqueue_requests',
      'dispatched_requests_total',
      'nominal_limit_seats',
      'rejected_requests_total',
      'request_wait_duration_seconds',
    ],
  ],
  ['BETA', 'apiserver_validating_admission_policy_', ['check_duration_seconds', 'check_total']],
  ['BETA', 'prober_', ['probe_total']],
  ['BETA', 'scheduler_', ['pod_scheduling_sli_duration_seconds']],
  ['BETA', 'statefulset_controller_', ['statefulset_max_unavailable', 'statefulset_unavailable_replicas']],
  [
    'STABLE',
    'apiserver_admission_',
    ['controller_admission_duration_seconds', 'step_admission_duration_seconds', 'webhook_admission_duration_seconds'],
  ],
  [
    'STABLE',
    'apiserver_',
    [
      'current_inflight_requests',
      'longrunning_requests',
      'request_duration_seconds',
      'request_total',
      'requested_deprecated_apis',
      'response_sizes',
      'storage_objects',
      'storage_size_bytes',
    ],
  ],
  ['STABLE', 'cronjob_controller_', ['job_creation_skew_duration_seconds']],
  ['STABLE', 'job_controller_', ['job_pods_finished_total', 'job_sync_duration_seconds', 'job_syncs_total', 'jobs_finished_total']],
  ['STABLE', 'kube_pod_', ['resource_limit', 'resource_request']],
  ['STABLE', 'node_collector_', ['evictions_total']],
  [
    'STABLE',
    'scheduler_',
    [
      'framework_extension_point_duration_seconds',
      'pending_pods',
      'pod_scheduling_attempts',
      'preemption_attempts_total',
      'preemption_victims',
      'queue_incoming_pods_total',
      'schedule_attempts_total',
      'scheduling_attempt_duration_seconds',
    ],
  ],
];

const byName: ReadonlyMap<string, Stability> = new Map(
  levels.flatMap(([level, prefix, names]) => names.map(name => [prefix + name, level] as const)),
);

/** Returns the stability of a metric. */
export const stabilityOf = ({name, stability}: MetricSpec): Stability => stability ?? byName.get(name) ?? 'ALPHA';

/** How many minor releases a deprecated metric is shown after the one that deprecates it. */
const shownReleases: Readonly<Record<Stability, number>> = {ALPHA: 0, BETA: 1, STABLE: 3};

/** The minor release of a version such as `1.34.0`. */
const minorOf = (version: string): number => Number(version.split('.')[1]);

/** Whether a release (`1.35`) deprecates a metric. */
const isDeprecated = ({deprecatedSince}: MetricSpec, release: string): boolean =>
  deprecatedSince !== undefined && minorOf(release) >= minorOf(deprecatedSince);

/** Whether a release hides a metric, unless hidden ones are shown. */
export const isHidden = (spec: MetricSpec, release: string): boolean =>
  spec.deprecatedSince !== undefined && minorOf(release) >= minorOf(spec.deprecatedSince) + shownReleases[stabilityOf(spec)];

/** Returns the help text with the metric's stability and deprecation. */
export const annotatedHelp = (spec: MetricSpec, release: string): string =>
  `[${stabilityOf(spec)}] ${isDeprecated(spec, release) ? `(Deprecated since ${spec.deprecatedSince}) ` : ''}${spec.help}`;
