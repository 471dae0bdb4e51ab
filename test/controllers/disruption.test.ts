import test from 'ava';
import {podsCoveredBy, demandOf, evictionsOf, healthyAmong, statusOf, withDisruptionAllowed} from '#controllers/disruption/budget.js';
import {expiryOf} from '#controllers/disruption/targets.js';
import {Cache} from '#informers/cache.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod, PodDisruptionBudget} from '#src/api/pod.js';
import {wireTime} from '#src/api/time.js';
import {runSteps} from '#src/base/steps.js';
import {aPlaneWith, aTemplate, namespace} from './workloads.js';

const at = Date.parse('2026-01-01T00:00:00Z');

const budgetOf = (spec: PodDisruptionBudget['spec']): PodDisruptionBudget => ({metadata: {namespace, name: 'b'}, spec: spec!});
const podOf = (name: string, {ready = true, deleting = false, labels = {app: 'web'} as Record<string, string>} = {}): Pod => ({
  metadata: {namespace, name, labels, ...(deleting ? {deletionTimestamp: wireTime(at)} : {})},
  status: {phase: 'Running', conditions: [{type: 'Ready', status: ready ? 'True' : 'False'}]},
});

const demands: readonly [title: string, spec: NonNullable<PodDisruptionBudget['spec']>, expected: number, desired: number][] = [
  ['minAvailable as a count looks at the pods there are', {minAvailable: 3}, 4, 3],
  ['minAvailable as a share is of what the owners ask for, and rounds up', {minAvailable: '50%'}, 5, 3],
  ['maxUnavailable as a count', {maxUnavailable: 2}, 5, 3],
  ['maxUnavailable as a share rounds up, in favour of the eviction', {maxUnavailable: '30%'}, 5, 3],
  ['maxUnavailable above the number of pods requires none', {maxUnavailable: 9}, 5, 0],
];
for (const [title, spec, expected, desired] of demands) test(title, t => t.deepEqual(demandOf(budgetOf(spec), 4, 5), {expected, desired}));

test('an empty selector covers the namespace, an absent one nothing, and no budget covers another namespace', t => {
  const cache = new Cache<Pod>();
  runSteps(cache.replacing([podOf('p')]));
  const covers = (budget: PodDisruptionBudget) => podsCoveredBy(budget, cache).length > 0;
  t.deepEqual(
    [
      {selector: {}},
      {},
      {selector: {matchLabels: {app: 'web'}}},
      {selector: {matchLabels: {app: 'db'}}},
      {selector: {matchExpressions: [{key: 'app', operator: 'Nonsense'}]}},
    ].map(spec => covers(budgetOf(spec))),
    [true, false, true, false, false],
  );
  t.false(covers({...budgetOf({selector: {}}), metadata: {namespace: 'other', name: 'b'}}));
});

test('evictions are expected for two minutes, then reported as overdue, and dropped when the pod terminates', t => {
  const since = (secondsAgo: number) => wireTime(at - secondsAgo * 1000);
  const pods = [podOf('fresh'), podOf('older'), podOf('overdue'), podOf('going', {deleting: true}), podOf('untouched')];
  const found = evictionsOf(pods, {fresh: since(10), older: since(100), overdue: since(121), going: since(5), gone: since(5)}, at);

  t.deepEqual(Object.keys(found.waiting), ['fresh', 'older']);
  t.deepEqual(
    found.overdue.map(({metadata}) => metadata?.name),
    ['overdue'],
  );
  t.is(found.nextAt, at + 20_000);
  t.is(healthyAmong([...pods, podOf('unready', {ready: false})], found, at), 2);
});

test('the verdict keeps its time until it changes', t => {
  const first = withDisruptionAllowed([], {isAllowed: true, reason: 'SufficientPods'}, 1, at);
  const same = withDisruptionAllowed(first, {isAllowed: true, reason: 'SufficientPods'}, 2, at + 5_000);
  const other = withDisruptionAllowed(same, {isAllowed: false, reason: 'InsufficientPods'}, 2, at + 9_000);

  t.deepEqual(
    [first, same, other].map(([verdict]) => [verdict?.status, verdict?.reason, verdict?.observedGeneration, verdict?.lastTransitionTime]),
    [
      ['True', 'SufficientPods', 1, wireTime(at)],
      ['True', 'SufficientPods', 2, wireTime(at)],
      ['False', 'InsufficientPods', 2, wireTime(at + 9_000)],
    ],
  );
});

test('a mark grows stale two minutes after it was set, but not on pods that go anyway or that their node ends', t => {
  const marked = (reason: string, more: Partial<Pod> = {}): Pod => ({
    metadata: {name: 'p'},
    status: {phase: 'Running', conditions: [{type: 'DisruptionTarget', status: 'True', reason, lastTransitionTime: wireTime(at)}]},
    ...more,
  });
  t.deepEqual(
    [
      marked('EvictionByEvictionAPI'),
      marked('TerminationByPlatlet'),
      marked('TerminationByKubelet'),
      marked('x', {metadata: {name: 'p', deletionTimestamp: wireTime(at)}}),
      podOf('p'),
    ].map(pod => expiryOf(pod)),
    [at + 120_000, undefined, undefined, undefined, undefined],
  );
});

const start = async () => {
  const plane = await aPlaneWith(['disruption-controller', 'replicaset-controller']);
  const client = plane.client();
  const {clock} = plane;
  const budgets = client.resource(kinds.podDisruptionBudgets);
  const pods = client.resource(kinds.pods);
  return {
    plane,
    clock,
    client,
    pods,
    budgets,
    async budget(name: string, spec: PodDisruptionBudget['spec']) {
      await budgets.create({metadata: {namespace, name}, spec: spec!});
      await clock.drain();
    },
    async replicas(name: string, replicas: number) {
      const labels = {app: name};
      await client
        .resource(kinds.replicaSets)
        .create({metadata: {namespace, name}, spec: {replicas, selector: {matchLabels: labels}, template: aTemplate(labels)}});
      await clock.drain();
      return (await pods.list({namespace, labelSelector: `app=${name}`})).items;
    },
    async ready(list: readonly Pod[], status = 'True') {
      for (const {metadata} of list)
        await pods.patch(
          metadata!.name!,
          'strategic',
          {status: {phase: 'Running', conditions: [{type: 'Ready', status}]}},
          {namespace, subresource: 'status'},
        );
      await clock.drain();
    },
    async single(name: string, labels: Record<string, string>, more: Partial<Pod['metadata']> = {}) {
      const pod = await pods.create({metadata: {namespace, name, labels, ...more}, spec: aTemplate().spec!});
      await clock.drain();
      return pod;
    },
    async statusOf(name: string) {
      const {status} = await budgets.get(name, {namespace});
      const verdict = status?.conditions?.find(({type}) => type === 'DisruptionAllowed');
      return [status?.expectedPods, status?.desiredHealthy, status?.currentHealthy, status?.disruptionsAllowed, verdict?.reason];
    },
    async evict(name: string) {
      const path = `/api/v1/namespaces/${namespace}/pods/${name}/eviction`;
      const body = {apiVersion: `${plane.naming.group('policy')}/v1`, kind: 'Eviction', metadata: {namespace, name}};
      try {
        await client.request('POST', path, {body});
        return 'evicted';
      } catch (error) {
        return (error as Error).message;
      } finally {
        await clock.drain();
      }
    },
    async eventsAbout(name: string) {
      await clock.advance(1_000);
      const {items} = await client.resource(kinds.coreEvents).list({namespace, fieldSelector: `involvedObject.name=${name}`});
      return items.map(({type, reason, source}) => `${type} ${reason} ${source?.component}`);
    },
  };
};

test('a budget follows the readiness of its pods, and evictions spend it until pods are back', async t => {
  const env = await start();
  await using _ = env.plane;
  const pods = await env.replicas('web', 3);
  await env.budget('web', {minAvailable: 2, selector: {matchLabels: {app: 'web'}}});
  t.deepEqual(await env.statusOf('web'), [3, 2, 0, 0, 'InsufficientPods']);
  await env.ready(pods);
  t.deepEqual(await env.statusOf('web'), [3, 2, 3, 1, 'SufficientPods']);

  t.is(await env.evict(pods[0]!.metadata!.name!), 'evicted');
  t.deepEqual((await env.statusOf('web')).slice(2), [2, 0, 'InsufficientPods']);
  t.regex(await env.evict(pods[1]!.metadata!.name!), /would violate the pod's disruption budget/);
  const {status} = await env.budgets.get('web', {namespace});
  t.deepEqual(Object.keys(status?.disruptedPods ?? {}), [], 'the pod is gone, so nothing is waited for');
  await env.ready((await env.pods.list({namespace})).items);
  t.deepEqual(await env.statusOf('web'), [3, 2, 3, 1, 'SufficientPods']);
});

test('percentages are computed from the replicas of the owners', async t => {
  const env = await start();
  await using _ = env.plane;
  await env.ready(await env.replicas('web', 4));
  await env.budget('share', {maxUnavailable: '25%', selector: {matchLabels: {app: 'web'}}});
  t.deepEqual(await env.statusOf('share'), [4, 3, 4, 1, 'SufficientPods']);

  await env.client.resource(kinds.replicaSets).patch('web', 'merge', {spec: {replicas: 8}}, {namespace});
  await env.clock.drain();
  t.deepEqual(await env.statusOf('share'), [8, 6, 4, 0, 'InsufficientPods']);
});

test('pods without an owner are reported and count in no percentage', async t => {
  const env = await start();
  await using _ = env.plane;
  await env.ready([await env.single('alone', {app: 'alone'})]);
  await env.budget('lone', {minAvailable: '50%', selector: {matchLabels: {app: 'alone'}}});

  t.deepEqual(await env.statusOf('lone'), [0, 0, 1, 0, 'InsufficientPods']);
  t.true((await env.eventsAbout('lone')).includes('Warning UnmanagedPods controllermanager'));
  const events = (await env.client.resource(kinds.coreEvents).list({namespace})).items;
  t.is(
    events.find(({reason}) => reason === 'UnmanagedPods')?.message,
    'Pods selected by this PodDisruptionBudget (selector: &LabelSelector{MatchLabels:map[string]string{app: alone,},MatchExpressions:[]LabelSelectorRequirement{},}) were found to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.',
  );
});

test('an owner that cannot be read allows no disruption', async t => {
  const env = await start();
  await using _ = env.plane;
  const owner = (apiVersion: string, kind: string) => ({ownerReferences: [{apiVersion, kind, name: 'o', uid: 'u', controller: true}]});
  await env.ready([
    await env.single('odd', {app: 'odd'}, owner('v1', 'ConfigMap')),
    await env.single('lost', {app: 'lost'}, owner('apps/v1', 'ReplicaSet')),
  ]);
  await env.budget('odd', {maxUnavailable: 1, selector: {matchLabels: {app: 'odd'}}});
  await env.budget('lost', {maxUnavailable: 1, selector: {matchLabels: {app: 'lost'}}});
  await env.clock.drain();

  const messages = async (name: string) =>
    (await env.budgets.get(name, {namespace})).status?.conditions?.map(({reason, message}) => `${reason}: ${message}`);
  t.deepEqual(await messages('odd'), ['SyncFailed: configmaps does not implement the scale subresource']);
  t.deepEqual(await messages('lost'), ['SyncFailed: found no controllers for pod "lost"']);
  t.true((await env.eventsAbout('lost')).includes('Warning CalculateExpectedPodCountFailed controllermanager'));
  await env.clock.advance(600_000);
  const {items} = await env.client
    .resource(kinds.coreEvents)
    .list({namespace, fieldSelector: 'involvedObject.name=lost,reason=CalculateExpectedPodCountFailed'});
  t.is(items[0]!.count, 2, 'once for the budget, once for the status that it was given');
});

test('a budget without pods has a condition, and a pod of two budgets gets an event', async t => {
  const env = await start();
  await using _ = env.plane;
  await env.budget('empty', {minAvailable: 1, selector: {matchLabels: {app: 'none'}}});
  t.deepEqual(await env.statusOf('empty'), [0, 1, 0, 0, 'InsufficientPods']);
  t.deepEqual(await env.eventsAbout('empty'), ['Normal NoPods controllermanager']);
  await env.budget('one', {minAvailable: 1, selector: {}});
  await env.single('both', {app: 'none'});

  t.true((await env.eventsAbout('both')).includes('Warning MultiplePodDisruptionBudgets controllermanager'));
});

test('an eviction that deletes nothing is given up after two minutes, and so is the mark it left', async t => {
  const env = await start();
  await using _ = env.plane;
  await env.ready([await env.single('held', {app: 'held'})]);
  await env.budget('held', {minAvailable: 0, selector: {matchLabels: {app: 'held'}}});
  const {clock} = env;
  const budget = await env.budgets.get('held', {namespace});
  await env.budgets.update({...budget, status: {...budget.status!, disruptedPods: {held: wireTime(clock.now())}}}, {subresource: 'status'});
  const condition = {type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI', lastTransitionTime: wireTime(clock.now())};
  await env.pods.patch('held', 'strategic', {status: {conditions: [condition]}}, {namespace, subresource: 'status'});
  await clock.drain();
  t.deepEqual(await env.statusOf('held'), [1, 0, 0, 0, 'InsufficientPods']);

  await clock.advance(119_000);
  t.is((await env.statusOf('held'))[2], 0);
  await clock.advance(3_000);
  t.deepEqual(await env.statusOf('held'), [1, 0, 1, 1, 'SufficientPods']);
  t.true((await env.eventsAbout('held')).includes('Warning NotDeleted controllermanager'));
  const mark = (await env.pods.get('held', {namespace})).status?.conditions?.find(({type}) => type === 'DisruptionTarget');
  t.deepEqual([mark?.status, mark?.reason], ['False', undefined]);
});

test('a budget allows as many disruptions as there are healthy pods beyond those needed, and none where no pod is expected', t => {
  const now = Date.parse('2026-01-01T00:00:00Z');
  const budget: PodDisruptionBudget = {metadata: {name: 'b', namespace, generation: 3}, spec: {minAvailable: 2}};
  const allowed = (healthy: number, expected: number, desired: number) => {
    const {disruptionsAllowed, observedGeneration, conditions} = statusOf(budget, {
      demand: {expected, desired},
      evictions: {waiting: {}},
      currentHealthy: healthy,
      now,
    });
    t.is(observedGeneration, 3);
    return [disruptionsAllowed, conditions?.[0]?.status, conditions?.[0]?.reason];
  };

  t.deepEqual(allowed(3, 3, 2), [1, 'True', 'SufficientPods']);
  t.deepEqual(allowed(2, 3, 2), [0, 'False', 'InsufficientPods']);
  t.deepEqual(allowed(1, 3, 2), [0, 'False', 'InsufficientPods']);
  t.deepEqual(allowed(3, 0, 0), [0, 'False', 'InsufficientPods']);
});
