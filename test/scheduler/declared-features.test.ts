import test from 'ava';
import type {PodSpec} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import {nodeDeclaredFeatures} from '#src/scheduler/filters/node-declared-features.js';
import {kinds} from '#src/api/kinds/index.js';
import {aPlane} from '#test/controllers/plane.js';
import {aClusterState, rejections, shouldQueue, toPodInfo} from './cluster-state.js';
import {aNode, aPod} from './objects.js';

const feature = 'RestartAllContainersOnContainerExits';
const restarting = (action = 'RestartAllContainers'): Partial<PodSpec> => ({
  containers: [
    {
      name: 'c',
      image: 'i',
      restartPolicy: 'Never',
      restartPolicyRules: [{action, exitCodes: {operator: 'In', values: [1]}}],
    },
  ],
});
const [declaring, silent] = [aNode('declaring', {declaredFeatures: ['A', feature]}), aNode('silent', {declaredFeatures: ['A']})];
const unfit = `node declared features check failed - unsatisfied requirements: ${feature}`;

for (const [title, spec, expected] of [
  ['restarts all containers', restarting(), unfit],
  ['restarts all containers for an init container', {initContainers: restarting().containers!}, unfit],
  ['restarts one container', restarting('Restart'), ''],
  ['has no rules', {}, ''],
] as const) {
  test(`a pod that ${title} ${expected ? 'fits only nodes that declare it' : 'fits every node'}`, t => {
    const cluster = aClusterState({nodes: [declaring, silent]}, ['NodeDeclaredFeatures']);

    t.deepEqual(rejections(aPod('p', spec), cluster), {declaring: '', silent: expected});
  });
}

test('features of nodes do not matter without the gate', t => {
  t.deepEqual(rejections(aPod('p', restarting()), aClusterState({nodes: [silent]}, [])), {silent: ''});
});

test('a reason of another plugin for the same node comes first', t => {
  const full = aNode('full', {pods: '0'});

  t.deepEqual(rejections(aPod('p', restarting()), aClusterState({nodes: [full]}, ['NodeDeclaredFeatures'])), {full: 'Too many pods'});
});

for (const [title, kind, old, now, expected] of [
  ['a new node', 'NodeAdd', undefined, silent, true],
  ['a node that declares another feature', 'NodeUpdateNodeDeclaredFeature', silent, declaring, true],
  ['a node that declares the same', 'NodeUpdateNodeDeclaredFeature', silent, silent, false],
  ['another change of a node', 'NodeUpdateNodeLabel', silent, declaring, false],
] as const) {
  test(`${title} ${expected ? 'may help' : 'does not help'} a pod that needs a feature`, t => {
    t.is(shouldQueue(nodeDeclaredFeatures, kind, toPodInfo(aPod('p', restarting())), old, now), expected);
  });
}

test('a pod waits for a node that declares what it needs, and is bound once one does', async t => {
  const gates = '--feature-gates=NodeDeclaredFeatures=true,RestartAllContainersOnContainerExits=true';
  await using plane = await aPlane({
    controllerManagerArgs: ['--controllers=serviceaccount-controller', gates],
    apiserverArgs: [gates],
    schedulerArgs: [gates],
  });
  const [nodes, pods] = [plane.client().resource(kinds.nodes), plane.client().resource(kinds.pods)];
  const made = await nodes.create(silent);
  const node = await nodes.update({...made, spec: {}});
  await nodes.update({...node, status: silent.status!}, {subresource: 'status'});
  await pods.create(aPod('web', restarting()));
  await plane.clock.drain();
  const waiting = await pods.get('web', {namespace: 'default'});
  t.regex(
    waiting.status?.conditions?.[0]?.message ?? '',
    /^0\/1 nodes are available: 1 node declared features check failed - unsatisfied requirements: \w+\./,
  );

  await nodes.patch('silent', 'merge', {status: {declaredFeatures: ['A', feature]}} as Partial<Node>, {subresource: 'status'});
  await plane.clock.drain();

  t.is((await pods.get('web', {namespace: 'default'})).spec?.nodeName, 'silent');
});
