import test from 'ava';
import {naming} from '#src/api/naming.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {noMeter} from '#src/base/meter.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {agentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import {imageSizeRange} from '#src/platlet/metrics/image-sizes.js';
import {bootTimeOf, StartupTimes} from '#src/platlet/metrics/startup.js';
import {operationOf, runtimeCalls} from '#src/platlet/metrics/runtime-calls.js';
import {procedures} from '#src/platlet/cri/procedures.js';
import {aPlaneWithNode, podsOf, run} from '#test/platlet/agent.js';
import {MemoryRuntime} from '#test/platlet/memory-runtime.js';
import {servedAgent} from './served.js';

/** The metrics of the original's node agent that concern what this agent does, without its name. */
const original = `
  container_aligned_compute_resources_count container_aligned_compute_resources_failure_count cpu_manager_allocation_per_numa
  cpu_manager_exclusive_cpu_allocation_count cpu_manager_pinning_errors_total cpu_manager_pinning_requests_total
  cpu_manager_shared_pool_size_millicores memory_manager_pinning_errors_total memory_manager_pinning_requests_total
  topology_manager_admission_duration_ms topology_manager_admission_errors_total topology_manager_admission_requests_total
  active_pods admission_rejections_total cgroup_manager_duration_seconds cgroup_version container_requested_resizes_total containers_per_pod_count
  credential_provider_config_info credential_provider_plugin_duration credential_provider_plugin_errors_total desired_pods device_plugin_alloc_duration_seconds device_plugin_registration_total evented_pleg_connection_error_count
  evented_pleg_connection_latency_seconds evented_pleg_connection_success_count eviction_stats_age_seconds
  evictions image_volume_mounted_errors_total image_volume_mounted_succeed_total image_volume_requested_total graceful_shutdown_end_time_seconds graceful_shutdown_start_time_seconds http_inflight_requests http_requests_duration_seconds http_requests_total image_garbage_collected_total image_pull_duration_seconds
  lifecycle_handler_http_fallbacks_total managed_ephemeral_containers mirror_pods node_name node_startup_duration_seconds
  node_startup_post_registration_duration_seconds node_startup_pre_kubelet_duration_seconds node_startup_pre_registration_duration_seconds
  node_startup_registration_duration_seconds orphaned_runtime_pods_total pleg_discard_events pleg_last_seen_seconds pleg_relist_duration_seconds
  pleg_relist_interval_seconds pod_start_duration_seconds pod_start_sli_duration_seconds pod_start_total_duration_seconds
  pod_deferred_accepted_resizes_total pod_in_progress_resizes pod_infeasible_resizes_total pod_pending_resizes pod_resize_duration_milliseconds
  pod_status_sync_duration_seconds pod_worker_duration_seconds pod_worker_start_duration_seconds pod_resources_endpoint_errors_get pod_resources_endpoint_requests_get pod_resources_endpoint_requests_get_allocatable pod_resources_endpoint_requests_list pod_resources_endpoint_requests_total preemptions restarted_pods_total
  run_podsandbox_duration_seconds run_podsandbox_errors_total running_containers running_pods runtime_operations_duration_seconds
  runtime_operations_errors_total runtime_operations_total started_containers_errors_total started_containers_total started_pods_errors_total
  started_pods_total started_user_namespaced_pods_errors_total started_user_namespaced_pods_total volume_stats_available_bytes volume_stats_capacity_bytes volume_stats_inodes volume_stats_inodes_free volume_stats_inodes_used
  volume_stats_used_bytes working_pods
`
  .trim()
  .split(/\s+/);

test('an agent has the metrics of the original, by its own name', async t => {
  await using plane = await aPlaneWithNode();
  await using agent = await servedAgent(plane, new MemoryRuntime(plane.clock));
  const text = await agent.ask('/metrics');
  const names = [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name!).filter(name => name.startsWith(`${plane.naming.agent}_`));

  t.deepEqual(names.sort(), original.map(name => `${plane.naming.agent}_${name.replace('kubelet', plane.naming.agent)}`).sort());
});

/** The series of a page without comments and buckets, by a prefix of their names. */
const seriesOf = (page: string, prefix: string): string[] =>
  page.split('\n').filter(line => line.startsWith(prefix) && !/_bucket\{|_sum/.test(line));

test('the start of a pod is counted and measured', async t => {
  await using plane = await aPlaneWithNode();
  const {agent: name} = plane.naming;
  await using agent = await servedAgent(plane, new MemoryRuntime(plane.clock));
  await run(plane, 'pod', {initContainers: [{name: 'first', image: 'first'}]});
  await plane.clock.advance(3_000);
  const page = await agent.ask('/metrics');
  const has = (...lines: readonly string[]) => {
    for (const line of lines) t.true(page.includes(`\n${name}_${line}\n`), `${line} in\n${seriesOf(page, name).join('\n')}`);
  };
  has(
    'started_pods_total 1',
    'started_containers_total{container_type="init_container"} 1',
    'run_podsandbox_duration_seconds_count{runtime_handler=""} 1',
  );
  has('containers_per_pod_count_sum 2', 'desired_pods{static=""} 1', 'desired_pods{static="true"} 0', 'active_pods{static=""} 1');
  has('running_pods 1', 'running_containers{container_state="running"} 1', 'running_containers{container_state="exited"} 0');
  has(
    'working_pods{lifecycle="sync",config="desired",static=""} 1',
    'working_pods{lifecycle="terminated",config="orphan",static="true"} 0',
  );
  has('node_name{node="node"} 1', 'cgroup_version 2', 'mirror_pods 0', 'pod_worker_duration_seconds_count{operation_type="create"} 1');
});

test('the time until a pod runs is measured from its creation, and from when it was seen', async t => {
  await using plane = await aPlaneWithNode();
  const {agent: name} = plane.naming;
  await using agent = await servedAgent(plane, new MemoryRuntime(plane.clock));
  await run(plane);
  await plane.clock.advance(3_000);
  for (const metric of ['pod_start_duration_seconds', 'pod_start_total_duration_seconds', 'pod_start_sli_duration_seconds'])
    t.is(agent.registry.value(`${name}_${metric}`), 1, metric);
  t.true(agent.registry.value(`${name}_pod_status_sync_duration_seconds`)! >= 1);
  t.is(agent.registry.value(`${name}_pod_worker_start_duration_seconds`), 1);
  t.true(agent.registry.value(`${name}_pleg_relist_duration_seconds`)! >= 3);
  t.is(agent.registry.value(`${name}_pleg_last_seen_seconds`), plane.clock.now() / 1000);
});

test('what fails is counted by why', async t => {
  await using plane = await aPlaneWithNode();
  const {agent: name} = plane.naming;
  const runtime = new MemoryRuntime(plane.clock, container => (container === 'app' ? {createError: 'no'} : {}));
  runtime.sandboxErrors = [new Error('no sandbox')];
  await using agent = await servedAgent(plane, runtime);
  await run(plane);
  await run(plane, 'large', {containers: [{name: 'app', image: 'app', resources: {requests: {cpu: '100'}}}]});
  await plane.clock.advance(40_000);
  const {registry} = agent;
  t.is(registry.value(`${name}_started_pods_errors_total`), 1);
  t.is(registry.value(`${name}_run_podsandbox_errors_total`, {runtime_handler: ''}), 1);
  t.true(registry.value(`${name}_started_containers_errors_total`, {container_type: 'container', code: 'CreateContainerError'})! >= 1);
  t.is(registry.value(`${name}_admission_rejections_total`, {reason: 'OutOfcpu'}), 1);
});

test('the results of probes are counted until their container is gone', async t => {
  await using plane = await aPlaneWithNode();
  let isHealthy = true;
  const commands = {check: () => [isHealthy ? 0 : 1, ''] as const};
  await using agent = await servedAgent(plane, new MemoryRuntime(plane.clock, () => ({commands})));
  const pod = await run(plane, 'pod', {
    containers: [{name: 'app', image: 'app', readinessProbe: {exec: {command: ['check']}, periodSeconds: 1}}],
    terminationGracePeriodSeconds: 0,
  });
  await plane.clock.advance(5_500);
  isHealthy = false;
  await plane.clock.advance(2_000);
  const page = await agent.ask('/metrics/probes');
  const labels = `container="app",namespace="default",pod="pod",pod_uid="${pod.metadata?.uid}",probe_type="Readiness"`;
  t.regex(page, new RegExp(`prober_probe_total\\{${labels},result="successful"\\} [56]\n`));
  t.regex(page, new RegExp(`prober_probe_total\\{${labels},result="failed"\\} [12]\n`));
  t.regex(page, /# TYPE prober_probe_duration_seconds histogram\n/);
  t.regex(
    page,
    /prober_probe_duration_seconds_bucket\{container="app",namespace="default",pod="pod",probe_type="Readiness",le="\+Inf"\} [678]\n/,
  );

  await podsOf(plane).delete('pod', {namespace: 'default'});
  await plane.clock.advance(5_000);
  t.false((await agent.ask('/metrics/probes')).includes('prober_probe_total{'));
});

test('claims of pods have the metrics of volumes', async t => {
  await using plane = await aPlaneWithNode();
  const claims = [{namespace: 'default', claim: 'data', capacityBytes: 100, usedBytes: 40}];
  await using agent = await servedAgent(plane, new MemoryRuntime(plane.clock), {claims});
  const page = await agent.ask('/metrics');
  const of = (name: string) => `${plane.naming.agent}_volume_stats_${name}{namespace="default",persistentvolumeclaim="data"}`;
  t.true(page.includes(`\n${of('capacity_bytes')} 100\n`));
  t.true(page.includes(`\n${of('used_bytes')} 40\n`));
  t.false(page.includes(of('inodes')));
});

test('requests are counted by labels of few values', async t => {
  await using plane = await aPlaneWithNode();
  await using agent = await servedAgent(plane, new MemoryRuntime(plane.clock));
  for (const [url, method] of [
    ['/pods'],
    ['/metrics/probes?x=/pods'],
    [`/${'x'.repeat(1 << 20)}`],
    ['/pods', 'BREW'],
    ['/%70ods'],
  ] as const)
    await agent.raw(url, method);
  const name = `${plane.naming.agent}_http_requests_total`;
  const lines = seriesOf(await agent.ask('/metrics'), name);
  const of = (method: string, path: string, count: number) =>
    `${name}{method="${method}",path="${path}",server_type="readwrite",long_running="false"} ${count}`;
  t.deepEqual(lines.sort(), [
    of('GET', 'metrics', 1),
    of('GET', 'metrics/probes', 1),
    of('GET', 'other', 2),
    of('GET', 'pods', 1),
    of('other', 'pods', 1),
  ]);
});

test('operations of the runtime have the names of the original', t => {
  const names = Object.values(procedures).map(({path}) => operationOf(path));
  t.is(new Set(names).size, names.length);
  for (const name of [
    'version',
    'run_podsandbox',
    'list_podsandbox',
    'podsandbox_status',
    'create_container',
    'exec_sync',
    'pull_image',
    'image_fs_info',
  ])
    t.true(names.includes(name), name);
  t.true(names.includes('update_container') && names.includes('port_forward') && names.includes('list_podsandbox_stats'));

  const registry = new MetricsRegistry();
  const called = runtimeCalls(agentMetrics(registry, naming('plat')));
  called(procedures.version.path, 0.1, false);
  called(procedures.version.path, 0.1, true);
  t.is(registry.value('platlet_runtime_operations_total', {operation_type: 'version'}), 2);
  t.is(registry.value('platlet_runtime_operations_errors_total', {operation_type: 'version'}), 1);
  t.is(registry.value('platlet_runtime_operations_duration_seconds', {operation_type: 'version'}), 2);
  t.truthy(agentMetrics(noMeter, naming('kubernetes')));
});

test('images are measured in ranges of sizes', t => {
  t.deepEqual([undefined, 1, 10 << 20, 2 ** 30, 200 * 2 ** 30].map(imageSizeRange), ['N/A', '0-10MB', '10MB-100MB', '1GB-5GB', 'GT100GB']);
});

test('the start of a node that is new is measured from that of its machine', async t => {
  const clock = new VirtualClock();
  const registry = new MetricsRegistry();
  const start = new StartupTimes(
    clock,
    agentMetrics(registry, naming('kubernetes')),
    bootTimeOf(`x 1\nbtime ${clock.now() / 1000 - 60}\n`),
  );
  for (const stage of ['registering', 'registered', 'ready'] as const) {
    await clock.advance(2_000);
    start.reached(stage);
  }
  await clock.advance(9_000);
  start.reached('ready');
  const value = (name: string) => registry.value(`kubelet_node_startup_${name}duration_seconds`);
  t.deepEqual(['pre_kubelet_', 'pre_registration_', 'registration_', 'post_registration_', ''].map(value), [60, 2, 2, 2, 66]);
});
