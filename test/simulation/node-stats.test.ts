import test from 'ava';
import type {Pod} from '#src/api/pod.js';
import {annotate, aPlaneWithNodes, run, type BoundPod, type NodesPlane} from './environment.js';

const aNode = '/api/v1/nodes/plat-node-0/proxy';
const fetched = (plane: NodesPlane, path: string, method = 'GET'): Promise<unknown> => plane.client().request(method, `${aNode}${path}`);

const containers: BoundPod['containers'] = [
  {name: 'app', image: 'nginx', resources: {requests: {cpu: '2', memory: '1Gi'}, limits: {cpu: '4', memory: '2Gi'}}},
];
const behavior = '{usage: {cpu: 50%, memory: 100Mi}}';

/** A node on which a pod uses one core since ten seconds. */
const measuredPlane = async (): Promise<NodesPlane> => {
  const plane = await aPlaneWithNodes({nodes: 2});
  await run(plane, {containers, behavior});
  await run(plane, {name: 'waiting', behavior: '{pullError: x}'});
  await run(plane, {name: 'elsewhere', node: 'plat-node-1'});
  await plane.clock.advance(10_100);
  return plane;
};

/** The series of a page of metrics, without comments. */
const seriesOf = (text: unknown): string[] =>
  String(text)
    .trimEnd()
    .split('\n')
    .filter(line => !line.startsWith('#'));

test('the agent of a node serves the usage of its pods, in the form that metrics servers read', async t => {
  await using plane = await measuredPlane();
  const time = plane.clock.now();
  const text = String(await fetched(plane, '/metrics/resource'));

  t.deepEqual(seriesOf(text), [
    `container_cpu_usage_seconds_total{container="app",namespace="default",pod="pod"} 10 ${time}`,
    `container_memory_working_set_bytes{container="app",namespace="default",pod="pod"} 104857600 ${time}`,
    `container_start_time_seconds{container="app",namespace="default",pod="pod"} ${(time - 10_000) / 1000}`,
    `container_swap_usage_bytes{container="app",namespace="default",pod="pod"} 0 ${time}`,
    ...seriesOf(text).filter(line => line.startsWith('node_cpu')),
    `node_memory_working_set_bytes ${357 * 2 ** 20 - 2 ** 20} ${time}`,
    `node_swap_usage_bytes 0 ${time}`,
    `pod_cpu_usage_seconds_total{namespace="default",pod="pod"} ${
      seriesOf(text)
        .find(line => line.startsWith('pod_cpu'))!
        .split(' ')[1]
    } ${time}`,
    `pod_memory_working_set_bytes{namespace="default",pod="pod"} 104857600 ${time}`,
    `pod_swap_usage_bytes{namespace="default",pod="pod"} 0 ${time}`,
    'resource_scrape_error 0',
  ]);
  t.regex(text, /^# HELP container_cpu_usage_seconds_total \S.*\n# TYPE container_cpu_usage_seconds_total counter$/m);
});

test('processor time only grows, whatever becomes of the rate', async t => {
  await using plane = await measuredPlane();
  const spent = async () =>
    Number(/^container_cpu_usage_seconds_total\S* (\S+)/m.exec(String(await fetched(plane, '/metrics/resource')))?.[1]);
  t.is(await spent(), 10);
  await annotate(plane, 'pod', {'simulation.plat.io/behavior': '{usage: {cpu: 100m}}'});
  await plane.clock.advance(10_000);

  t.is(await spent(), 11);
  await annotate(plane, 'pod', {'simulation.plat.io/kill': 'app'});
  await plane.clock.advance(30_000);
  t.true((await spent()) < 10, 'a new run begins with nothing');
});

test('the summary has the usage of the node and its pods', async t => {
  await using plane = await measuredPlane();
  const {node, pods} = (await fetched(plane, '/stats/summary')) as {node: Record<string, never>; pods: Record<string, never>[]};

  t.like(node, {
    nodeName: 'plat-node-0',
    cpu: {usageNanoCores: 1_050_000_000},
    memory: {workingSetBytes: 356 * 2 ** 20, availableBytes: 256 * 2 ** 30 - 356 * 2 ** 20},
    fs: {capacityBytes: 2 ** 40},
  });
  t.is(pods.length, 1);
  t.like(pods[0], {podRef: {name: 'pod', namespace: 'default'}, cpu: {usageNanoCores: 1e9}, memory: {workingSetBytes: 100 * 2 ** 20}});
  t.like((pods[0] as unknown as {containers: unknown[]}).containers[0], {
    name: 'app',
    cpu: {usageNanoCores: 1e9, usageCoreNanoSeconds: 10e9},
    memory: {availableBytes: 2 ** 31 - 100 * 2 ** 20},
  });
  t.is(((await fetched(plane, '/stats/summary?only_cpu_and_memory=true')) as {node: {fs?: unknown}}).node.fs, undefined);
});

test('containers have the labels by which dashboards and alerts join', async t => {
  await using plane = await measuredPlane();
  const series = seriesOf(await fetched(plane, '/metrics/cadvisor'));
  const of = (name: string) =>
    series
      .filter(line => line.startsWith(`${name}{`))
      .map(line =>
        line
          .replace(/ \d+$/, '')
          .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'UID')
          .replaceAll(/[0-9a-f]{64}/g, 'ID'),
      );

  t.deepEqual(of('container_memory_working_set_bytes'), [
    'container_memory_working_set_bytes{container="",id="/",image="",name="",namespace="",pod=""} 373293056',
    'container_memory_working_set_bytes{container="",id="/kubepods/podUID",image="",name="",namespace="default",pod="pod"} 104857600',
    'container_memory_working_set_bytes{container="app",id="/kubepods/podUID/ID",image="docker.io/library/nginx:latest",name="ID",namespace="default",pod="pod"} 104857600',
  ]);
  t.regex(of('container_cpu_usage_seconds_total')[2]!, /^\S+pod="pod",cpu="total"} 10$/);
  t.regex(of('container_spec_cpu_quota')[0]!, / 400000$/);
  t.regex(of('container_spec_memory_limit_bytes')[0]!, / 2147483648$/);
  t.regex(
    series.find(line => line.startsWith('machine_cpu_cores'))!,
    /^machine_cpu_cores{boot_id="\S+",machine_id="\S+",system_uuid="\S+"} 32$/,
  );
});

test('probes are counted by result', async t => {
  await using plane = await aPlaneWithNodes();
  const probe = {httpGet: {port: 80}, periodSeconds: 2};
  const probed: BoundPod['containers'] = [{name: 'app', image: 'nginx', livenessProbe: probe, readinessProbe: probe}];
  await run(plane, {containers: probed, behavior: '{readyAfter: 5s}'});
  await plane.clock.advance(10_100);
  const counts = seriesOf(await fetched(plane, '/metrics/probes')).map(line =>
    /probe_type="(\w+)",result="(\w+)"} (\d+)$/.exec(line)?.slice(1).join(' '),
  );

  t.deepEqual(counts, ['Liveness successful 6', 'Readiness successful 3', 'Readiness failed 3']);
});

test('the agent of a node serves its pods, those that run, its own metrics and its configuration', async t => {
  await using plane = await measuredPlane();
  const names = async (path: string) =>
    ((await fetched(plane, path)) as {items: Pod[]}).items.map(({metadata, status}) => `${metadata?.name} ${status?.phase}`);

  t.deepEqual([await names('/pods'), await names('/runningpods/')], [['pod Running', 'waiting Pending'], ['pod Running']]);
  t.deepEqual(seriesOf(await fetched(plane, '/metrics')), [
    'platlet_active_pods{static=""} 2',
    'platlet_desired_pods{static=""} 2',
    'platlet_node_name{node="plat-node-0"} 1',
    'platlet_running_containers{container_state="running"} 1',
    'platlet_running_containers{container_state="exited"} 0',
    'platlet_running_pods 1',
  ]);
  t.like(await fetched(plane, '/configz'), {
    platletconfig: {port: 10_250, nodeLeaseDurationSeconds: 40, nodeStatusUpdateFrequency: '10s', maxPods: 110},
  });
  t.is(await fetched(plane, '/healthz/syncloop'), 'ok');
  for (const path of ['/metrics/none', '/stats/', '/pods/one', '/healthz/none'])
    await t.throwsAsync(fetched(plane, path), {message: /could not find|404/}, path);
});

/** Runs a command by the path without a stream; the response is text, whatever its content type. */
const ran = async (plane: NodesPlane, path: string): Promise<string> => {
  const {status, body} = await plane.api.handler({
    method: 'POST',
    url: `${aNode}/run/${path}`,
    headers: {},
    caller: {user: {name: 'admin', groups: ['system:masters']}},
    remoteAddress: '',
    signal: new AbortController().signal,
  });
  return `${status} ${body.kind === 'stream' ? (await body.source.toArray()).join('') : body.kind}`;
};

test('an agent runs a command and returns its output', async t => {
  await using plane = await measuredPlane();

  t.is(await ran(plane, 'default/pod/app?cmd=echo%20hello'), '200 hello\n');
  t.is(await ran(plane, 'default/pod/uid/app?cmd=false'), "500 command 'false' exited with 1: ");
  t.is(await ran(plane, 'default/none/app?cmd=true'), '404 pod "none" does not exist\n');
  t.is(await ran(plane, 'default'), '404 404 page not found\n');
});
