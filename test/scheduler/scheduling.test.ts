import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {aCluster} from './cluster.js';
import {aNode, aPod} from './objects.js';
import {aSecond} from './second-scheduler.js';

test('a pod is bound to a node with room, with an event', async t => {
  await using cluster = await aCluster(aNode('small', {cpu: '1'}), aNode('big'));

  await cluster.create(aPod('web', {cpu: '2'}));

  t.is(await cluster.nodeOf('web'), 'big');
  t.deepEqual(await cluster.condition('web'), {status: 'True', reason: undefined, message: undefined});
  t.deepEqual(await cluster.events('web'), [
    {type: 'Normal', reason: 'Scheduled', message: 'Successfully assigned default/web to big', reportingComponent: 'default-scheduler'},
  ]);
});

test('a pod that fits nowhere gets a condition, and is bound to a node that is added', async t => {
  await using cluster = await aCluster(
    aNode('small', {cpu: '1'}),
    aNode('tainted', {taints: [{key: 'team', value: 'a', effect: 'NoSchedule'}]}),
    aNode('cordoned', {unschedulable: true}),
  );

  await cluster.create(aPod('web', {cpu: '2'}));

  const message =
    '0/3 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable. no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.';
  t.deepEqual(await cluster.condition('web'), {status: 'False', reason: 'Unschedulable', message});
  t.deepEqual(await cluster.events('web'), [
    {type: 'Warning', reason: 'FailedScheduling', message, reportingComponent: 'default-scheduler'},
  ]);

  await cluster.addNodes(aNode('big'));

  t.is(await cluster.nodeOf('web'), 'big');
});

test('a pod with another scheduler name is left alone', async t => {
  await using cluster = await aCluster(aNode('n1'));

  await cluster.create(aPod('theirs', {schedulerName: 'other'}), aPod('ours'));

  t.is(await cluster.nodeOf('ours'), 'n1');
  t.is(await cluster.nodeOf('theirs'), undefined);
  t.deepEqual(await cluster.events('theirs'), []);
});

test('pods wait for a node to be there at all', async t => {
  await using cluster = await aCluster();
  await cluster.create(aPod('web'));
  t.deepEqual(await cluster.condition('web'), {status: 'False', reason: 'Unschedulable', message: 'no nodes available to schedule pods'});

  await cluster.addNodes(aNode('n1'));

  t.is(await cluster.nodeOf('web'), 'n1');
});

test('a gated pod has a condition, and is scheduled once the last gate is removed', async t => {
  await using cluster = await aCluster(aNode('n1'));
  await cluster.create(aPod('web', {schedulingGates: [{name: 'example.com/wait'}]}));
  t.is(await cluster.nodeOf('web'), undefined);
  t.deepEqual(await cluster.condition('web'), {
    status: 'False',
    reason: 'SchedulingGated',
    message: 'Scheduling is blocked due to non-empty scheduling gates',
  });

  await cluster.pods.patch('web', 'merge', {spec: {schedulingGates: []}}, {namespace: 'default'});
  await cluster.clock.drain();

  t.is(await cluster.nodeOf('web'), 'n1');
});

/** The changes that make room on the one node of a full cluster, or let it be used. */
const helpers: readonly [
  title: string,
  node: Parameters<typeof aNode>[1],
  help: (cluster: Awaited<ReturnType<typeof aCluster>>) => Promise<unknown>,
][] = [
  ['a pod that goes', {}, cluster => cluster.end('first')],
  [
    'a pod that is over',
    {},
    cluster => cluster.pods.patch('first', 'merge', {status: {phase: 'Succeeded'}}, {namespace: 'default', subresource: 'status'}),
  ],
  [
    'a node that grows',
    {},
    cluster => cluster.client.resource(kinds.nodes).patch('n1', 'merge', {status: {allocatable: {cpu: '8'}}}, {subresource: 'status'}),
  ],
  [
    'a taint that is taken off',
    {cpu: '8', taints: [{key: 'a', effect: 'NoSchedule'}]},
    cluster => cluster.client.resource(kinds.nodes).patch('n1', 'merge', {spec: {taints: null}}),
  ],
  [
    'a node that is uncordoned',
    {cpu: '8', unschedulable: true},
    cluster => cluster.client.resource(kinds.nodes).patch('n1', 'merge', {spec: {unschedulable: null, taints: null}}),
  ],
];

for (const [title, node, help] of helpers) {
  test(`a waiting pod is scheduled after: ${title}`, async t => {
    await using cluster = await aCluster(aNode('n1', node));
    await cluster.create(aPod('first', {cpu: '3', tolerations: [{operator: 'Exists'}]}));
    await cluster.create(aPod('second', {cpu: '3'}));
    t.is(await cluster.nodeOf('second'), undefined);

    await help(cluster);
    await cluster.clock.drain();

    t.is(await cluster.nodeOf('second'), 'n1');
  });
}

const zonal = {
  podAntiAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {matchLabels: {app: 'web'}}, topologyKey: 'example.com/zone'}],
  },
};
for (const [title, help] of [
  ['comes', cluster => cluster.addNodes(aNode('n2'))],
  ['loses it', cluster => cluster.client.resource(kinds.nodes).patch('n1', 'merge', {metadata: {labels: {'example.com/zone': null}}})],
] as const satisfies readonly (readonly [string, (typeof helpers)[number][2]])[]) {
  test(`a pod that waits on required anti-affinity is tried again when a node without the topology label ${title}`, async t => {
    await using cluster = await aCluster(aNode('n1', {labels: {'example.com/zone': 'a'}}));
    await cluster.create(aPod('first', {}, {labels: {app: 'web'}}));
    await cluster.create(aPod('second', {affinity: zonal}));
    t.is(await cluster.nodeOf('second'), undefined);

    await help(cluster);
    await cluster.clock.advance(5_000);

    t.truthy(await cluster.nodeOf('second'));
  });
}

test('pods are spread and bound concurrently, and none on a node without room', async t => {
  await using cluster = await aCluster(...['n1', 'n2', 'n3'].map(name => aNode(name, {cpu: '4'})));

  await cluster.create(...Array.from({length: 13}, (_, at) => aPod(`p${at}`, {cpu: '1'})));

  const {items} = await cluster.pods.list({namespace: 'default'});
  const on = (node: string | undefined) => items.filter(({spec}) => spec?.nodeName === node).length;
  t.deepEqual([on('n1'), on('n2'), on('n3'), on(undefined)], [4, 4, 4, 1]);
});

test('a pod that was bound behind the scheduler counts where it is', async t => {
  await using cluster = await aCluster(aNode('n1'));
  await cluster.create(aPod('theirs', {cpu: '3', schedulerName: 'other'}));
  await cluster.pods.create({metadata: {name: 'theirs', namespace: 'default'}, target: {name: 'n1'}} as never, {
    name: 'theirs',
    subresource: 'binding',
  });
  await cluster.clock.drain();

  await cluster.create(aPod('ours', {cpu: '3'}));

  t.is((await cluster.condition('ours')).reason, 'Unschedulable');
});

test('a claim that waits for its pod gets a volume on the chosen node, and the pod is bound once the volume is', async t => {
  await using cluster = await aCluster(aNode('n1', {labels: {zone: 'a'}}), aNode('n2', {labels: {zone: 'b'}}));
  const {client, clock, plane} = cluster;
  const {naming} = plane;
  await client
    .resource(kinds.storageClasses)
    .create({metadata: {name: 'local'}, provisioner: naming.key('no-provisioner'), volumeBindingMode: 'WaitForFirstConsumer'} as never);
  const nodeAffinity = {required: {nodeSelectorTerms: [{matchExpressions: [{key: 'zone', operator: 'In', values: ['b']}]}]}};
  const volumes = client.resource(kinds.persistentVolumes);
  const made = await volumes.create({
    metadata: {name: 'disk'},
    spec: {capacity: {storage: '1Gi'}, accessModes: ['ReadWriteOnce'], storageClassName: 'local', local: {path: '/d'}, nodeAffinity},
  } as never);
  await volumes.update({...made, status: {phase: 'Available'}}, {subresource: 'status'});
  const claims = client.resource(kinds.persistentVolumeClaims);
  await claims.create({
    metadata: {name: 'data', namespace: 'default'},
    spec: {accessModes: ['ReadWriteOnce'], storageClassName: 'local', resources: {requests: {storage: '1Gi'}}},
  } as never);
  await clock.drain();

  await cluster.create(aPod('db', {volumes: [{name: 'data', persistentVolumeClaim: {claimName: 'data'}}]}));

  const promised = await volumes.get('disk');
  t.is(promised.spec?.claimRef?.name, 'data');
  t.is(promised.metadata?.annotations?.[naming.subKey('pv', 'bound-by-controller')], 'yes');
  t.is(await cluster.nodeOf('db'), undefined);
  t.is((await cluster.get('db')).status?.nominatedNodeName, 'n2');

  // As the controller that binds volumes does.
  const claim = await claims.get('data', {namespace: 'default'});
  await claims.update({
    ...claim,
    metadata: {...claim.metadata, annotations: {...claim.metadata?.annotations, [naming.subKey('pv', 'bind-completed')]: 'yes'}},
    spec: {...claim.spec, volumeName: 'disk'},
  });
  await clock.drain();

  t.is(await cluster.nodeOf('db'), 'n2');
});

test('a volume that is to be made is made for the node, and a failure sends the pod back', async t => {
  await using cluster = await aCluster(aNode('n1'));
  const {client, clock, plane} = cluster;
  const selected = plane.naming.subKey('volume', 'selected-node');
  await client
    .resource(kinds.storageClasses)
    .create({metadata: {name: 'made'}, provisioner: 'csi.example.com', volumeBindingMode: 'WaitForFirstConsumer'} as never);
  const claims = client.resource(kinds.persistentVolumeClaims);
  await claims.create({
    metadata: {name: 'data', namespace: 'default'},
    spec: {accessModes: ['ReadWriteOnce'], storageClassName: 'made', resources: {requests: {storage: '1Gi'}}},
  } as never);
  await clock.drain();
  await cluster.create(aPod('db', {volumes: [{name: 'data', persistentVolumeClaim: {claimName: 'data'}}]}));
  const claim = await claims.get('data', {namespace: 'default'});
  t.is(claim.metadata?.annotations?.[selected], 'n1');

  // As a provisioner does that cannot make the volume there.
  await claims.patch('data', 'merge', {metadata: {annotations: {[selected]: null}}}, {namespace: 'default'});
  await clock.drain();
  t.deepEqual(await cluster.condition('db'), {
    status: 'False',
    reason: 'SchedulerError',
    message: 'running PreBind plugin "VolumeBinding": binding volumes: provisioning failed for PVC "data"',
  });

  await clock.advance(1_000);
  t.is((await claims.get('data', {namespace: 'default'})).metadata?.annotations?.[selected], 'n1');
});

test('a pod that could not be bound gives its place back, and is tried again after a second', async t => {
  await using cluster = await aCluster(aNode('n1'));
  await using second = await aSecond(cluster);
  second.client.fail('create pods', new Error('the server is away'));

  await cluster.create(aPod('web', {cpu: '3', schedulerName: 'mine'}));

  t.deepEqual(await cluster.condition('web'), {
    status: 'False',
    reason: 'SchedulerError',
    message: 'running Bind plugin "DefaultBinder": the server is away',
  });
  t.is(second.meter.value('scheduler_cache_size', {type: 'assumed_pods'}), 0);
  await cluster.clock.advance(999);
  t.is(await cluster.nodeOf('web'), undefined);
  await cluster.clock.advance(1);
  t.is(await cluster.nodeOf('web'), 'n1');
});

test('failed preemptions are tried again', async t => {
  await using cluster = await aCluster(aNode('n1'));
  await using second = await aSecond(cluster);
  await cluster.client.resource(kinds.priorityClasses).create({metadata: {name: 'high'}, value: 100});
  await cluster.create(aPod('small', {cpu: '3', schedulerName: 'mine'}));
  second.client.fail('delete pods', new Error('the server is away'));

  await cluster.create(aPod('great', {cpu: '3', schedulerName: 'mine', priorityClassName: 'high'}));
  await cluster.clock.advance(10_000);

  t.truthy((await cluster.get('small')).metadata?.deletionTimestamp);
  await cluster.end('small');
  t.is(await cluster.nodeOf('great'), 'n1');
});

test('a second scheduler takes the pods that name it, and counts them', async t => {
  await using cluster = await aCluster(aNode('n1'));
  await using second = await aSecond(cluster);
  const {meter} = second;
  const pending = (queue: string) => meter.value('scheduler_pending_pods', {queue});
  const attempts = (result: string) => meter.value('scheduler_schedule_attempts_total', {result, profile: 'mine'});

  await cluster.create(
    aPod('web', {cpu: '1', schedulerName: 'mine'}),
    aPod('big', {cpu: '9', schedulerName: 'mine'}),
    aPod('gated', {schedulerName: 'mine', schedulingGates: [{name: 'example.com/wait'}]}),
  );

  t.is(await cluster.nodeOf('web'), 'n1');
  t.deepEqual([attempts('scheduled'), attempts('unschedulable')], [1, 1]);
  t.deepEqual(['active', 'backoff', 'unschedulable', 'gated'].map(pending), [0, 0, 1, 1]);
  t.deepEqual(
    ['nodes', 'pods', 'assumed_pods'].map(type => meter.value('scheduler_cache_size', {type})),
    [1, 1, 0],
  );
  t.is(meter.value('scheduler_unschedulable_pods', {plugin: 'NodeResourcesFit', profile: 'mine'}), 1);
  t.is(meter.value('scheduler_queue_incoming_pods_total', {queue: 'unschedulable', event: 'ScheduleAttemptFailure'}), 1);
});

test('changes of pods on nodes are taken into account: labels, resources, and termination', async t => {
  await using cluster = await aCluster(aNode('n1', {cpu: '4', labels: {zone: 'a'}}));
  const refusing = (name: string) => ({
    affinity: {
      podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {matchLabels: {app: name}}, topologyKey: 'zone'}]},
    },
  });
  await cluster.create(aPod('first', {cpu: '3'}, {labels: {app: 'one'}}));
  await cluster.create(aPod('apart', refusing('one')));
  t.is(await cluster.nodeOf('apart'), undefined);
  await cluster.pods.patch('first', 'merge', {metadata: {labels: {app: 'two'}}}, {namespace: 'default'});
  await cluster.clock.drain();
  t.is(await cluster.nodeOf('apart'), 'n1');

  await cluster.create(aPod('second', {cpu: '2'}));
  t.is(await cluster.nodeOf('second'), undefined);
  await cluster.pods.patch(
    'first',
    'strategic',
    {spec: {containers: [{name: 'main', resources: {requests: {cpu: '1'}}}]}},
    {namespace: 'default', subresource: 'resize'},
  );
  await cluster.clock.drain();
  t.is(await cluster.nodeOf('second'), 'n1');
});

test('devices that others allocated are noted as in use by the pod before it is bound', async t => {
  await using cluster = await aCluster(aNode('n1', {labels: {zone: 'a'}}), aNode('n2', {labels: {zone: 'b'}}));
  const claims = cluster.client.resource(kinds.resourceClaims);
  const made = await claims.create({
    metadata: {name: 'gpu', namespace: 'default'},
    spec: {devices: {requests: [{name: 'one', exactly: {deviceClassName: 'gpus'}}]}},
  } as never);
  await cluster.create(aPod('train', {resourceClaims: [{name: 'gpu', resourceClaimName: 'gpu'}]}));
  t.regex(
    (await cluster.condition('train')).message ?? '',
    /^0\/2 nodes are available: request one: device class gpus does not exist\. no new claims/,
  );

  const nodeSelector = {nodeSelectorTerms: [{matchExpressions: [{key: 'zone', operator: 'In', values: ['b']}]}]};
  const results = [{request: 'one', driver: 'gpu.example.com', pool: 'p', device: 'd'}];
  await claims.update({...made, status: {allocation: {devices: {results}, nodeSelector}}} as never, {subresource: 'status'});
  await cluster.clock.drain();

  t.is(await cluster.nodeOf('train'), 'n2');
  const pod = await cluster.get('train');
  t.deepEqual((await claims.get('gpu', {namespace: 'default'})).status?.reservedFor, [
    {resource: 'pods', name: 'train', uid: pod.metadata?.uid ?? ''},
  ]);
});
