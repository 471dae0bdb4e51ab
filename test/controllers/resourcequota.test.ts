import test from 'ava';
import {evaluatorsOf, quotasCounting, type Quota} from '#controllers/resourcequota/usage.js';
import type {Index, Lister} from '#informers/lister.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod, PodSpec} from '#src/api/pod.js';
import {naming} from '#src/api/naming.js';
import {quotaEvaluators} from '#src/model/quota/evaluators.js';
import {recordingLog} from '#test/runtime/environment.js';
import {aPlane} from './plane.js';
import {aPlaneWith, aTemplate, actionsOn, namespace} from './workloads.js';

const start = async (...more: readonly string[]) => over(await aPlaneWith(['resourcequota-controller', ...more]));

const over = (plane: Awaited<ReturnType<typeof aPlaneWith>>) => {
  const at = actionsOn(plane);
  const {clock} = plane;
  const why = async (act: Promise<unknown>): Promise<string> => {
    try {
      await act;
      await clock.drain();
      return 'made';
    } catch (error) {
      return (error as Error).message;
    }
  };
  return {
    ...at,
    plane,
    why,
    quota: (hard: Record<string, string>, more: object = {}, name = 'q') =>
      at.create(kinds.resourceQuotas, {metadata: {name}, spec: {hard, ...more}}),
    pod: (name: string, spec: Partial<PodSpec> = {}, resources: object = {}) =>
      why(
        at.create(kinds.pods, {
          metadata: {name},
          spec: {...aTemplate().spec!, containers: [{name: 'c', image: 'i', resources}], ...spec},
        } as Pod),
      ),
    used: async (name = 'q') => (await at.get(kinds.resourceQuotas, name)).status?.used,
  };
};

test('a new quota soon has its usage, also of earlier objects', async t => {
  const at = await start();
  await using _ = at.plane;
  await at.pod('before');
  await at.quota({
    pods: '3',
    'requests.cpu': '1',
    'count/configmaps': '10',
    secrets: '5',
    'count/deployments.apps': '2',
    'count/widgets.example.com': '1',
  });
  const {status} = await at.get(kinds.resourceQuotas, 'q');

  t.deepEqual(status?.hard, {
    pods: '3',
    'requests.cpu': '1',
    'count/configmaps': '10',
    secrets: '5',
    'count/deployments.apps': '2',
    'count/widgets.example.com': '1',
  });
  t.deepEqual(status?.used, {pods: '1', 'requests.cpu': '0', 'count/configmaps': '0', secrets: '0', 'count/deployments.apps': '0'});
});

test('a quota of custom resources keeps its usage while their definition is absent, and counts them again afterwards', async t => {
  const {log, lines} = recordingLog();
  const at = over(await aPlane({log, controllers: ['resourcequota-controller']}));
  await using _ = at.plane;
  const names = {plural: 'widgets', kind: 'Widget'};
  const versions = [{name: 'v1', served: true, storage: true, schema: {openAPIV3Schema: {type: 'object'}}}];
  const widget = (name: string) =>
    at.client.request('POST', `/apis/example.com/v1/namespaces/${namespace}/widgets`, {
      body: {apiVersion: 'example.com/v1', kind: 'Widget', metadata: {name}},
    });
  const define = () =>
    at.create(kinds.customResourceDefinitions, {
      metadata: {name: 'widgets.example.com', namespace: ''},
      spec: {group: 'example.com', scope: 'Namespaced', names, versions},
    } as never);
  await define();
  await widget('one');
  await at.quota({'count/widgets.example.com': '5', 'count/secrets': '5'});
  t.deepEqual(await at.used(), {'count/widgets.example.com': '1', 'count/secrets': '0'});

  await at.client.resource(kinds.customResourceDefinitions).delete('widgets.example.com');
  await at.clock.advance(5_000);
  lines.length = 0;
  await at.clock.advance(60_000);
  t.deepEqual(
    lines.filter(line => line.includes('following')),
    [],
    'it is followed no more',
  );
  await at.patch(kinds.resourceQuotas, 'q', {spec: {hard: {'count/secrets': '7'}}});
  t.deepEqual((await at.get(kinds.resourceQuotas, 'q')).status?.hard?.['count/secrets'], '7');

  await define();
  for (const name of ['two', 'three']) await widget(name);
  await at.clock.advance(5 * 60_000);
  t.deepEqual(await at.used(), {'count/widgets.example.com': '2', 'count/secrets': '0'});
});

test('a custom kind with the plural namespaces is charged to quotas', async t => {
  const at = over(await aPlane({controllers: ['resourcequota-controller']}));
  await using _ = at.plane;
  const name = 'namespaces.example.com';
  await at.create(kinds.customResourceDefinitions, {
    metadata: {name, namespace: ''},
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: {plural: 'namespaces', kind: 'Space'},
      versions: [{name: 'v1', served: true, storage: true, schema: {openAPIV3Schema: {type: 'object'}}}],
    },
  } as never);
  await at.quota({[`count/${name}`]: '0'});
  const body = {apiVersion: 'example.com/v1', kind: 'Space', metadata: {name: 'one'}};

  t.is(
    await at.why(at.client.request('POST', `/apis/example.com/v1/namespaces/${namespace}/namespaces`, {body})),
    `${name} "one" is forbidden: exceeded quota: q, requested: count/${name}=1, used: count/${name}=0, limited: count/${name}=0`,
  );
});

test('pods are charged as they are made, refused beyond the quota, and given back when they end or go', async t => {
  const at = await start();
  await using _ = at.plane;
  await at.quota({pods: '2', 'requests.cpu': '500m', 'limits.memory': '1Gi'});
  const demand = {requests: {cpu: '200m'}, limits: {memory: '300Mi', cpu: '1'}};
  t.is(await at.pod('one', {}, demand), 'made');
  t.is(await at.pod('two', {}, demand), 'made');
  t.deepEqual(await at.used(), {pods: '2', 'requests.cpu': '400m', 'limits.memory': '600Mi'});

  t.is(
    await at.pod('three', {}, demand),
    'pods "three" is forbidden: exceeded quota: q, requested: pods=1,requests.cpu=200m, used: pods=2,requests.cpu=400m, limited: pods=2,requests.cpu=500m',
  );
  t.is(await at.pod('vague', {}, {requests: {cpu: '1m'}}), 'pods "vague" is forbidden: failed quota: q: must specify limits.memory for: c');
  t.deepEqual(await at.used(), {pods: '2', 'requests.cpu': '400m', 'limits.memory': '600Mi'});
  await at.runs('one', {phase: 'Succeeded', ready: false});
  t.deepEqual(await at.used(), {pods: '1', 'requests.cpu': '200m', 'limits.memory': '300Mi'});
  await at.remove(kinds.pods, 'two', {gracePeriodSeconds: 0});
  t.deepEqual(await at.used(), {pods: '0', 'requests.cpu': '0', 'limits.memory': '0'});
});

test('concurrent requests do not use the same part of a quota', async t => {
  const at = await start();
  await using _ = at.plane;
  await at.quota({configmaps: '5'});
  const outcomes = await Promise.all(
    Array.from({length: 12}, (_, i) => at.why(at.client.resource(kinds.configMaps).create({metadata: {namespace, name: `c${i}`}}))),
  );

  t.is(outcomes.filter(outcome => outcome === 'made').length, 5);
  t.deepEqual(
    new Set(outcomes.filter(outcome => outcome !== 'made').map(outcome => outcome.replace(/"c\d+"/, ''))),
    new Set(['configmaps  is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=5, limited: configmaps=5']),
  );
  t.deepEqual(await at.used(), {configmaps: '5'});
});

test('a dry run charges nothing, and refused objects are recounted in time', async t => {
  const at = await start();
  await using _ = at.plane;
  await at.quota({configmaps: '1'});
  await at.client.resource(kinds.configMaps).create({metadata: {namespace, name: 'c'}}, {dryRun: true});
  t.deepEqual(await at.used(), {configmaps: '0'});
  await at.client
    .resource(kinds.resourceQuotas)
    .update(
      {...(await at.get(kinds.resourceQuotas, 'q')), status: {hard: {configmaps: '1'}, used: {configmaps: '1'}}},
      {subresource: 'status'},
    );
  t.regex(await at.why(at.create(kinds.configMaps, {metadata: {name: 'c'}})), /exceeded quota/);

  await at.clock.advance(5 * 60_000);
  t.deepEqual(await at.used(), {configmaps: '0'});
});

test('services count by their type, which an update may change', async t => {
  const at = await start();
  await using _ = at.plane;
  // The service that leads to the servers is in this namespace too.
  await at.quota({services: '4', 'services.nodeports': '2', 'services.loadbalancers': '1'});
  const ports = (...numbers: readonly number[]) => numbers.map(port => ({name: `p${port}`, port}));
  await at.create(kinds.services, {metadata: {name: 'plain'}, spec: {ports: ports(80)}});
  await at.create(kinds.services, {metadata: {name: 'node'}, spec: {type: 'NodePort', ports: ports(80, 81)}});
  t.deepEqual(await at.used(), {services: '3', 'services.nodeports': '2', 'services.loadbalancers': '0'});
  t.regex(
    await at.why(at.patch(kinds.services, 'plain', {spec: {type: 'LoadBalancer'}})),
    /exceeded quota: q, requested: services.nodeports=1, used: services.nodeports=2, limited: services.nodeports=2/,
  );

  await at.patch(kinds.services, 'node', {spec: {type: 'ClusterIP', ports: ports(80, 81).map(port => ({...port, nodePort: null}))}});
  t.deepEqual(await at.used(), {services: '3', 'services.nodeports': '0', 'services.loadbalancers': '0'});
  t.is(await at.why(at.patch(kinds.services, 'plain', {spec: {type: 'LoadBalancer'}})), 'made');
  t.deepEqual(await at.used(), {services: '3', 'services.nodeports': '1', 'services.loadbalancers': '1'});
});

test('claims count together and by class', async t => {
  const at = await start();
  await using _ = at.plane;
  const {naming} = at.plane;
  const gold = `gold.storageclass.${naming.group('storage')}`;
  await at.quota({
    persistentvolumeclaims: '5',
    'requests.storage': '10Gi',
    [`${gold}/requests.storage`]: '4Gi',
    [`${gold}/persistentvolumeclaims`]: '1',
  });
  const claim = (name: string, storage: string, storageClassName: string) =>
    at.why(
      at.create(kinds.persistentVolumeClaims, {
        metadata: {name},
        spec: {accessModes: ['ReadWriteOnce'], storageClassName, resources: {requests: {storage}}},
      }),
    );
  t.is(await claim('a', '3Gi', 'gold'), 'made');
  t.is(await claim('b', '3Gi', 'tin'), 'made');

  t.deepEqual(await at.used(), {
    persistentvolumeclaims: '2',
    'requests.storage': '6Gi',
    [`${gold}/requests.storage`]: '3Gi',
    [`${gold}/persistentvolumeclaims`]: '1',
  });
  t.regex(await claim('c', '2Gi', 'gold'), /exceeded quota: q, requested: gold\.storageclass\..*persistentvolumeclaims=1,/);
});

test('a claim whose class of attributes changes moves from the quotas of one to those of the other', async t => {
  const at = await start();
  await using _ = at.plane;
  const ofClass = (name: string) =>
    at.quota(
      {persistentvolumeclaims: '1', 'requests.storage': '1Gi'},
      {scopeSelector: {matchExpressions: [{scopeName: 'VolumeAttributesClass', operator: 'In', values: [name]}]}},
      name,
    );
  for (const name of ['gold', 'tin']) await ofClass(name);
  const claim = {accessModes: ['ReadWriteOnce'], storageClassName: 'disk', resources: {requests: {storage: '3Gi'}}};
  await at.create(kinds.persistentVolumeClaims, {metadata: {name: 'a'}, spec: claim});
  const none = {persistentvolumeclaims: '0', 'requests.storage': '0'};
  const one = {persistentvolumeclaims: '1', 'requests.storage': '3Gi'};

  // A status is charged beyond the limit, as what it says has happened.
  for (const [name, gold, tin] of [
    ['gold', one, none],
    ['tin', none, one],
  ] as const) {
    await at.patch(kinds.persistentVolumeClaims, 'a', {status: {currentVolumeAttributesClassName: name}}, 'status');
    t.deepEqual([await at.used('gold'), await at.used('tin')], [gold, tin], name);
  }
});

const besteffort = {};
const burstable = {requests: {cpu: '1m'}};
const scoped: readonly [
  title: string,
  scope: object,
  fits: Partial<PodSpec>,
  resources: object,
  other: Partial<PodSpec>,
  otherResources: object,
][] = [
  ['BestEffort', {scopes: ['BestEffort']}, {}, besteffort, {}, burstable],
  ['NotBestEffort', {scopes: ['NotBestEffort']}, {}, burstable, {}, besteffort],
  ['Terminating', {scopes: ['Terminating']}, {activeDeadlineSeconds: 60}, {}, {}, {}],
  ['NotTerminating', {scopes: ['NotTerminating']}, {}, {}, {activeDeadlineSeconds: 60}, {}],
  [
    'PriorityClass In',
    {scopeSelector: {matchExpressions: [{scopeName: 'PriorityClass', operator: 'In', values: ['high']}]}},
    {priorityClassName: 'high'},
    {},
    {},
    {},
  ],
  [
    'PriorityClass NotIn',
    {scopeSelector: {matchExpressions: [{scopeName: 'PriorityClass', operator: 'NotIn', values: ['high']}]}},
    {},
    {},
    {priorityClassName: 'high'},
    {},
  ],
  [
    'CrossNamespacePodAffinity',
    {scopes: ['CrossNamespacePodAffinity']},
    {
      affinity: {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            {topologyKey: 'zone', namespaceSelector: {}, labelSelector: {matchLabels: {a: 'b'}}},
          ],
        },
      },
    },
    {},
    {
      affinity: {
        podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: 'zone', labelSelector: {matchLabels: {a: 'b'}}}]},
      },
    },
    {},
  ],
];
test('a quota with scopes counts the pods within them alone', async t => {
  const at = await start();
  await using _ = at.plane;
  await at.client.resource(kinds.priorityClasses).create({metadata: {name: 'high'}, value: 1000});
  await at.clock.drain();
  for (const [i, [title, scope, fits, resources, other, otherResources]] of scoped.entries()) {
    await at.quota({pods: '5'}, scope, `q${i}`);
    t.is(await at.pod(`in-${i}`, fits, resources), 'made', title);
    const before = await at.used(`q${i}`);
    t.deepEqual(await at.pod(`out-${i}`, other, otherResources), 'made', title);
    t.deepEqual([before?.['pods'] !== '0', await at.used(`q${i}`)], [true, before], title);
    await at.remove(kinds.resourceQuotas, `q${i}`);
    for (const name of [`in-${i}`, `out-${i}`]) await at.remove(kinds.pods, name, {gracePeriodSeconds: 0});
  }
});

test('changed limits are written at once, and a status written by hand is corrected', async t => {
  const at = await start();
  await using _ = at.plane;
  await at.quota({pods: '1', secrets: '4'});
  await at.patch(kinds.resourceQuotas, 'q', {spec: {hard: {pods: '7', secrets: null}}});
  t.deepEqual((await at.get(kinds.resourceQuotas, 'q')).status, {hard: {pods: '7'}, used: {pods: '0'}});

  await at.patch(kinds.resourceQuotas, 'q', {status: {hard: {pods: '100'}}}, 'status');
  t.deepEqual((await at.get(kinds.resourceQuotas, 'q')).status?.hard, {pods: '7'});
});

test('controllers whose pods a quota refuses have a condition until there is room', async t => {
  const at = await start('replicationcontroller-controller');
  await using _ = at.plane;
  await at.quota({pods: '1'});
  await at.create(kinds.replicationControllers, {metadata: {name: 'rc'}, spec: {replicas: 2, selector: {app: 'a'}, template: aTemplate()}});
  const conditions = async () =>
    (await at.get(kinds.replicationControllers, 'rc')).status?.conditions?.map(({type, reason}) => `${type} ${reason}`) ?? [];
  t.deepEqual(await conditions(), ['ReplicaFailure FailedCreate']);

  await at.patch(kinds.replicationControllers, 'rc', {spec: {replicas: 1}});
  await at.clock.advance(60_000);
  t.deepEqual(await conditions(), []);
});

test('a quota with many limits is synced in steps, and keeps nothing of unserved resources', t => {
  const evaluators = quotaEvaluators(naming('kubernetes'), () => false);
  const hard = Object.fromEntries(Array.from({length: 10_000}, (_, index) => [`count/things-${index}.example.com`, '1']));
  const quota = {metadata: {name: 'q', namespace}, spec: {hard: {...hard, pods: '1', secrets: '1', 'count/widgets.example.com': '1'}}};
  const requested: string[] = [];
  const work = evaluatorsOf(
    quota,
    {...evaluators, of: (group, resource) => (requested.push(resource), evaluators.of(group, resource))},
    resource => ['secrets', 'widgets'].includes(resource),
  );
  let steps = 0;
  let next = work.next();
  for (; !next.done; next = work.next()) steps++;

  t.true(steps >= 20);
  t.deepEqual(requested, ['secrets', 'widgets']);
  t.deepEqual(
    (next.value as readonly {resource: string}[]).map(({resource}) => resource),
    ['pods', 'secrets', 'widgets'],
  );
});

test('a quota with many limits is indexed once and found by the resources it counts', t => {
  const evaluators = quotaEvaluators(naming('kubernetes'), () => false);
  const hard = Object.fromEntries(Array.from({length: 10_000}, (_, index) => [`count/things-${index}.example.com`, '1']));
  const [large, small] = [
    {metadata: {name: 'large', namespace}, spec: {hard}},
    {metadata: {name: 'small', namespace}, spec: {hard: {secrets: '1', pods: '2'}}},
  ];
  const filed: number[] = [];
  const lister = {
    by: ({values}: Index<Quota>, value: string) =>
      [large, small].filter(quota => {
        filed.push(values(quota).length);
        return values(quota).includes(value);
      }),
  } as unknown as Lister<Quota>;
  const counting = quotasCounting(lister, evaluators);
  const names = (group: string, resource: string) =>
    counting(namespace, evaluators.of(group, resource)!).map(({metadata}) => metadata?.name);

  t.deepEqual(
    [names('example.com', 'things-7'), names('', 'secrets'), names('', 'pods'), names('apps', 'deployments')],
    [['large'], ['small'], ['small'], []],
  );
  t.true(Math.max(...filed) < 10);
});
