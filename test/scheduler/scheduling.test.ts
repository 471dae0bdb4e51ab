import test from 'ava';
import {kinds} from '#src/api/kinds.js';
import type {Pod} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import {aPlane} from '#test/controllers/plane.js';
import {aNode, aPod} from './objects.js';

/** A plane with these nodes, and what is asked of it again and again. */
const aCluster = async (...nodes: Node[]) => {
  const plane = await aPlane();
  const {clock} = plane;
  const client = plane.client();
  const pods = client.resource(kinds.pods);
  /** Nodes begin with a taint that their lifecycle takes off once they are ready. */
  const addNodes = async (...added: Node[]) => {
    for (const node of added) {
      const made = await client.resource(kinds.nodes).create(node);
      await client.resource(kinds.nodes).update({...made, spec: {...node.spec}});
    }
    await clock.drain();
  };
  await addNodes(...nodes);
  return {
    plane,
    addNodes,
    clock,
    client,
    pods,
    [Symbol.asyncDispose]: () => plane.stop(),
    async create(...created: Pod[]) {
      for (const pod of created) await pods.create(pod);
      await clock.drain();
    },
    get: (name: string) => pods.get(name, {namespace: 'default'}),
    async nodeOf(name: string) {
      return (await pods.get(name, {namespace: 'default'})).spec?.nodeName;
    },
    async condition(name: string) {
      const {status} = await pods.get(name, {namespace: 'default'});
      const {status: is, reason, message} = status?.conditions?.find(({type}) => type === 'PodScheduled') ?? {};
      return {status: is, reason, message};
    },
    async events(name: string) {
      const {items} = await client.resource(kinds.coreEvents).list({namespace: 'default'});
      return items.filter(({involvedObject}) => involvedObject.name === name).map(({type, reason, message, reportingComponent}) => ({type, reason, message, reportingComponent}));
    },
  };
};

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

  const message = '0/3 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable.';
  t.deepEqual(await cluster.condition('web'), {status: 'False', reason: 'Unschedulable', message});
  t.deepEqual(await cluster.events('web'), [{type: 'Warning', reason: 'FailedScheduling', message, reportingComponent: 'default-scheduler'}]);

  await cluster.addNodes(aNode('big'));

  t.is(await cluster.nodeOf('web'), 'big');
});
