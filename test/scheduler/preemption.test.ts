import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {aCluster} from './cluster.js';
import {aNode, aPod} from './objects.js';

const priorityClass = (name: string, value: number) => ({metadata: {name}, value});

const aFullCluster = async (...nodes: ReturnType<typeof aNode>[]) => {
  const cluster = await aCluster(...nodes);
  for (const [name, value] of [
    ['low', 1],
    ['middle', 10],
    ['high', 100],
  ] as const)
    await cluster.client.resource(kinds.priorityClasses).create(priorityClass(name, value));
  return cluster;
};

test('a pod that matters more makes one leave that matters less', async t => {
  await using cluster = await aFullCluster(aNode('n1'));
  await cluster.create(aPod('small', {cpu: '3', priorityClassName: 'low'}));
  t.is(await cluster.nodeOf('small'), 'n1');

  await cluster.create(aPod('great', {cpu: '2', priorityClassName: 'high'}));

  const message = '0/1 nodes are available: 1 Insufficient cpu.';
  const great = await cluster.get('great');
  t.is(great.status?.nominatedNodeName, 'n1');
  t.deepEqual(await cluster.condition('great'), {status: 'False', reason: 'Unschedulable', message});
  t.deepEqual(await cluster.condition('small', 'DisruptionTarget'), {
    status: 'True',
    reason: 'PreemptionByScheduler',
    message: 'default-scheduler: preempting to accommodate a higher priority pod',
  });
  t.truthy((await cluster.get('small')).metadata?.deletionTimestamp);
  t.deepEqual((await cluster.events('small')).at(-1), {
    type: 'Normal',
    reason: 'Preempted',
    message: `Preempted by pod ${great.metadata?.uid} on node n1`,
    reportingComponent: 'default-scheduler',
  });

  await cluster.end('small');

  t.is(await cluster.nodeOf('great'), 'n1');
  t.is((await cluster.get('great')).status?.nominatedNodeName, undefined);
});

const victims = (cluster: Awaited<ReturnType<typeof aCluster>>, ...names: string[]) =>
  Promise.all(names.map(async name => ((await cluster.get(name)).metadata?.deletionTimestamp ? name : undefined))).then(all =>
    all.filter(name => name !== undefined),
  );

test('as few leave as will do, those that matter least', async t => {
  await using cluster = await aFullCluster(aNode('n1'));
  await cluster.create(
    aPod('one', {cpu: '1', priorityClassName: 'low'}),
    aPod('two', {cpu: '2', priorityClassName: 'low'}),
    aPod('three', {cpu: '1', priorityClassName: 'middle'}),
  );

  await cluster.create(aPod('great', {cpu: '2', priorityClassName: 'high'}));

  t.deepEqual(await victims(cluster, 'one', 'two', 'three'), ['two']);
});

test('a pod of equal priority, or with the policy Never, does not preempt', async t => {
  await using cluster = await aFullCluster(aNode('n1'));
  await cluster.client.resource(kinds.priorityClasses).create({...priorityClass('polite', 1000), preemptionPolicy: 'Never'} as never);
  await cluster.create(aPod('first', {cpu: '3', priorityClassName: 'high'}));

  await cluster.create(aPod('equal', {cpu: '3', priorityClassName: 'high'}), aPod('polite', {cpu: '3', priorityClassName: 'polite'}));

  t.deepEqual(await victims(cluster, 'first'), []);
  t.regex(
    (await cluster.condition('equal')).message ?? '',
    /preemption: 0\/1 nodes are available: 1 No preemption victims found for incoming pod\.$/,
  );
  t.regex((await cluster.condition('polite')).message ?? '', /preemption: not eligible due to preemptionPolicy=Never\.$/);
});

test('pods that a disruption budget protects leave only where there is no other way', async t => {
  await using cluster = await aFullCluster(aNode('n1'), aNode('n2'));
  const {client} = cluster;
  const budgets = client.resource(kinds.podDisruptionBudgets);
  const budget = await budgets.create({
    metadata: {name: 'guard', namespace: 'default'},
    spec: {minAvailable: 1, selector: {matchLabels: {app: 'guarded'}}},
  } as never);
  await budgets.update(
    {...budget, status: {disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1, observedGeneration: 1} as never},
    {subresource: 'status'},
  );
  await cluster.create(
    aPod('guarded', {cpu: '3', priorityClassName: 'low', nodeSelector: {pick: 'n1'}}, {labels: {app: 'guarded'}}),
    aPod('free', {cpu: '3', priorityClassName: 'middle', nodeSelector: {pick: 'n2'}}),
  );
  for (const name of ['n1', 'n2']) await client.resource(kinds.nodes).patch(name, 'merge', {metadata: {labels: {pick: name}}});
  await cluster.clock.advance(2_000);
  t.deepEqual([await cluster.nodeOf('guarded'), await cluster.nodeOf('free')], ['n1', 'n2']);

  await cluster.create(aPod('great', {cpu: '3', priorityClassName: 'high'}));

  t.deepEqual(await victims(cluster, 'guarded', 'free'), ['free']);
});

test('while pods are leaving for it a pod makes no others leave, and others keep off its place', async t => {
  await using cluster = await aFullCluster(aNode('n1'));
  await cluster.create(aPod('small', {cpu: '3', priorityClassName: 'low'}), aPod('great', {cpu: '3', priorityClassName: 'high'}));
  t.deepEqual(await victims(cluster, 'small'), ['small']);

  await cluster.create(aPod('quick', {cpu: '1', priorityClassName: 'middle'}));
  await cluster.create(aPod('late', {cpu: '3', priorityClassName: 'low'}));
  await cluster.end('small');
  await cluster.clock.advance(10_000);

  t.is(await cluster.nodeOf('great'), 'n1');
  t.is(await cluster.nodeOf('quick'), 'n1');
  t.is(await cluster.nodeOf('late'), undefined);
});

const byName = (...values: string[]) => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{matchFields: values.map(value => ({key: 'metadata.name', operator: 'In', values: [value]}))}],
      },
    },
  },
});

for (const [title, spec, message] of [
  [
    'refers to a missing volume claim',
    {volumes: [{name: 'v', persistentVolumeClaim: {claimName: 'none'}}]},
    '0/1 nodes are available: persistentvolumeclaim "none" not found. not found',
  ],
  ['has terms of affinity that exclude each other', byName('n1', 'n2'), '0/1 nodes are available: pod affinity terms conflict. not found'],
  [
    'asks for a node that does not exist',
    byName('n2'),
    "0/1 nodes are available: 1 node(s) didn't satisfy plugin(s) [NodeAffinity]. no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
  ],
] satisfies [string, Parameters<typeof aPod>[1], string][])
  test(`a pod that ${title} is told so, and whether anything else was tried`, async t => {
    await using cluster = await aCluster(aNode('n1'));
    await cluster.create(aPod('web', spec));

    t.is((await cluster.condition('web')).message, message);
  });
