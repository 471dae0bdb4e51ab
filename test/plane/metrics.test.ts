import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {wireTime} from '#src/api/time.js';
import type {Plane} from '#src/plane/plane.js';
import {aPlane} from '#test/controllers/plane.js';
import {refusal} from '#test/resources/environment.js';
import {aPlaneWithNodes, run, type BoundPod} from '#test/simulation/environment.js';

const containers: BoundPod['containers'] = [
  {name: 'app', image: 'nginx', resources: {requests: {cpu: '2', memory: '1Gi'}}},
  {name: 'other', image: 'nginx'},
];
const behavior = '[{match: {containers: app}, usage: {cpu: 50%, memory: 100Mi}}, {usage: {cpu: 1500u}}]';

const withPods = async (): Promise<Plane> => {
  const plane = await aPlaneWithNodes();
  await run(plane, {containers, behavior, metadata: {labels: {app: 'web'}}});
  await run(plane, {name: 'second', metadata: {labels: {app: 'db'}}});
  await run(plane, {name: 'waiting', behavior: '{pullError: x}'});
  await plane.clock.advance(1_000);
  return {...plane};
};

test('the usage of nodes and pods is served as their metrics', async t => {
  await using plane = await aPlaneWithNodes();
  await run(plane, {containers, behavior, metadata: {labels: {app: 'web'}}});
  await plane.clock.advance(1_000);
  const now = wireTime(plane.clock.now());
  const client = plane.client();

  t.deepEqual(await client.resource(kinds.podMetrics).get('pod', {namespace: 'default'}), {
    kind: 'PodMetrics',
    apiVersion: 'metrics.plat.io/v1beta1',
    metadata: {name: 'pod', namespace: 'default', creationTimestamp: now, labels: {app: 'web'}},
    timestamp: now,
    window: '10s',
    containers: [
      {name: 'app', usage: {cpu: '1', memory: '100Mi'}},
      {name: 'other', usage: {cpu: '1500u', memory: '1Mi'}},
    ],
  });
  t.like(await client.resource(kinds.nodeMetrics).get('plat-node-0'), {
    kind: 'NodeMetrics',
    metadata: {name: 'plat-node-0'},
    timestamp: now,
    window: '10s',
    usage: {cpu: '1051500u', memory: '357Mi'},
  });
});

test('metrics are selected by labels, fields and namespace, and missing where nothing runs', async t => {
  await using plane = await withPods();
  const client = plane.client();
  const names = async (options: {namespace?: string; labelSelector?: string; fieldSelector?: string}) =>
    (await client.resource(kinds.podMetrics).list(options)).items.map(({metadata}) => metadata?.name);

  t.deepEqual((await names({})).sort(), ['pod', 'second']);
  t.deepEqual(await names({namespace: 'default', labelSelector: 'app=web'}), ['pod']);
  t.deepEqual(await names({namespace: 'default', fieldSelector: 'metadata.name=second'}), ['second']);
  t.deepEqual(await names({namespace: 'other'}), []);
  t.deepEqual((await client.resource(kinds.nodeMetrics).list({labelSelector: 'no=label'})).items, []);
  t.like(await refusal(client.resource(kinds.podMetrics).get('waiting', {namespace: 'default'})), {
    code: 404,
    message: 'podmetrics.metrics.plat.io "default/waiting" not found',
  });
  t.like(await refusal(client.resource(kinds.nodeMetrics).get('nowhere')), {
    code: 404,
    message: 'nodemetrics.metrics.plat.io "nowhere" not found',
  });
  t.like(await refusal(client.resource(kinds.podMetrics).delete('pod', {namespace: 'default'})), {code: 405});
});

test('tables of metrics sum the usage of the containers of a pod', async t => {
  await using plane = await withPods();
  const table = (path: string) =>
    plane.client().request('GET', path, {accept: 'application/json;as=Table;g=meta.plat.io;v=v1'}) as Promise<{
      columnDefinitions: {name: string}[];
      rows: {cells: unknown[]}[];
    }>;
  const pods = await table('/apis/metrics.plat.io/v1beta1/namespaces/default/pods?labelSelector=app%3Dweb');

  t.deepEqual(
    pods.columnDefinitions.map(({name}) => name),
    ['Name', 'cpu', 'memory', 'Window'],
  );
  t.deepEqual(
    pods.rows.map(({cells}) => cells),
    [['pod', '1001500u', '101Mi', '10s']],
  );
  t.deepEqual(
    (await table('/apis/metrics.plat.io/v1beta1/nodes')).rows.map(({cells}) => cells[0]),
    ['plat-node-0'],
  );
});

test('discovery and documents include metrics where usage is measured, and not elsewhere', async t => {
  await using plane = await aPlaneWithNodes();
  await using without = await aPlane({controllers: ['serviceaccount-controller']});
  const client = plane.client();

  t.deepEqual(await client.request('GET', '/apis/metrics.plat.io/v1beta1'), {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: 'metrics.plat.io/v1beta1',
    resources: [
      {name: 'nodes', singularName: 'node', namespaced: false, kind: 'NodeMetrics', verbs: ['get', 'list']},
      {name: 'pods', singularName: 'pod', namespaced: true, kind: 'PodMetrics', verbs: ['get', 'list']},
    ],
  });
  const {paths} = (await client.request('GET', '/openapi/v3/apis/metrics.plat.io/v1beta1')) as {paths: Record<string, object>};
  t.deepEqual(
    Object.keys(paths)
      .filter(path => path.endsWith('s'))
      .map(path => path.split('v1beta1')[1])
      .sort(),
    ['/namespaces/{namespace}/pods', '/nodes', '/pods'],
  );
  t.like(await refusal(without.client().resource(kinds.nodeMetrics).list()), {code: 404});
});
