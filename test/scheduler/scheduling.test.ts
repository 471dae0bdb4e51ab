import test from 'ava';
import {aCluster} from './cluster.js';
import {aNode, aPod} from './objects.js';

test('a pod is given to a node with room, and people are told', async t => {
  await using cluster = await aCluster(aNode('small', {cpu: '1'}), aNode('big'));

  await cluster.create(aPod('web', {cpu: '2'}));

  t.is(await cluster.nodeOf('web'), 'big');
  t.deepEqual(await cluster.condition('web'), {status: 'True', reason: undefined, message: undefined});
  t.deepEqual(await cluster.events('web'), [{type: 'Normal', reason: 'Scheduled', message: 'Successfully assigned default/web to big', reportingComponent: 'default-scheduler'}]);
});

test('a pod that fits nowhere is told why, and is given to a node that comes', async t => {
  await using cluster = await aCluster(aNode('small', {cpu: '1'}), aNode('tainted', {taints: [{key: 'team', value: 'a', effect: 'NoSchedule'}]}), aNode('cordoned', {unschedulable: true}));

  await cluster.create(aPod('web', {cpu: '2'}));

  const message = '0/3 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable. no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.';
  t.deepEqual(await cluster.condition('web'), {status: 'False', reason: 'Unschedulable', message});
  t.deepEqual(await cluster.events('web'), [{type: 'Warning', reason: 'FailedScheduling', message, reportingComponent: 'default-scheduler'}]);

  await cluster.addNodes(aNode('big'));

  t.is(await cluster.nodeOf('web'), 'big');
});
