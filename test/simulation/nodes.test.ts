import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {parseTime} from '#src/api/time.js';
import type {KubeObject} from '#src/api/types.js';
import {seededRandom} from '#src/base/random.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {
  annotate,
  aPlaneWithNodes,
  conditionsOf,
  eventsOf,
  podNamed,
  podsOf,
  run,
  describePod,
  type BoundPod,
  type NodesPlane,
} from './environment.js';

for (const naming of ['plat', 'kubernetes'] as const) {
  test(`a node of the ${naming} naming registers as a node's agent does, and is ready`, async t => {
    await using plane = await aPlaneWithNodes({naming});
    const {naming: words} = plane;
    const node = await plane.client().resource(kinds.nodes).get('plat-node-0');
    const agent = words.agent.charAt(0).toUpperCase() + words.agent.slice(1);

    t.like(node.metadata?.labels, {[words.labels.hostname]: 'plat-node-0', [words.labels.os]: 'linux', [words.labels.arch]: 'amd64'});
    t.deepEqual(node.status?.addresses, [
      {type: 'InternalIP', address: '10.224.0.1'},
      {type: 'Hostname', address: 'plat-node-0'},
    ]);
    t.deepEqual(node.status?.allocatable, node.status?.capacity);
    t.like(node.status?.capacity, {cpu: '32', memory: '256Gi', pods: '110', 'ephemeral-storage': '1Ti'});
    t.regex(node.status?.nodeInfo?.kubeletVersion ?? '', /^v1\.35\.\d/);
    t.deepEqual(
      node.status?.conditions?.map(({type, status, reason, message}) => [type, status, reason, message]),
      [
        ['MemoryPressure', 'False', `${agent}HasSufficientMemory`, `${words.agent} has sufficient memory available`],
        ['DiskPressure', 'False', `${agent}HasNoDiskPressure`, `${words.agent} has no disk pressure`],
        ['PIDPressure', 'False', `${agent}HasSufficientPID`, `${words.agent} has sufficient PID available`],
        ['Ready', 'True', `${agent}Ready`, `${words.agent} is posting ready status`],
      ],
    );
    t.deepEqual(await eventsOf(plane, 'plat-node-0'), [
      `Starting: Starting ${words.agent}.`,
      'NodeHasSufficientMemory: Node plat-node-0 status is now: NodeHasSufficientMemory',
      'NodeHasNoDiskPressure: Node plat-node-0 status is now: NodeHasNoDiskPressure',
      'NodeHasSufficientPID: Node plat-node-0 status is now: NodeHasSufficientPID',
      'NodeAllocatableEnforced: Updated Node Allocatable limit across pods',
      'NodeReady: Node plat-node-0 status is now: NodeReady',
    ]);
  });
}

test('every node renews a lease of its own every ten seconds, each at its own moment, and writes its status every five minutes', async t => {
  await using plane = await aPlaneWithNodes({nodes: 3});
  const {clock, naming} = plane;
  const [leases, nodes] = [plane.client().resource(kinds.leases), plane.client().resource(kinds.nodes)];
  const renewals = async () =>
    (await leases.list({namespace: naming.nodeLeaseNamespace})).items.map(({spec}) => Date.parse(spec?.renewTime ?? ''));
  const beat = async () => parseTime((await nodes.get('plat-node-0')).status?.conditions?.[0]?.lastHeartbeatTime) ?? 0;
  const {metadata} = await nodes.get('plat-node-1');
  t.like(await leases.get('plat-node-1', {namespace: naming.nodeLeaseNamespace}), {
    metadata: {ownerReferences: [{apiVersion: 'v1', kind: 'Node', name: 'plat-node-1', uid: metadata?.uid}]},
    spec: {holderIdentity: 'plat-node-1', leaseDurationSeconds: 40},
  });

  await clock.advance(60_000);
  const [reported, at] = [await beat(), await renewals()];
  t.is(new Set(at).size, 3);
  for (const time of at) t.true(clock.now() - time <= 10_000);
  t.true(clock.now() - reported >= 60_000);

  await clock.advance(300_000);
  t.true((await beat()) - reported >= 300_000);
});

test('a node that is switched off falls silent, and comes back when it is switched on', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock, naming} = plane;
  const nodes = plane.client().resource(kinds.nodes);
  const leases = plane.client().resource(kinds.leases);
  const silenceMs = async () =>
    clock.now() - Date.parse((await leases.get('plat-node-0', {namespace: naming.nodeLeaseNamespace})).spec?.renewTime ?? '');
  const state = naming.subKey('simulation', 'state');
  await nodes.patch('plat-node-0', 'merge', {metadata: {annotations: {[state]: 'stopped'}}});
  await clock.advance(60_000);
  t.true((await silenceMs()) >= 60_000);

  await nodes.patch('plat-node-0', 'merge', {metadata: {annotations: {[state]: null}}});
  await clock.advance(10_000);
  t.true((await silenceMs()) <= 10_000);
});

test('a node has the problems that instructions give it', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock, naming} = plane;
  const nodes = plane.client().resource(kinds.nodes);
  const bad = async () =>
    (await nodes.get('plat-node-0')).status?.conditions?.flatMap(({type, status, reason}) =>
      (status === 'True') === (type === 'Ready') ? [] : [`${type} ${reason}`],
    );
  const instruct = async (annotations: Record<string, string | null>) => {
    await nodes.patch('plat-node-0', 'merge', {metadata: {annotations}});
    await clock.drain();
  };
  const [state, pressure] = [naming.subKey('simulation', 'state'), naming.subKey('simulation', 'pressure')];
  await instruct({[state]: 'not-ready', [pressure]: 'MemoryPressure, PIDPressure'});
  t.deepEqual(await bad(), [
    'MemoryPressure PlatletHasInsufficientMemory',
    'PIDPressure PlatletHasInsufficientPID',
    'Ready PlatletNotReady',
  ]);

  await instruct({[state]: null, [pressure]: null});
  t.deepEqual(await bad(), []);
  // Earlier reports are counted.
  t.deepEqual(
    (await eventsOf(plane, 'plat-node-0')).slice(6).map(text => text.split(':')[0]),
    ['NodeHasInsufficientMemory', 'NodeHasInsufficientPID', 'NodeNotReady'],
  );
  const {items} = await plane.client().resource(kinds.coreEvents).list({namespace: 'default'});
  t.deepEqual(
    items
      .filter(({count}) => count === 2)
      .map(({reason}) => reason)
      .sort(),
    ['NodeHasSufficientMemory', 'NodeHasSufficientPID', 'NodeReady'],
  );
});

test('the pods of a node that is off stay as they are, and catch up when it is on again', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock, naming} = plane;
  const nodes = plane.client().resource(kinds.nodes);
  const switchTo = (state: string | null) =>
    nodes.patch('plat-node-0', 'merge', {metadata: {annotations: {[naming.subKey('simulation', 'state')]: state}}});
  await run(plane, {name: 'ending', restartPolicy: 'Never', behavior: '{runFor: 10s}'});
  await run(plane, {name: 'deleted'});
  await clock.advance(1_000);
  await switchTo('stopped');
  await podsOf(plane).delete('deleted', {namespace: 'default'});
  await clock.advance(120_000);
  t.deepEqual(
    [describePod(await podNamed(plane, 'ending')), describePod(await podNamed(plane, 'deleted'))],
    ['Running: app ready', 'Running: app ready'],
  );

  await switchTo(null);
  await clock.advance(1_000);
  t.is(describePod(await podNamed(plane, 'ending')), 'Succeeded: app Completed(0)');
  await t.throwsAsync(podNamed(plane, 'deleted'));
});

test('a node that is drained takes nothing new and sends its pods away, as far as it may', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock, naming} = plane;
  const client = plane.client();
  const daemons = [{apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'daemons', uid: '1', controller: true}];
  await run(plane, {name: 'free'});
  await run(plane, {name: 'kept', metadata: {labels: {app: 'kept'}}});
  await run(plane, {name: 'daemon', metadata: {ownerReferences: daemons}});
  await client
    .resource(kinds.podDisruptionBudgets)
    .create({metadata: {name: 'kept', namespace: 'default'}, spec: {minAvailable: 1, selector: {matchLabels: {app: 'kept'}}}});
  await clock.advance(1_000);
  await client
    .resource(kinds.nodes)
    .patch('plat-node-0', 'merge', {metadata: {annotations: {[naming.subKey('simulation', 'drain')]: 'true'}}});
  await clock.advance(30_000);
  const names = async () => (await podsOf(plane).list({namespace: 'default'})).items.map(({metadata}) => metadata?.name);

  t.true((await client.resource(kinds.nodes).get('plat-node-0')).spec?.unschedulable);
  t.deepEqual(await names(), ['daemon', 'kept']);
  t.is((await eventsOf(plane, 'plat-node-0')).at(-1), 'NodeNotSchedulable: Node plat-node-0 status is now: NodeNotSchedulable');

  await client.resource(kinds.podDisruptionBudgets).delete('kept', {namespace: 'default'});
  await clock.advance(10_000);
  t.deepEqual(await names(), ['daemon']);
});

/** Pods that a node refuses, and its message. */
const misfits: readonly (readonly [what: string, pod: BoundPod, reason: string, message: string])[] = [
  [
    'too much of a resource',
    asking({cpu: '31.5'}),
    'OutOfcpu',
    "Node didn't have enough resource: cpu, requested: 31500, used: 1000, capacity: 32000",
  ],
  [
    'far too much',
    asking({memory: '300Gi'}),
    'OutOfmemory',
    "Node didn't have enough resource: memory, requested: 322122547200, used: 0, capacity: 274877906944",
  ],
  [
    'a port that is taken',
    withPort(80),
    'NodePorts',
    "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
  ],
  [
    'another kind of node',
    {nodeSelector: {disk: 'ssd'}},
    'NodeAffinity',
    "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
  ],
  ['another system', {os: {name: 'windows'}}, 'PodOSNotSupported', "Failed to admit pod as the OS field doesn't match node OS"],
];

function asking(requests: Record<string, string>): BoundPod {
  return {containers: [{name: 'app', image: 'nginx', resources: {requests}}]};
}
function withPort(hostPort: number, hostIP?: string): BoundPod {
  return {containers: [{name: 'app', image: 'nginx', ports: [{containerPort: hostPort, hostPort, ...(hostIP ? {hostIP} : {})}]}]};
}

test('a node refuses pods that do not fit beside the others', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock} = plane;
  await run(plane, {
    name: 'first',
    containers: [
      {name: 'app', image: 'nginx', ports: [{containerPort: 80, hostPort: 80, hostIP: '10.0.0.1'}], resources: {requests: {cpu: '1'}}},
    ],
  });
  await clock.advance(1_000);
  for (const [what, pod, reason, message] of misfits) {
    await run(plane, pod);
    await clock.advance(1_000);
    const {status} = await podNamed(plane);
    t.like(status, {phase: 'Failed', reason, message: `Pod was rejected: ${message}`}, what);
    t.is(status?.containerStatuses, undefined);
    t.like(conditionsOf(await podNamed(plane)), {Ready: 'False', ContainersReady: 'False'});
    t.is((await eventsOf(plane, 'pod')).at(-1), `${reason}: ${message}`);
    await podsOf(plane).delete('pod', {namespace: 'default'});
  }

  await run(plane, withPort(80, '10.0.0.2'));
  await run(plane, {name: 'last', ...asking({cpu: '31'})});
  await clock.advance(1_000);
  t.deepEqual(
    [describePod(await podNamed(plane)), describePod(await podNamed(plane, 'last'))],
    ['Running: app ready', 'Running: app ready'],
  );
});

test('resources that others advertise on a node can be allocated there, for as long as they do', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock} = plane;
  const nodes = plane.client().resource(kinds.nodes);
  const advertise = async (amount: string | null) => {
    await nodes.patch('plat-node-0', 'merge', {status: {capacity: {'example.com/gpu': amount}}}, {subresource: 'status'});
    await clock.drain();
    return (await nodes.get('plat-node-0')).status?.allocatable;
  };
  const before = (await nodes.get('plat-node-0')).status?.allocatable;
  t.deepEqual(await advertise('2'), {...before, 'example.com/gpu': '2'});
  await clock.advance(600_000);
  t.is((await nodes.get('plat-node-0')).status?.allocatable?.['example.com/gpu'], '2');

  const wants = (count: string): BoundPod => ({
    containers: [{name: 'app', image: 'nginx', resources: {requests: {'example.com/gpu': count}, limits: {'example.com/gpu': count}}}],
  });
  await run(plane, {name: 'fits', ...wants('2')});
  await clock.advance(1_000);
  await run(plane, wants('1'));
  await clock.advance(1_000);
  t.deepEqual(
    [describePod(await podNamed(plane, 'fits')), (await podNamed(plane)).status?.reason],
    ['Running: app ready', 'OutOfexample.com/gpu'],
  );
  t.deepEqual(await advertise(null), before);
});

test('room and addresses come back with the end of a pod', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock} = plane;
  await run(plane, {restartPolicy: 'Never', ...asking({cpu: '32'})});
  await clock.advance(500);
  t.is((await podNamed(plane)).status?.podIP, '10.128.0.2');
  await clock.advance(1_000);
  await run(plane, {name: 'next', ...asking({cpu: '32'})});
  await clock.advance(1_000);

  t.is(describePod(await podNamed(plane)), 'Succeeded: app Completed(0)');
  t.is(describePod(await podNamed(plane, 'next')), 'Running: app ready');
});

test("pods have addresses of their node's ranges, one of each family, or those of the node itself", async t => {
  await using plane = await aPlaneWithNodes();
  const {clock} = plane;
  await plane
    .client()
    .resource(kinds.nodes)
    .patch('plat-node-0', 'merge', {spec: {podCIDR: '10.1.2.0/29', podCIDRs: ['10.1.2.0/29', 'fd00:1::/64']}});
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  for (const name of names) await run(plane, {name});
  await run(plane, {name: 'host', hostNetwork: true});
  await clock.advance(1_000);
  const addresses = async (name: string) => (await podNamed(plane, name)).status?.podIPs?.map(({ip}) => ip).join();

  t.deepEqual((await Promise.all(names.map(addresses))).sort(), [
    '10.1.2.2,fd00:1::2',
    '10.1.2.3,fd00:1::3',
    '10.1.2.4,fd00:1::4',
    '10.1.2.5,fd00:1::5',
    '10.1.2.6,fd00:1::6',
    'fd00:1::7',
  ]);
  t.is(await addresses('host'), '10.224.0.1');
});

test('nodes and pods have addresses of both families where the ranges of pods have', async t => {
  await using plane = await aPlaneWithNodes({
    controllerManagerArgs: ['--controllers=serviceaccount-controller', '--cluster-cidr=10.1.0.0/16,fd01::/48'],
  });
  await run(plane);
  await run(plane, {name: 'host', hostNetwork: true});
  await plane.clock.advance(1_000);
  const node = await plane.client().resource(kinds.nodes).get('plat-node-0');

  t.deepEqual(
    node.status?.addresses?.map(({address}) => address),
    ['10.224.0.1', 'fd00:10:224::1', 'plat-node-0'],
  );
  t.like((await podNamed(plane)).status, {
    podIPs: [{ip: '10.128.0.2'}, {ip: 'fd00:10:128::2'}],
    hostIPs: [{ip: '10.224.0.1'}, {ip: 'fd00:10:224::1'}],
  });
  t.like((await podNamed(plane, 'host')).status, {podIPs: [{ip: '10.224.0.1'}, {ip: 'fd00:10:224::1'}]});
});

test('two planes with the same seed do the same', async t => {
  const everything = async () => {
    await using plane = await aPlaneWithNodes({nodes: 3, random: seededRandom(7)});
    for (const [name, node] of [
      ['a', 0],
      ['b', 1],
      ['c', 2],
    ] as const)
      await run(plane, {name, node: `plat-node-${node}`, behavior: '{startAfter: 1s..10s, runFor: 5s..50s, exitCode: [1, 0]}'});
    await plane.clock.advance(300_000);
    const client = plane.client();
    return JSON.stringify(
      await Promise.all(
        [kinds.pods, kinds.nodes, kinds.leases, kinds.coreEvents].map(async kind => (await client.resource<KubeObject>(kind).list()).items),
      ),
    );
  };

  await everything(); // Loads modules that are loaded on first use: that takes its own time.
  t.true((await everything()) === (await everything()));
});

test('pods have addresses of the ranges that nodes are given', async t => {
  await using plane = await aPlaneWithNodes({
    nodes: 2,
    controllerManagerArgs: ['--controllers=serviceaccount-controller,node-ipam-controller'],
  });
  await run(plane, {name: 'a'});
  await run(plane, {name: 'b', node: 'plat-node-1'});
  await plane.clock.advance(1_000);
  const network = (address = '') => address.split('.').slice(0, 3).join('.');
  for (const [name, node] of [
    ['a', 'plat-node-0'],
    ['b', 'plat-node-1'],
  ] as const) {
    const {spec} = await plane.client().resource(kinds.nodes).get(node);
    t.regex(spec?.podCIDR ?? '', /^10\.244\.\d+\.0\/24$/);
    t.is(network((await podNamed(plane, name)).status?.podIP), network(spec?.podCIDR));
  }
});

test('the reported usage is that of running pods', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock} = plane;
  const requests = {cpu: '2', memory: '1Gi'};
  await run(plane, {
    containers: [
      {name: 'app', image: 'nginx', resources: {requests}},
      {name: 'other', image: 'nginx'},
    ],
    behavior: '[{match: {containers: app}, usage: {cpu: 50%, memory: 100Mi}}]',
  });
  await run(plane, {name: 'waiting', behavior: '{pullError: x}'});
  await clock.advance(1_000);
  const {usage} = plane.simulation!;

  t.deepEqual(usage.pods('default'), [
    {
      timestamp: clock.now(),
      windowMs: 10_000,
      namespace: 'default',
      name: 'pod',
      labels: {},
      containers: [
        {name: 'app', cpuMillis: 1000, memoryBytes: 100 * 2 ** 20},
        {name: 'other', cpuMillis: 1, memoryBytes: 2 ** 20},
      ],
    },
  ]);
  t.is(usage.pod('default', 'waiting'), undefined);
  t.like(usage.node('plat-node-0'), {name: 'plat-node-0', cpuMillis: 1051, memoryBytes: (256 + 101) * 2 ** 20});

  await annotate(plane, 'pod', {'simulation.plat.io/behavior': '{usage: {cpu: 250m}}'});
  await clock.drain();
  t.deepEqual(
    (await usage.pod('default', 'pod'))?.containers.map(({cpuMillis}) => cpuMillis),
    [250, 250],
  );
});

const resizeTo = (plane: NodesPlane, name: string, requests: Record<string, string>) =>
  podsOf(plane).patch(
    name,
    'strategic',
    {spec: {containers: [{name: 'app', resources: {requests}}]}},
    {namespace: 'default', subresource: 'resize'},
  );

test('a pod is resized in place as soon as there is room, with the reason while not', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock} = plane;
  await run(plane, {name: 'other', ...asking({cpu: '20'})});
  await run(plane, asking({cpu: '1'}));
  await clock.advance(1_000);
  const given = async () => {
    const {status} = await podNamed(plane);
    const {resources, allocatedResources, restartCount} = status?.containerStatuses?.[0] ?? {};
    const waits = (status?.conditions ?? [])
      .filter(({type}) => type.startsWith('PodResize'))
      .map(({type, reason, observedGeneration}) => `${type} ${reason ?? ''}${observedGeneration}`);
    return [resources?.requests?.['cpu'], allocatedResources?.['cpu'], restartCount, ...waits];
  };
  await resizeTo(plane, 'pod', {cpu: '2'});
  await clock.drain();
  t.deepEqual(await given(), ['1', '2', 0, 'PodResizeInProgress 2']);
  await clock.advance(1_000);
  t.deepEqual(await given(), ['2', '2', 0]);

  await resizeTo(plane, 'pod', {cpu: '15'});
  await clock.advance(1_000);
  t.deepEqual(await given(), ['2', '2', 0, 'PodResizePending Deferred3']);
  await resizeTo(plane, 'pod', {cpu: '33'});
  await clock.advance(1_000);
  t.deepEqual(await given(), ['2', '2', 0, 'PodResizePending Infeasible4']);
  await resizeTo(plane, 'pod', {cpu: '14'});
  await clock.advance(1_000);
  t.deepEqual(await given(), ['2', '2', 0, 'PodResizePending Deferred5']);

  await podsOf(plane).delete('other', {namespace: 'default'});
  await clock.advance(3_000);
  t.deepEqual(await given(), ['14', '14', 0]);
  t.deepEqual((await eventsOf(plane, 'pod')).slice(4), [
    'ResizeStarted: Pod resize started: {"containers":[{"name":"app","resources":{"requests":{"cpu":"2"}}}],"generation":2}',
    'ResizeCompleted: Pod resize completed: {"containers":[{"name":"app","resources":{"requests":{"cpu":"2"}}}],"generation":2}',
    'ResizeDeferred: Pod resize Deferred: {"containers":[{"name":"app","resources":{"requests":{"cpu":"15"}}}],"generation":3,"error":"Node didn\'t have enough resource: cpu, requested: 15000, used: 20000, capacity: 32000"}',
    'ResizeInfeasible: Pod resize Infeasible: {"containers":[{"name":"app","resources":{"requests":{"cpu":"33"}}}],"generation":4,"error":"Node didn\'t have enough capacity: cpu, requested: 33000, capacity: 32000"}',
    'ResizeDeferred: Pod resize Deferred: {"containers":[{"name":"app","resources":{"requests":{"cpu":"14"}}}],"generation":5,"error":"Node didn\'t have enough resource: cpu, requested: 14000, used: 20000, capacity: 32000"}',
    'ResizeStarted: Pod resize started: {"containers":[{"name":"app","resources":{"requests":{"cpu":"14"}}}],"generation":5}',
    'ResizeCompleted: Pod resize completed: {"containers":[{"name":"app","resources":{"requests":{"cpu":"14"}}}],"generation":5}',
  ]);
});

test('a container that cannot be resized while it runs is started again', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock} = plane;
  await run(plane, {
    containers: [
      {
        name: 'app',
        image: 'nginx',
        resources: {requests: {memory: '1Gi'}},
        resizePolicy: [{resourceName: 'memory', restartPolicy: 'RestartContainer'}],
      },
    ],
  });
  await clock.advance(1_000);
  await resizeTo(plane, 'pod', {memory: '2Gi'});
  await clock.advance(1_000);

  t.is(describePod(await podNamed(plane)), 'Running: app ready after 1');
  t.true((await eventsOf(plane, 'pod')).includes('Killing: Container app resize requires restart'));
});

test('a plane that is started again on its directory goes on with its nodes and their pods', async t => {
  const dataDir = mkdtempSync(join(tmpdir(), 'plat-nodes-'));
  t.teardown(() => rmSync(dataDir, {recursive: true}));
  const clock = new VirtualClock();
  const options = {dataDir, nodes: 2, clock};
  const before = await aPlaneWithNodes(options);
  await run(before, {...asking({cpu: '20'}), behavior: '[{exitCode: 1}, {match: {containers: app}, runFor: 60s}]'});
  await run(before, {name: 'done', restartPolicy: 'Never'});
  await before
    .client()
    .resource(kinds.nodes)
    .patch('plat-node-1', 'merge', {metadata: {labels: {mine: 'yes'}}, spec: {unschedulable: true}});
  await clock.advance(10_000);
  const [node, pod] = [await before.client().resource(kinds.nodes).get('plat-node-1'), await podNamed(before)];
  await before.stop();

  await using plane = await aPlaneWithNodes(options);
  t.like(await plane.client().resource(kinds.nodes).get('plat-node-1'), {
    metadata: {uid: node.metadata?.uid, labels: {mine: 'yes'}},
    spec: {unschedulable: true},
  });
  t.deepEqual((await podNamed(plane)).status, pod.status);
  await run(plane, {name: 'second', ...asking({cpu: '20'})});
  await run(plane, {name: 'third'});
  await clock.advance(1_000);
  t.is((await podNamed(plane, 'second')).status?.reason, 'OutOfcpu');
  t.not((await podNamed(plane, 'third')).status?.podIP, pod.status?.podIP);
  t.is(describePod(await podNamed(plane, 'done')), 'Succeeded: app Completed(0)');

  await clock.advance(50_000);
  t.is(describePod(await podNamed(plane)), 'Running: app ready after 1');
});

test('a rule switches nodes off and on', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'plat-rules-'));
  t.teardown(() => rmSync(folder, {recursive: true}));
  const simulationFile = join(folder, 'rules.json');
  writeFileSync(simulationFile, JSON.stringify({nodes: [{names: '*-1', stopAfter: '1m', stopFor: '1m'}]}));
  await using plane = await aPlaneWithNodes({nodes: 2, simulationFile});
  const {clock, naming} = plane;
  const silent = async () => {
    const {items} = await plane.client().resource(kinds.leases).list({namespace: naming.nodeLeaseNamespace});
    return items.filter(({spec}) => clock.now() - Date.parse(spec?.renewTime ?? '') > 10_000).map(({metadata}) => metadata?.name);
  };

  await clock.advance(59_000);
  t.deepEqual(await silent(), []);
  await clock.advance(60_000);
  t.deepEqual(await silent(), ['plat-node-1']);
  await clock.advance(2_000);
  t.deepEqual(await silent(), []);
});
