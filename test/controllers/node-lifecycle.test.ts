import test from 'ava';
import {EvictionQueue} from '#controllers/node-lifecycle/eviction-queue.js';
import {observe, healthAfterWrite, type Health} from '#controllers/node-lifecycle/health.js';
import {schedulingChange} from '#controllers/node-lifecycle/taints.js';
import {rateOf, zoneHealth, zoneOf} from '#controllers/node-lifecycle/zones.js';
import {kinds} from '#src/api/kinds/index.js';
import {naming as namingOf} from '#src/api/naming.js';
import {wireMicroTime, wireTime} from '#src/api/time.js';
import type {Node} from '#src/api/types.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {conditionsOf, eventsOf, podNamed, run, type NodesPlane} from '#test/simulation/environment.js';
import {aPlane} from './plane.js';

const naming = namingOf('plat');
const second = 1000;

type Condition = NonNullable<NonNullable<Node['status']>['conditions']>[number];
const condition = (type: string, status: string, more: Partial<Condition> = {}): Condition => ({type, status, ...more});
const aNode = (conditions: Condition[] = [], more: Partial<Node> = {}): Node => ({
  metadata: {name: 'n', creationTimestamp: wireTime(0)},
  status: {conditions},
  ...more,
});

const rules = {unhealthyThreshold: 0.55, largeThreshold: 50, rate: 0.1, secondaryRate: 0.01};
const readies = (up: number, down: number) => [
  ...Array.from({length: up}, () => condition('Ready', 'True')),
  ...Array.from({length: down}, () => condition('Ready', 'False')),
];

for (const [up, down, state] of [
  [3, 0, 'Normal'],
  [0, 1, 'FullDisruption'],
  [0, 5, 'FullDisruption'],
  [1, 2, 'Normal'],
  [1, 3, 'PartialDisruption'],
  [9, 11, 'PartialDisruption'],
  [10, 12, 'Normal'],
] as const) {
  test(`a zone with ${up} nodes up and ${down} down is in the state ${state}`, t =>
    t.like(zoneHealth(readies(up, down), rules), {state, size: up + down, unhealthy: down}));
}

test('a node that posts no status counts as unhealthy', t => t.is(zoneHealth([undefined], rules).state, 'FullDisruption'));

for (const [state, size, rate] of [
  ['Normal', 100, 0.1],
  ['FullDisruption', 3, 0.1],
  ['PartialDisruption', 50, 0],
  ['PartialDisruption', 51, 0.01],
] as const) {
  test(`${rate} nodes a second are given up in a zone of ${size} in the state ${state}`, t => t.is(rateOf(state, size, rules), rate));
}

for (const [labels, zone] of [
  [{}, ''],
  [{'topology.plat.io/region': 'r', 'topology.plat.io/zone': 'z'}, 'r:\0:z'],
  [{'failure-domain.beta.plat.io/region': 'r', 'topology.plat.io/zone': 'z'}, 'r:\0:z'],
  [{'topology.plat.io/zone': 'z'}, ':\0:z'],
] as const) {
  test(`the zone of a node labelled ${JSON.stringify(labels)}`, t => t.is(zoneOf(naming, {metadata: {labels}}), zone));
}

const key = (name: string) => `node.plat.io/${name}`;
for (const [title, node, add, remove] of [
  ['is not ready', aNode([condition('Ready', 'False')]), ['not-ready'], []],
  [
    'is unknown',
    aNode([condition('Ready', 'Unknown')], {spec: {taints: [{key: key('not-ready'), effect: 'NoSchedule'}]}}),
    ['unreachable'],
    ['not-ready'],
  ],
  [
    'is ready',
    aNode([condition('Ready', 'True')], {
      spec: {
        taints: [
          {key: key('not-ready'), effect: 'NoSchedule'},
          {key: key('not-ready'), effect: 'NoExecute'},
          {key: 'own', effect: 'NoSchedule'},
        ],
      },
    }),
    [],
    ['not-ready'],
  ],
  [
    'lacks everything',
    aNode(['MemoryPressure', 'DiskPressure', 'PIDPressure', 'NetworkUnavailable'].map(type => condition(type, 'True'))),
    ['memory-pressure', 'disk-pressure', 'pid-pressure', 'network-unavailable'],
    [],
  ],
  ['is cordoned', aNode([condition('MemoryPressure', 'Unknown')], {spec: {unschedulable: true}}), ['unschedulable'], []],
  ['has no conditions', aNode([], {spec: {taints: [{key: key('unschedulable'), effect: 'NoSchedule'}]}}), [], ['unschedulable']],
] as const) {
  test(`a node that ${title} gets the taints for it`, t => {
    const change = schedulingChange(naming, node);

    t.deepEqual(
      change.add?.map(taint => taint.key),
      add.map(key),
    );
    t.deepEqual(
      change.remove?.map(taint => taint.key),
      remove.map(key),
    );
  });
}

const grace = {monitorMs: 50 * second, startupMs: 60 * second};
const at = (now: number, node: Node, before?: Health, renewTime?: number) =>
  observe(
    {naming, grace, now: now * second},
    node,
    renewTime === undefined ? undefined : {spec: {renewTime: wireMicroTime(renewTime * second)}},
    before,
  );
const beats = (second_: number, status = 'True', turned = 0) =>
  condition('Ready', status, {lastHeartbeatTime: wireTime(second_ * second), lastTransitionTime: wireTime(turned * second)});

test('a node without any status gets its startup grace period, and is then unknown', t => {
  const node = aNode();
  const early = at(60, node);
  t.deepEqual([early.current, early.conditions], [undefined, undefined]);
  const late = at(61, node, early.health);

  t.like(late.observed, {status: 'Unknown', lastTransitionTime: wireTime(0)});
  t.deepEqual(
    late.conditions?.map(({type, status, reason, message, lastHeartbeatTime, lastTransitionTime}) => [
      type,
      status,
      reason,
      message,
      lastHeartbeatTime,
      lastTransitionTime,
    ]),
    ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'].map(type => [
      type,
      'Unknown',
      'NodeStatusNeverUpdated',
      'Platlet never posted node status.',
      wireTime(0),
      wireTime(61 * second),
    ]),
  );
});

test('a node that falls silent is unknown after the grace, counted by the own clock', t => {
  const node = aNode([beats(5), condition('DiskPressure', 'False'), condition('NetworkUnavailable', 'False')]);
  const first = at(1000, node).health;
  t.is(at(1050, node, first).conditions, undefined);
  const sight = at(1051, node, first);

  t.is(sight.observed.status, 'True');
  t.like(sight.current, {
    status: 'Unknown',
    reason: 'NodeStatusUnknown',
    message: 'Platlet stopped posting node status.',
    lastHeartbeatTime: wireTime(5 * second),
    lastTransitionTime: wireTime(1051 * second),
  });
  t.deepEqual(
    sight.conditions?.map(({type, status}) => `${type} ${status}`),
    ['Ready Unknown', 'DiskPressure Unknown', 'NetworkUnavailable False', 'MemoryPressure Unknown', 'PIDPressure Unknown'],
  );
  t.is(healthAfterWrite(sight, 1051 * second).transitionedAt, 1051 * second);
});

test('a node that is unknown already is not written again', t =>
  t.is(at(2000, aNode([beats(5, 'Unknown')]), at(1000, aNode([beats(5, 'Unknown')])).health).conditions, undefined));

test('a lease that is renewed keeps a node alive though its status is old, one that is not does not', t => {
  const node = aNode([beats(5)]);
  const first = at(1000, node, undefined, 1).health;
  const second_ = at(1040, node, first, 2).health;

  t.is(second_.probedAt, 1040 * second);
  t.is(at(1080, node, second_, 2).conditions, undefined);
  t.truthy(at(1091, node, second_, 2).conditions);
});

for (const [title, before, after, probed, turned] of [
  ['a beat is a sign of life', beats(5), beats(6), 1010, 1000],
  ['a turn with a beat is a turn', beats(5), beats(6, 'False', 6), 1010, 1010],
  ['a turn without a beat is no sign of life', beats(5), beats(5, 'False', 6), 1000, 1000],
] as const) {
  test(title, t => {
    const {health} = at(1010, aNode([after]), at(1000, aNode([before])).health);

    t.deepEqual([health.probedAt, health.transitionedAt], [probed * second, turned * second]);
  });
}

test('a first word, and falling back to none, count as signs of life', t => {
  const none = at(10, aNode()).health;
  const first = at(20, aNode([beats(5)]), none).health;
  const gone = at(30, aNode(), first).health;

  t.deepEqual([none.probedAt, first.probedAt, gone.probedAt], [0, 20 * second, 30 * second]);
});

test('nodes are given up one after the other, no faster than the rate, and each once', async t => {
  const clock = new VirtualClock();
  const queue = new EvictionQueue(clock, 0.1);
  const done: string[] = [];
  const work = (answer?: number) => queue.process(async node => (done.push(node), answer));
  for (const node of ['a', 'b', 'c']) queue.add(node);
  t.false(queue.add('a'));
  await work();
  await work();
  t.deepEqual(done, ['a']);
  t.false(queue.add('a'));
  await clock.advance(10_000);
  await work(50);
  t.deepEqual(done, ['a', 'b']);
  queue.remove('c');
  await clock.advance(10_000);
  await work();

  t.deepEqual(done, ['a', 'b', 'b']);
  t.false(queue.isBusy);
});

test('a queue whose rate is changed gives no more than before, and none at 0', async t => {
  const clock = new VirtualClock();
  const queue = new EvictionQueue(clock, 0.1);
  const done: string[] = [];
  const work = () => queue.process(async node => (done.push(node), undefined));
  for (const node of ['a', 'b', 'c']) queue.add(node);
  await work();
  queue.setRate(0.01);
  await work();
  t.deepEqual(done, ['a']);
  queue.setRate(0);
  t.false(queue.isBusy);
  await clock.advance(1_000_000);
  await work();
  t.deepEqual(done, ['a']);
  queue.setRate(0.1);
  await clock.advance(10_000);
  await work();

  t.deepEqual(done, ['a', 'b']);
});

const controllers = ['node-lifecycle-controller', 'serviceaccount-controller'];
const startEnvironment = (nodes: number, ...args: string[]) => aPlane({nodes, controllers, controllerManagerArgs: args});
const nodesOf = (plane: NodesPlane) => plane.client().resource(kinds.nodes);
const node = (plane: NodesPlane, name = 'plat-node-0') => nodesOf(plane).get(name);
const stateKey = naming.subKey('simulation', 'state');
const switchTo = (plane: NodesPlane, state: string | null, name = 'plat-node-0') =>
  nodesOf(plane).patch(name, 'merge', {metadata: {annotations: {[stateKey]: state}}});
const taintsOf = async (plane: NodesPlane, name = 'plat-node-0') =>
  ((await node(plane, name)).spec?.taints ?? []).map(({key: taint, effect}) => `${taint.split('/')[1]}:${effect}`).sort();
const readyOf = async (plane: NodesPlane, name = 'plat-node-0') =>
  (await node(plane, name)).status?.conditions?.find(({type}) => type === 'Ready');

test('a node without heartbeats becomes unknown and tainted and its pods not ready, until heartbeats resume', async t => {
  await using plane = await startEnvironment(3);
  const {clock} = plane;
  await clock.advance(10_000);
  t.deepEqual(await taintsOf(plane), []);
  t.true(
    (await eventsOf(plane, 'plat-node-0')).includes('RegisteredNode: Node plat-node-0 event: Registered Node plat-node-0 in Controller'),
  );
  await run(plane);
  await clock.advance(5_000);
  t.is(conditionsOf(await podNamed(plane))['Ready'], 'True');
  await switchTo(plane, 'stopped');
  await clock.advance(45_000);
  t.is((await readyOf(plane))?.status, 'True');
  await clock.advance(20_000);
  t.like(await readyOf(plane), {status: 'Unknown', reason: 'NodeStatusUnknown', message: 'Platlet stopped posting node status.'});
  t.is(conditionsOf(await podNamed(plane))['Ready'], 'False');
  t.deepEqual(await taintsOf(plane), ['unreachable:NoExecute', 'unreachable:NoSchedule']);
  t.true((await eventsOf(plane, 'plat-node-0')).includes('NodeNotReady: Node plat-node-0 status is now: NodeNotReady'));
  t.true((await eventsOf(plane, 'pod')).includes('NodeNotReady: Node is not ready'));
  const {items} = await plane.client().resource(kinds.coreEvents).list({namespace: 'default'});
  const reported = items.find(({source}) => source?.component === 'node-controller');
  t.like(reported?.involvedObject, {kind: 'Node', apiVersion: 'v1'});

  await run(plane, {name: 'late'});
  await clock.advance(1_000);
  await switchTo(plane, 'not-ready');
  await clock.advance(20_000);
  t.deepEqual(await taintsOf(plane), ['not-ready:NoExecute', 'not-ready:NoSchedule']);
  await switchTo(plane, null);
  await clock.advance(10_000);
  t.deepEqual(await taintsOf(plane), []);
  t.is(conditionsOf(await podNamed(plane))['Ready'], 'True');
});

test('the taint that evicts pods is set in the same pass that marks a node unknown', async t => {
  await using plane = await startEnvironment(2);
  const {clock} = plane;
  await clock.advance(10_000);
  await switchTo(plane, 'stopped');
  while ((await readyOf(plane))?.status === 'True') await clock.advance(1_000);
  // Nodes are taken from the queue every 100 ms; the next look is five seconds away.
  await clock.advance(200);

  t.true((await taintsOf(plane)).includes('unreachable:NoExecute'));
});

test('a node that never posts a status is unknown after the startup grace period', async t => {
  await using plane = await startEnvironment(1, '--node-startup-grace-period=20s');
  const {clock} = plane;
  await nodesOf(plane).create({metadata: {name: 'mute', labels: {'plat.io/os': 'linux', 'beta.plat.io/os': 'x', 'plat.io/arch': 'arm64'}}});
  await clock.advance(20_000);
  t.is(await readyOf(plane, 'mute'), undefined);
  await clock.advance(10_000);

  t.like(await readyOf(plane, 'mute'), {status: 'Unknown', reason: 'NodeStatusNeverUpdated'});
  t.like((await node(plane, 'mute')).metadata?.labels, {'beta.plat.io/os': 'linux', 'beta.plat.io/arch': 'arm64'});
  await clock.advance(10_000);
  t.deepEqual(await taintsOf(plane, 'mute'), ['unreachable:NoExecute', 'unreachable:NoSchedule']);
  await nodesOf(plane).delete('mute');
  await clock.advance(10_000);
  t.true((await eventsOf(plane, 'mute')).includes('RemovingNode: Node mute event: Removing Node mute from Controller'));
});

test('where all nodes fall silent none is given up, and each gets its full time again when the first is back', async t => {
  await using plane = await startEnvironment(2);
  const {clock} = plane;
  await clock.advance(10_000);
  for (const name of ['plat-node-0', 'plat-node-1']) await switchTo(plane, 'stopped', name);
  await clock.advance(120_000);
  t.deepEqual([await taintsOf(plane), await taintsOf(plane, 'plat-node-1')], [['unreachable:NoSchedule'], ['unreachable:NoSchedule']]);
  await switchTo(plane, null, 'plat-node-1');
  await clock.advance(20_000);

  t.deepEqual([await taintsOf(plane), await taintsOf(plane, 'plat-node-1')], [['unreachable:NoExecute', 'unreachable:NoSchedule'], []]);
});

test('in a small zone that is half down no node is given up, and in another one at a time', async t => {
  await using plane = await startEnvironment(6);
  const {clock} = plane;
  const names = Array.from({length: 6}, (_, index) => `plat-node-${index}`);
  for (const [index, name] of names.entries())
    await nodesOf(plane).patch(name, 'merge', {metadata: {labels: {'topology.plat.io/zone': index < 4 ? 'a' : 'b'}}});
  await clock.advance(10_000);
  for (const name of ['plat-node-0', 'plat-node-1', 'plat-node-2', 'plat-node-4']) await switchTo(plane, 'stopped', name);
  await clock.advance(70_000);
  const given = async () =>
    (await Promise.all(names.map(async name => [name, await taintsOf(plane, name)] as const)))
      .filter(([, taints]) => taints.includes('unreachable:NoExecute'))
      .map(([name]) => name);
  const before = await given();
  t.true(before.includes('plat-node-4'));
  t.true(before.length <= 2);
  await clock.advance(120_000);
  t.deepEqual(await given(), before);
  // Nodes that are not counted do not affect the zone.
  await nodesOf(plane).patch('plat-node-0', 'merge', {metadata: {labels: {[key('exclude-disruption')]: ''}}});
  await clock.advance(60_000);

  t.deepEqual(await given(), ['plat-node-0', 'plat-node-1', 'plat-node-2', 'plat-node-4']);
});

test('a cordoned node and one under pressure take no pods', async t => {
  await using plane = await startEnvironment(1);
  await nodesOf(plane).patch('plat-node-0', 'merge', {
    spec: {unschedulable: true},
    metadata: {annotations: {[naming.subKey('simulation', 'pressure')]: 'DiskPressure'}},
  });
  await plane.clock.advance(1_000);
  t.deepEqual(await taintsOf(plane), ['disk-pressure:NoSchedule', 'unschedulable:NoSchedule']);
  await nodesOf(plane).patch('plat-node-0', 'merge', {spec: {unschedulable: null}});
  await plane.clock.advance(1_000);

  t.deepEqual(await taintsOf(plane), ['disk-pressure:NoSchedule']);
});

test('taints are set on nodes that others change at the same time', async t => {
  await using plane = await aPlane({controllers: ['node-lifecycle-controller', 'node-ipam-controller']});
  const nodes = plane.client().resource(kinds.nodes);
  await Promise.all(Array.from({length: 20}, (_, index) => nodes.create({metadata: {name: `n${index}`}, spec: {unschedulable: true}})));
  await plane.clock.advance(1_000);

  for (const {spec} of (await nodes.list()).items)
    t.deepEqual([spec?.podCIDRs?.length, spec?.taints?.map(taint => taint.key)], [1, [key('unschedulable')]]);
});
