import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
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
import {asking} from './requesting-pods.js';

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

test('a node refuses pods for the reasons of a real one', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock} = plane;
  await run(plane, {name: 'kernel', securityContext: {sysctls: [{name: 'net.core.somaxconn', value: '1'}]}});
  await clock.advance(1_000);
  t.like((await podNamed(plane, 'kernel')).status, {
    phase: 'Failed',
    reason: 'SysctlForbidden',
    message: 'Pod was rejected: forbidden sysctl: "net.core.somaxconn" not allowlisted',
  });
  await plane
    .client()
    .resource(kinds.nodes)
    .patch('plat-node-0', 'merge', {metadata: {annotations: {'simulation.plat.io/pressure': 'DiskPressure'}}});
  await clock.advance(1_000);
  await run(plane, {name: 'late'});
  await clock.advance(1_000);
  t.like((await podNamed(plane, 'late')).status, {
    phase: 'Failed',
    reason: 'Evicted',
    message: 'Pod was rejected: The node had condition: [DiskPressure]. ',
  });
});
