import test from 'ava';
import {Conditions} from '#controllers/horizontal-pod-autoscaler/conditions.js';
import {decideByDemand, decideWithoutMetrics} from '#controllers/horizontal-pod-autoscaler/decision.js';
import {Histories, History} from '#controllers/horizontal-pod-autoscaler/history.js';
import {selectorText} from '#src/model/selector-text.js';
import {metricSources} from '#controllers/horizontal-pod-autoscaler/sources.js';
import {Scales} from '#controllers/shared/scale.js';
import {naming as namingOf} from '#src/api/naming.js';
import {parseLabelSelector} from '#src/api/selectors/label-selector.js';
import {notFound} from '#src/api/status.js';
import {wireTime} from '#src/api/time.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {clientOver} from '#src/client/resource-client.js';
import {now} from './autoscaling-pods.js';

test('selectors are shown with all their fields', t => {
  t.is(selectorText(undefined), 'nil');
  t.is(
    selectorText({matchLabels: {b: '2', a: '1'}, matchExpressions: [{key: 'k', operator: 'In', values: ['x', 'y']}]}),
    '&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},MatchExpressions:[]LabelSelectorRequirement{LabelSelectorRequirement{Key:k,Operator:In,Values:[x y],},},}',
  );
});

/** Metrics as some server beside the API server answers, by path; everything else is not there. */
const sourcesOver = (answers: Readonly<Record<string, unknown>>) => {
  const requested: string[] = [];
  const naming = namingOf('kubernetes');
  const client = clientOver(
    {
      async call({path}) {
        requested.push(decodeURIComponent(path));
        const body = answers[path.split('?')[0]!] ?? notFound({group: '', resource: 'x'}, 'y').status;
        return {status: 'code' in (body as object) ? 404 : 200, header: () => undefined, body};
      },
      watch: () => Promise.reject(new Error('nothing is watched')),
    },
    naming,
  );
  const clock = new VirtualClock();
  return {requested, sources: metricSources(client, new Scales(client, clock), clock)};
};

const web = parseLabelSelector('app=web');
const read = parseLabelSelector('verb=GET');
const groupsWith = (...versions: string[]) => ({
  kind: 'APIGroupList',
  groups: [
    {name: 'custom.metrics.k8s.io', versions: versions.map(version => ({version, groupVersion: `custom.metrics.k8s.io/${version}`}))},
  ],
});

test('metrics of resources are summed over containers, and pods with a container that was not measured are left out', async t => {
  const container = (name: string, usage: Record<string, string>) => ({name, usage});
  const timestamp = wireTime(now);
  const items = [
    {
      metadata: {name: 'p0', namespace: 'd'},
      timestamp,
      window: '30s',
      containers: [container('c', {cpu: '100m'}), container('d', {cpu: '1'})],
    },
    {
      metadata: {name: 'p1', namespace: 'd'},
      timestamp,
      window: '30s',
      containers: [container('c', {cpu: '100m'}), container('d', {memory: '1'})],
    },
    {metadata: {name: 'p2', namespace: 'd'}, timestamp, window: '30s', containers: [container('e', {cpu: '100m'})]},
  ];
  const {requested, sources} = sourcesOver({'/apis/metrics.k8s.io/v1beta1/namespaces/d/pods': {items}});
  t.deepEqual(
    await sources.resource('cpu', 'd', web, ''),
    new Map([
      ['p0', {value: 1100n, timestamp: now, windowMs: 30_000}],
      ['p2', {value: 100n, timestamp: now, windowMs: 30_000}],
    ]),
  );
  t.deepEqual(
    [...(await sources.resource('cpu', 'd', web, 'c')).values()].map(({value}) => value),
    [100n, 100n],
  );
  t.deepEqual([...(await sources.resource('cpu', 'd', web, 'd')).keys()], ['p0']);
  t.deepEqual([...(await sources.resource('cpu', 'd', web, 'e')).keys()], ['p2']);
  await t.throwsAsync(sources.resource('cpu', 'e', web, ''), {message: /^unable to fetch metrics from resource metrics API: /});
  t.is(requested[0], '/apis/metrics.k8s.io/v1beta1/namespaces/d/pods?labelSelector=app=web');
});

test('metrics of pods and objects are read in the best version that is served', async t => {
  const root = '/apis/custom.metrics.k8s.io/v1beta2/namespaces/d';
  const discovered = {
    kind: 'APIGroupList',
    groups: [
      {name: 'networking.k8s.io', versions: [{groupVersion: 'networking.k8s.io/v1', version: 'v1'}]},
      ...groupsWith('v1beta1', 'v1beta2').groups,
    ],
  };
  const {requested, sources} = sourcesOver({
    '/apis': discovered,
    '/api': {kind: 'APIVersions', versions: []},
    '/apis/networking.k8s.io/v1': {resources: [{name: 'ingresses', kind: 'Ingress', namespaced: true}]},
    '/apis/custom.metrics.k8s.io/v1beta1': {resources: []},
    '/apis/custom.metrics.k8s.io/v1beta2': {resources: []},
    [`${root}/pods/*/qps`]: {
      items: [
        {describedObject: {name: 'p0'}, timestamp: wireTime(now), windowSeconds: 20, value: '1500m'},
        {describedObject: {name: 'p1'}, timestamp: wireTime(now), value: '2'},
      ],
    },
    [`${root}/ingresses.networking.k8s.io/main/hits`]: {items: [{value: '7'}]},
    [`${root}/metrics/load`]: {items: [{value: '3'}]},
    [`${root}/ingresses.networking.k8s.io/main/two`]: {items: [{value: '7'}, {value: '8'}]},
  });
  const ingress = {apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', name: 'main'};

  t.deepEqual(
    [...(await sources.pods('qps', 'd', web, read))].map(([pod, {value, windowMs}]) => [pod, value, windowMs]),
    [
      ['p0', 1500n, 20_000],
      ['p1', 2000n, 60_000],
    ],
  );
  t.true(requested.includes(`${root}/pods/*/qps?labelSelector=app=web&metricLabelSelector=verb=GET`));
  t.is(await sources.object('hits', 'd', ingress, read), 7000n);
  t.is(await sources.object('load', 'd', {apiVersion: 'v1', kind: 'Namespace', name: 'another'}, read), 3000n);
  await t.throwsAsync(sources.object('two', 'd', ingress, read), {message: /returned 2 results when we asked for exactly one$/});
});

test('external metrics use every selected value; missing metrics servers are reported', async t => {
  const path = '/apis/external.metrics.k8s.io/v1beta1/namespaces/d/queue';
  const {requested, sources} = sourcesOver({
    '/apis': {kind: 'APIGroupList', groups: []},
    [path]: {items: [{value: '3'}, {value: '500m'}]},
    '/apis/external.metrics.k8s.io/v1beta1/namespaces/d/none': {items: []},
  });
  t.deepEqual(await sources.external('queue', 'd', read), [3000n, 500n]);
  t.deepEqual(requested, [`${path}?labelSelector=verb=GET`]);
  await t.throwsAsync(sources.external('none', 'd', read), {message: 'no metrics returned from external metrics API'});
  await t.throwsAsync(sources.pods('qps', 'd', web, read), {
    message: 'unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered',
  });
  await t.throwsAsync(sourcesOver({'/apis': groupsWith('v2')}).sources.pods('qps', 'd', web, read), {
    message: 'unable to fetch metrics from custom metrics API: no known available metric versions found',
  });
});

test('a target without replicas is left alone, and one outside the bounds is brought to the nearest, without metrics', t => {
  const conditions = new Conditions([], now);
  const hpa = {metadata: {name: 'web'}, spec: {minReplicas: 2, maxReplicas: 5, scaleTargetRef: {kind: 'Deployment', name: 'web'}}};
  const decided = (current: number) => decideWithoutMetrics(hpa, current, conditions)?.replicas;

  t.deepEqual([1, 2, 5, 6].map(decided), [2, undefined, undefined, 5]);
  t.deepEqual(conditions.list, []);
  t.is(decided(0), 0);
  t.deepEqual(
    conditions.list.map(({type, status, reason}) => [type, status, reason]),
    [['ScalingActive', 'False', 'ScalingDisabled']],
  );
});

test('the decision on a target limits what its metrics ask for, and names the metric', t => {
  const conditions = new Conditions([], now);
  const hpa = {metadata: {name: 'web'}, spec: {minReplicas: 1, maxReplicas: 5, scaleTargetRef: {kind: 'Deployment', name: 'web'}}};
  const decided = (replicas: number, current: number) =>
    decideByDemand(
      hpa,
      {replicas, name: 'cpu resource utilization', error: undefined},
      {current, conditions, history: new History(), windowMs: 0, now: 0},
    );

  t.deepEqual(decided(9, 3), {replicas: 5, reason: 'cpu resource utilization above target', error: undefined});
  t.deepEqual(
    conditions.list.map(({type, status, reason}) => [type, status, reason]),
    [
      ['AbleToScale', 'True', 'ReadyForNewScale'],
      ['ScalingLimited', 'True', 'TooManyReplicas'],
    ],
  );
  t.deepEqual(decided(1, 3), {replicas: 1, reason: 'All metrics below target', error: undefined});
  t.deepEqual(decided(3, 3), {replicas: 3, reason: '', error: undefined});
});

test('the history of an autoscaler ends with it, and with a new one of its name', t => {
  const histories = new Histories();
  const key = {namespace: 'default', name: 'web'};
  const first = histories.of(key, 'a');

  t.is(histories.of(key, 'a'), first);
  const second = histories.of(key, 'b');
  t.not(second, first);
  histories.forget(key);
  t.not(histories.of(key, 'b'), second);
});
