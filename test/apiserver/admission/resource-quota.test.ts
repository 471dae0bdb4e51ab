import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {charged, type Quota} from '#src/apiserver/admission/resource-quota/check.js';
import type {LimitedResource} from '#src/apiserver/admission/configuration/resource-quota.js';
import {quotaEvaluators} from '#src/model/quota/evaluators.js';
import {countedResource} from '#src/model/quota/evaluators.js';
import {jane, refusal, words} from '#test/resources/environment.js';
import {aPod, namespace, startWith} from './context.js';

const evaluators = quotaEvaluators(words, () => true);

const aQuota = (name: string, hard: Record<string, string>, used: Record<string, string> = {}, spec: object = {}): Quota => ({
  metadata: {name, namespace},
  spec: {hard, ...spec},
  status: {hard, used},
});

interface Question {
  readonly object: object;
  readonly old?: object;
  readonly limited?: readonly LimitedResource[];
  readonly resource?: string;
  readonly group?: string;
}

const outcome = (quotas: readonly Quota[], {object, old, limited = [], resource = 'pods', group = ''}: Question): object | string => {
  const attributes = {
    operation: old ? ('UPDATE' as const) : ('CREATE' as const),
    group,
    version: 'v1',
    resource,
    subresource: '',
    kind: 'K',
    namespaced: true,
    namespace,
    name: 'p',
    object,
    ...(old ? {oldObject: old} : {}),
    user: jane,
    dryRun: false,
    warn() {},
  };
  try {
    return Object.fromEntries(charged(quotas, {attributes, evaluator: evaluators.of(group, resource)!, limited, now: 0}));
  } catch (error) {
    return (error as Error).message.replace(/^\S+ "p" is forbidden: /, '');
  }
};

const pod = (resources: object = {}, spec: object = {}) => ({
  metadata: {name: 'p', resourceVersion: '1'},
  spec: {containers: [{name: 'c', image: 'i', resources}], ...spec},
});
const limited = (more: object): LimitedResource[] => [{resource: 'pods', ...more}];
const high = {scopeName: 'PriorityClass', operator: 'In', values: ['high']};

const cases: readonly [title: string, quotas: readonly Quota[], ask: Question, outcome: object | string][] = [
  ['a quota of other things is not charged', [aQuota('q', {secrets: '1'}, {secrets: '1'})], {object: pod()}, {}],
  [
    'several quotas are charged together',
    [aQuota('a', {pods: '2'}, {pods: '1'}), aQuota('b', {'count/pods': '2'}, {'count/pods': '0'})],
    {object: pod()},
    {a: {pods: '2'}, b: {'count/pods': '1'}},
  ],
  [
    'the first quota without room refuses',
    [aQuota('a', {pods: '2'}, {pods: '1'}), aQuota('b', {pods: '1'}, {pods: '1'})],
    {object: pod()},
    'exceeded quota: b, requested: pods=1, used: pods=1, limited: pods=1',
  ],
  [
    'a quota whose use is unknown refuses',
    [aQuota('q', {pods: '2', cpu: '1'}, {pods: '1'})],
    {object: pod({requests: {cpu: '1'}})},
    'status unknown for quota: q, resources: cpu',
  ],
  [
    'every container must ask for what is limited',
    [aQuota('q', {cpu: '1', 'limits.cpu': '1'}, {cpu: '0', 'limits.cpu': '0'})],
    {object: pod()},
    'failed quota: q: must specify cpu for: c; limits.cpu for: c',
  ],
  [
    'a pod may ask as a whole',
    [aQuota('q', {cpu: '1'}, {cpu: '0'})],
    {object: pod({}, {resources: {requests: {cpu: '300m'}}})},
    {q: {cpu: '300m'}},
  ],
  [
    'overhead, sidecars and huge pages count',
    [
      aQuota(
        'q',
        {'requests.memory': '10Gi', 'hugepages-2Mi': '1Gi', 'requests.example.com/gpu': '4'},
        {'requests.memory': '1Gi', 'hugepages-2Mi': '0', 'requests.example.com/gpu': '1'},
      ),
    ],
    {
      object: pod(
        {requests: {memory: '1Gi', 'hugepages-2Mi': '100Mi', 'example.com/gpu': '2'}},
        {
          overhead: {memory: '1Gi'},
          initContainers: [{name: 's', image: 'i', restartPolicy: 'Always', resources: {requests: {memory: '1Gi'}}}],
        },
      ),
    },
    {q: {'requests.memory': '4Gi', 'hugepages-2Mi': '100Mi', 'requests.example.com/gpu': '3'}},
  ],
  [
    'an update is charged with what it adds',
    [aQuota('q', {cpu: '3'}, {cpu: '1'})],
    {object: pod({requests: {cpu: '2'}}), old: pod({requests: {cpu: '1'}})},
    {q: {cpu: '2'}},
  ],
  [
    'an update that uses less is not charged, and not credited either',
    [aQuota('q', {cpu: '3', memory: '3'}, {cpu: '2', memory: '1'})],
    {object: pod({requests: {cpu: '1', memory: '2'}}), old: pod({requests: {cpu: '2', memory: '1'}})},
    {q: {cpu: '2', memory: '2'}},
  ],
  [
    'an update is charged in full to a quota that it comes under',
    [
      aQuota('ends', {pods: '3'}, {pods: '1'}, {scopes: ['Terminating']}),
      aQuota('lasts', {pods: '3'}, {pods: '1'}, {scopes: ['NotTerminating']}),
      aQuota('all', {pods: '3'}, {pods: '1'}),
    ],
    {object: pod({}, {activeDeadlineSeconds: 5}), old: pod()},
    {ends: {pods: '2'}},
  ],
  [
    'an update that adds nothing is not looked at',
    [aQuota('q', {cpu: '1'}, {cpu: '5'})],
    {object: pod({requests: {cpu: '1'}}), old: pod({requests: {cpu: '1'}})},
    {},
  ],
  [
    'less than nothing is refused',
    [aQuota('q', {cpu: '1'}, {cpu: '0'})],
    {object: pod({requests: {cpu: '-1'}})},
    'quota usage is negative for resource(s): cpu,requests.cpu',
  ],
  [
    'what is limited must be covered by a quota',
    [aQuota('q', {pods: '5'}, {pods: '0'})],
    {object: pod({requests: {cpu: '1'}}), limited: limited({matchContains: ['requests.cpu']})},
    'insufficient quota to consume: requests.cpu',
  ],
  [
    'what is limited and covered is charged',
    [aQuota('q', {'requests.cpu': '5'}, {'requests.cpu': '0'})],
    {object: pod({requests: {cpu: '1'}}), limited: limited({matchContains: ['requests.cpu']})},
    {q: {'requests.cpu': '1'}},
  ],
  [
    'a scope that is limited must be covered',
    [aQuota('q', {pods: '5'}, {pods: '0'})],
    {object: pod({}, {priorityClassName: 'high'}), limited: limited({matchScopes: [high]})},
    'insufficient quota to match these scopes: [{PriorityClass In [high]}]',
  ],
  [
    'a scope that is covered',
    [aQuota('q', {pods: '5'}, {pods: '0'}, {scopeSelector: {matchExpressions: [high]}})],
    {object: pod({}, {priorityClassName: 'high'}), limited: limited({matchScopes: [high]})},
    {q: {pods: '1'}},
  ],
  ['a scope that is limited and not used', [], {object: pod(), limited: limited({matchScopes: [high]})}, {}],
  [
    'objects of any kind are counted',
    [aQuota('q', {'count/deployments.apps': '3'}, {'count/deployments.apps': '2'})],
    {object: {metadata: {name: 'd'}}, resource: 'deployments', group: 'apps'},
    {q: {'count/deployments.apps': '3'}},
  ],
  [
    'devices are counted by class, the most of alternatives, and all as thirty-two',
    [
      aQuota(
        'q',
        {'gpu.deviceclass.resource.plat.io/devices': '100', 'nic.deviceclass.resource.plat.io/devices': '100'},
        {'gpu.deviceclass.resource.plat.io/devices': '0', 'nic.deviceclass.resource.plat.io/devices': '0'},
      ),
    ],
    {
      object: {
        metadata: {name: 'c'},
        spec: {
          devices: {
            requests: [
              {name: 'a', exactly: {deviceClassName: 'gpu', count: 2}},
              {
                name: 'b',
                firstAvailable: [
                  {name: 'x', deviceClassName: 'gpu', count: 3},
                  {name: 'y', deviceClassName: 'gpu'},
                ],
              },
              {name: 'c', exactly: {deviceClassName: 'nic', allocationMode: 'All'}},
            ],
          },
        },
      },
      resource: 'resourceclaims',
      group: 'resource.plat.io',
    },
    {q: {'gpu.deviceclass.resource.plat.io/devices': '5', 'nic.deviceclass.resource.plat.io/devices': '32'}},
  ],
];
for (const [title, quotas, ask, expected] of cases) test(title, t => t.deepEqual(outcome(quotas, ask), expected));

test('names that count objects are recognised with their resource', t => {
  t.deepEqual(['count/deployments.apps', 'count/pods', 'secrets', 'pods', 'cpu'].map(countedResource), [
    {group: 'apps', resource: 'deployments'},
    {group: '', resource: 'pods'},
    {group: '', resource: 'secrets'},
    undefined,
    undefined,
  ]);
});

test('events are never charged, and changes below an object only where its resources change', t => {
  t.is(evaluators.of('', 'events'), undefined);
  const pods = evaluators.of('', 'pods')!;
  t.deepEqual(
    [pods.handles('CREATE', ''), pods.handles('UPDATE', ''), pods.handles('UPDATE', 'resize'), pods.handles('CREATE', 'binding')],
    [true, false, true, false],
  );
});

test('counts of resources that come and go are kept up to a bound', t => {
  const many = quotaEvaluators(words, () => true);
  const first = many.of('example.com', 'things-0');
  t.is(many.of('example.com', 'things-0'), first);
  for (let index = 1; index <= 3_000; index++) many.of('example.com', `things-${index}`);

  t.not(many.of('example.com', 'things-0'), first);
  t.deepEqual([...many.of('example.com', 'things-0')!.usage({}, 0).keys()], ['count/things-0.example.com']);
  t.is(many.of('', 'pods'), many.kindEvaluators[0]);
});

test('the server charges objects created in a namespace with a quota', async t => {
  const {of, pod: create} = await startWith('ResourceQuota');
  const quotas = of(kinds.resourceQuotas);
  const quota = await quotas.create({metadata: {name: 'q', namespace}, spec: {hard: {pods: '1'}}});
  await quotas.update({...quota, status: {hard: {pods: '1'}, used: {pods: '0'}}}, {subresource: 'status'});
  await create();

  t.deepEqual((await quotas.get('q', {namespace})).status?.used, {pods: '1'});
  t.is(
    (await refusal(of(kinds.pods).create(aPod({}, {name: 'second'}) as Pod))).message,
    'pods "second" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1',
  );
});
