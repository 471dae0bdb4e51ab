import test from 'ava';
import {kinds} from '#src/api/kinds.js';
import {aCluster} from './cluster.js';
import {aNode, aPod} from './objects.js';

const priorityClass = (name: string, value: number) => ({metadata: {name}, value});

const aFullCluster = async (...nodes: ReturnType<typeof aNode>[]) => {
  const cluster = await aCluster(...nodes);
  for (const [name, value] of [['low', 1], ['middle', 10], ['high', 100]] as const) await cluster.client.resource(kinds.priorityClasses).create(priorityClass(name, value));
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
  t.deepEqual((await cluster.events('small')).at(-1), {type: 'Normal', reason: 'Preempted', message: `Preempted by pod ${great.metadata?.uid} on node n1`, reportingComponent: 'default-scheduler'});

  await cluster.end('small');

  t.is(await cluster.nodeOf('great'), 'n1');
  t.is((await cluster.get('great')).status?.nominatedNodeName, undefined);
});
