import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod, PodSpec} from '#src/api/pod.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {PodGroups} from '#src/scheduler/cache/pod-groups.js';
import {aClusterWith} from './cluster.js';
import {aNode, aPod} from './objects.js';

const args = ['--feature-gates=GenericWorkload=true,GangScheduling=true', '--runtime-config=scheduling.plat.io/v1alpha1=true'];

const aGangCluster = async (...nodes: ReturnType<typeof aNode>[]) => {
  const cluster = await aClusterWith(args, ...nodes);
  return {
    ...cluster,
    async createWorkload(minCount: number | undefined, name = 'w') {
      const policy = minCount === undefined ? {basic: {}} : {gang: {minCount}};
      await cluster.client
        .resource(kinds.workloads)
        .create({metadata: {name, namespace: 'default'}, spec: {podGroups: [{name: 'g', policy}]}});
      await cluster.clock.drain();
    },
    nodesOf: (...names: string[]) => Promise.all(names.map(name => cluster.nodeOf(name))),
  };
};

/** A pod of a gang, of which one fits on a node. */
const aMember = (name: string, {workload = 'w', group = 'g', replica}: {workload?: string; group?: string; replica?: string} = {}): Pod => {
  const workloadRef: PodSpec['workloadRef'] = {name: workload, podGroup: group, ...(replica ? {podGroupReplicaKey: replica} : {})};
  return aPod(name, {cpu: '3', workloadRef});
};

test('the pods of a gang are bound together, once there are as many as it needs', async t => {
  await using cluster = await aGangCluster(aNode('n1'), aNode('n2'));
  await cluster.create(aMember('a'));
  t.deepEqual(await cluster.nodesOf('a'), [undefined]);

  await cluster.createWorkload(2);
  t.deepEqual(await cluster.nodesOf('a'), [undefined]);
  t.deepEqual(await cluster.events('a'), []);

  await cluster.create(aMember('b'));
  t.deepEqual((await cluster.nodesOf('a', 'b')).sort(), ['n1', 'n2']);
});

test('none of a gang is bound that does not fit, and its nodes are given back', async t => {
  await using cluster = await aGangCluster(aNode('n1'), aNode('n2'));
  await cluster.createWorkload(3);
  await cluster.create(aMember('a'), aMember('b'), aMember('c'));
  t.deepEqual(await cluster.nodesOf('a', 'b', 'c'), [undefined, undefined, undefined]);
  t.truthy((await cluster.get('a')).status?.nominatedNodeName);
  await cluster.create(aPod('other', {cpu: '3'}));
  t.is(await cluster.nodeOf('other'), undefined);

  await cluster.clock.advance(5 * 60_000 + 1);

  const message = '0/1 nodes are available: 1 rejected due to timeout after waiting 5m0s at plugin GangScheduling.';
  const said = (await Promise.all(['a', 'b', 'c'].map(name => cluster.events(name)))).flat();
  t.is(said.filter(event => event.reason === 'FailedScheduling' && event.message === message).length, 2);
  await cluster.clock.advance(600_000);
  t.deepEqual(await cluster.nodesOf('a', 'b', 'c'), [undefined, undefined, undefined]);
});

test('a node that comes in time completes a gang', async t => {
  await using cluster = await aGangCluster(aNode('n1'), aNode('n2'));
  await cluster.createWorkload(3);
  await cluster.create(aMember('a'), aMember('b'), aMember('c'));
  await cluster.clock.advance(60_000);

  await cluster.addNodes(aNode('n3'));
  await cluster.clock.advance(10_000);

  t.deepEqual((await cluster.nodesOf('a', 'b', 'c')).sort(), ['n1', 'n2', 'n3']);
});

test('pods of a basic group, and those after the first of a gang, wait for nobody', async t => {
  await using cluster = await aGangCluster(aNode('n1'), aNode('n2'), aNode('n3'));
  await cluster.createWorkload(undefined, 'basic');
  await cluster.createWorkload(1);

  await cluster.create(aMember('basic', {workload: 'basic'}), aMember('a'), aMember('b'));

  t.deepEqual((await cluster.nodesOf('basic', 'a', 'b')).sort(), ['n1', 'n2', 'n3']);
});

test('replicas of a group, and groups that are not there, are gangs of their own', async t => {
  await using cluster = await aGangCluster(aNode('n1'), aNode('n2'), aNode('n3'));
  await cluster.createWorkload(2);
  await cluster.create(aMember('a', {replica: 'one'}), aMember('b', {replica: 'two'}), aMember('lost', {group: 'other'}));
  t.deepEqual(await cluster.nodesOf('a', 'b', 'lost'), [undefined, undefined, undefined]);

  await cluster.create(aMember('c', {replica: 'two'}));

  t.deepEqual((await cluster.nodesOf('b', 'c')).filter(Boolean).length, 2);
  t.deepEqual(await cluster.nodesOf('a', 'lost'), [undefined, undefined]);
});

test('a pod of a gang that is deleted while it waits gives its node back', async t => {
  await using cluster = await aGangCluster(aNode('n1'));
  await cluster.createWorkload(2);
  await cluster.create(aMember('a'), aMember('b'));
  await cluster.create(aPod('other', {cpu: '3'}));
  const waiting = (await cluster.get('a')).status?.nominatedNodeName ? 'a' : 'b';

  await cluster.end(waiting);
  await cluster.end(waiting === 'a' ? 'b' : 'a');
  await cluster.clock.advance(10_000);

  t.is(await cluster.nodeOf('other'), 'n1');
});

test('a pod that matters more takes the node of one that waits, which is not deleted', async t => {
  await using cluster = await aGangCluster(aNode('n1'));
  await cluster.client.resource(kinds.priorityClasses).create({metadata: {name: 'high'}, value: 100});
  await cluster.createWorkload(2);
  await cluster.create(aMember('a'), aMember('b'));
  const waiting = (await cluster.get('a')).status?.nominatedNodeName ? 'a' : 'b';

  await cluster.create(aPod('great', {cpu: '3', priorityClassName: 'high'}));
  await cluster.clock.advance(10_000);

  t.is(await cluster.nodeOf('great'), 'n1');
  t.is((await cluster.get(waiting)).metadata?.deletionTimestamp, undefined);
  t.true((await cluster.events(waiting)).some(({reason}) => reason === 'Preempted'));
});

test('the time of a gang begins with the first pod that waits, and anew once it has passed', async t => {
  const clock = new VirtualClock();
  const groups = new PodGroups(clock);
  const [a, b] = ['a', 'b'].map(name => ({...aMember(name), metadata: {name, namespace: 'default', uid: name}}));
  for (const object of [a!, b!]) groups.note({type: 'added', object, initial: false});
  const group = groups.of(a!)!;

  t.is(group.timeLeft(), 300_000);
  await clock.advance(100_000);
  t.is(group.timeLeft(), 200_000);
  await clock.advance(200_000);
  t.is(group.timeLeft(), 300_000);

  group.assume('a');
  t.deepEqual([group.assumed, group.unscheduled, group.scheduledCount], [['a'], ['b'], 1]);
  groups.note({type: 'updated', old: a!, object: {...a!, spec: {...a!.spec!, nodeName: 'n'}}});
  t.deepEqual([group.assumed, group.scheduledCount, group.size], [[], 1, 2]);
  group.forget('a');
  t.is(group.scheduledCount, 1);
  for (const object of [a!, b!]) groups.note({type: 'deleted', object, tombstone: false});
  t.is(groups.of(a!), undefined);
});
