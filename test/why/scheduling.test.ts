import test from 'ava';
import {aPod, kinds, Situations} from './situations.js';

const at = await Situations.start([]);
test.after.always(() => at[Symbol.asyncDispose]());

const [seconds, minutes] = [1_000, 60_000];

/** A node that nobody runs, which the scheduler sees as ready. */
const aNode = (
  name: string,
  {labels = {}, taints = [] as {key: string; value?: string; effect: string}[], cpu = '2', pods = '10'} = {},
) => ({
  metadata: {name, labels: {'kubernetes.io/hostname': name, ...labels}},
  spec: {taints},
  status: {
    capacity: {cpu, memory: '8Gi', pods},
    allocatable: {cpu, memory: '8Gi', pods},
    conditions: [{type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z'}],
  },
});

test.serial('a pod without any node waits for one', async t => {
  await at.create(kinds.pods, aPod('none'));

  t.deepEqual(await at.answer(kinds.pods, 'none', 10 * seconds), [
    'Pod default/none is blocked: no node takes it: no nodes available to schedule pods.',
    'A node that joins the cluster.',
  ]);
  await at.delete(kinds.pods, 'none');
});

test.serial('a pod that asks for too much is told what each node has left', async t => {
  await at.create(
    kinds.nodes,
    aNode('a'),
    aNode('b', {taints: [{key: 'example.com/gpu', value: 'yes', effect: 'NoSchedule'}]}),
    aNode('c', {labels: {disk: 'fast'}}),
  );
  for (const name of ['a', 'b', 'c'])
    await at.patch(kinds.nodes, name, {
      spec: {taints: name === 'b' ? [{key: 'example.com/gpu', value: 'yes', effect: 'NoSchedule'}] : null},
    });
  await at.create(
    kinds.pods,
    aPod('used', {nodeName: 'a', containers: [{name: 'app', image: 'nginx', resources: {requests: {cpu: '1500m'}}}]}),
  );
  await at.create(kinds.pods, aPod('large', {containers: [{name: 'app', image: 'nginx', resources: {requests: {cpu: '3'}}}]}));

  t.deepEqual(await at.answer(kinds.pods, 'large', 10 * seconds), [
    'Pod default/large is blocked: no node takes it: 0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu.',
    'A node with enough cpu (smaller requests, the end of other pods, or another node); or a toleration of the taint in the pod, or a node without it.',
  ]);
  t.deepEqual((await at.why(kinds.pods, 'large')).chain[0]?.details, [
    'a: 500m of cpu is free, and the pod asks for 3',
    'b: it has the taint example.com/gpu=yes:NoSchedule, which the pod does not tolerate',
    'c: 2 of cpu is free, and the pod asks for 3',
  ]);
});

test.serial('a pod with a node selector waits for a node that matches', async t => {
  await at.create(kinds.pods, aPod('selects', {nodeSelector: {zone: 'west'}}));

  t.deepEqual(await at.answer(kinds.pods, 'selects', 10 * seconds), [
    "Pod default/selects is blocked: no node takes it: 0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 node(s) didn't match Pod's node affinity/selector.",
    "A toleration of the taint in the pod, or a node without it; or a node with labels that match the pod's node selector or affinity.",
  ]);
});

test.serial('a pod that does not tolerate the taint of the only node for it waits', async t => {
  await at.create(kinds.pods, aPod('tainted', {nodeSelector: {'kubernetes.io/hostname': 'b'}}));

  t.deepEqual(await at.answer(kinds.pods, 'tainted', 10 * seconds), [
    "Pod default/tainted is blocked: no node takes it: 0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 node(s) didn't match Pod's node affinity/selector.",
    "A toleration of the taint in the pod, or a node without it; or a node with labels that match the pod's node selector or affinity.",
  ]);
});

test.serial('a pod with a scheduling gate waits for whoever set it', async t => {
  await at.create(kinds.pods, aPod('gated', {schedulingGates: [{name: 'example.com/queue'}]}));

  t.deepEqual(await at.answer(kinds.pods, 'gated', 10 * seconds), [
    'Pod default/gated is blocked: it is not scheduled as long as it has the scheduling gate example.com/queue.',
    'Whoever set the gate removes it from spec.schedulingGates.',
  ]);
});

test.serial('a pod of another scheduler waits for that scheduler', async t => {
  await at.create(kinds.pods, aPod('other', {schedulerName: 'batch-scheduler'}));

  t.deepEqual(await at.answer(kinds.pods, 'other', 10 * seconds), [
    'Pod default/other is blocked: no scheduler has looked at it, and it asks for the scheduler batch-scheduler.',
    'A scheduler with a profile batch-scheduler that works, or another spec.schedulerName.',
  ]);
});

test.serial('a pod waits for a claim that does not exist', async t => {
  await at.create(kinds.pods, aPod('claims', {volumes: [{name: 'data', persistentVolumeClaim: {claimName: 'absent'}}]}));

  t.deepEqual(await at.answer(kinds.pods, 'claims', 10 * seconds), [
    'Pod default/claims is blocked: it uses the persistent volume claim absent, which does not exist.',
    'The creation of the claim absent in the namespace default.',
  ]);
});

test.serial('a pod of a high priority waits for the end of the pods that it preempts', async t => {
  await at.create(kinds.priorityClasses, {metadata: {name: 'high'}, value: 1000});
  const containers = [{name: 'app', image: 'nginx', resources: {requests: {cpu: '2'}}}];
  await at.create(kinds.pods, aPod('urgent', {priorityClassName: 'high', nodeSelector: {'kubernetes.io/hostname': 'a'}, containers}));

  t.deepEqual(await at.answer(kinds.pods, 'urgent', 5 * seconds), [
    'Pod default/urgent is blocked by Pod default/used: it is being deleted, and its containers have until 2026-01-01T00:01:40Z to end.',
    'The end of its containers; at 2026-01-01T00:01:40Z they are killed.',
  ]);
});

test.serial('a pod waits for the nodes that are cordoned, and a node says that it is', async t => {
  for (const name of ['a', 'b', 'c'])
    await at.patch(kinds.nodes, name, {
      spec: {unschedulable: true, taints: [{key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule'}]},
    });
  await at.create(kinds.pods, aPod('cordoned'));

  t.deepEqual(await at.answer(kinds.pods, 'cordoned', 10 * seconds), [
    'Pod default/cordoned is blocked by Node a: it is cordoned and takes no new pods, and 1 pod on it would be evicted by a drain.',
    'kubectl uncordon a',
  ]);
  t.deepEqual(await at.answer(kinds.nodes, 'c'), ['Node c is blocked: it is cordoned and takes no new pods.', 'kubectl uncordon c']);
});

test.serial('a pod that is bound to a node that does not exist waits for it', async t => {
  await at.create(kinds.pods, aPod('nowhere', {nodeName: 'gone'}));

  t.deepEqual(await at.answer(kinds.pods, 'nowhere', 10 * seconds), [
    'Pod default/nowhere is blocked: it is bound to the node gone, which does not exist.',
    'A node of this name, or a new pod.',
  ]);
});

test.serial('a claim for devices of an unknown class waits for the class, and so does its pod', async t => {
  await at.create(kinds.resourceClaims, {
    metadata: {name: 'gpu'},
    spec: {devices: {requests: [{name: 'one', exactly: {deviceClassName: 'gpu.example.com'}}]}},
  });
  await at.create(
    kinds.pods,
    aPod('devices', {resourceClaims: [{name: 'gpu', resourceClaimName: 'gpu'}], tolerations: [{operator: 'Exists'}]}),
  );

  t.deepEqual(await at.answer(kinds.pods, 'devices', minutes), [
    'Pod default/devices is blocked by ResourceClaim default/gpu: its request one is of the device class gpu.example.com, which does not exist.',
    'The creation of the device class gpu.example.com.',
  ]);
});
