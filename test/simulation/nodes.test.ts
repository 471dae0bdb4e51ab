import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {parseTime} from '#src/api/time.js';
import type {KubeObject} from '#src/api/types.js';
import {seededRandom} from '#src/base/random.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {aPlaneWithNodes, eventsOf, podNamed, podsOf, run, describePod} from './environment.js';
import {asking} from './requesting-pods.js';

for (const naming of ['plat', 'kubernetes'] as const) {
  test(`a node of the ${naming} naming registers as a node's agent does, and is ready`, async t => {
    await using plane = await aPlaneWithNodes({naming});
    const {naming: words} = plane;
    const node = await plane.client().resource(kinds.nodes).get('plat-node-0');
    const agent = words.agent.charAt(0).toUpperCase() + words.agent.slice(1);

    t.deepEqual(node.metadata?.labels, {
      [words.labels.hostname]: 'plat-node-0',
      ...Object.fromEntries([words.labels.os, words.subKey('beta', 'os')].map(key => [key, 'linux'])),
      ...Object.fromEntries([words.labels.arch, words.subKey('beta', 'arch')].map(key => [key, 'amd64'])),
    });
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

test('a node with little memory evicts one pod after the other, as a real one does, until there is enough again', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock, naming} = plane;
  const nodes = plane.client().resource(kinds.nodes);
  const containers = [{name: 'app', image: 'nginx', resources: {requests: {memory: '100Mi'}}}];
  await run(plane, {name: 'greedy', containers, behavior: '{usage: {memory: 300Mi}}'});
  await run(plane, {name: 'modest', containers, behavior: '{usage: {memory: 200Mi}}'});
  await run(plane, {name: 'critical', priorityClassName: 'system-node-critical', behavior: '{usage: {memory: 900Mi}}'});
  await clock.advance(5_000);
  const instruct = async (pressure: string | null) => {
    await nodes.patch('plat-node-0', 'merge', {metadata: {annotations: {[naming.subKey('simulation', 'pressure')]: pressure}}});
    await clock.drain();
  };
  const isPressed = async () => (await nodes.get('plat-node-0')).status?.conditions?.find(({type}) => type === 'MemoryPressure')?.status;
  await instruct('memory');
  t.is(await isPressed(), 'True');
  await clock.advance(500);
  t.is((await podNamed(plane, 'modest')).status?.phase, 'Running');
  await clock.advance(30_000);

  const {status} = await podNamed(plane, 'greedy');
  const message =
    'The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. Container app was using 300Mi, request is 100Mi, has larger consumption of memory. ';
  t.like(status, {phase: 'Failed', reason: 'Evicted', message});
  t.like(
    status?.conditions?.find(({type}) => type === 'DisruptionTarget'),
    {reason: 'TerminationByPlatlet', message},
  );
  t.is((await podNamed(plane, 'modest')).status?.reason, 'Evicted');
  t.is((await podNamed(plane, 'critical')).status?.phase, 'Running');
  t.true((await eventsOf(plane, 'greedy')).includes(`Evicted: ${message}`));
  t.true((await eventsOf(plane, 'plat-node-0')).includes('EvictionThresholdMet: Attempting to reclaim memory'));
  await run(plane, {name: 'late'});
  await clock.drain();
  t.is((await podNamed(plane, 'late')).status?.reason, 'Evicted');

  await instruct(null);
  t.is(await isPressed(), 'True');
  await clock.advance(320_000);
  t.is(await isPressed(), 'False');
});

test('a node that shuts down ends its pods by priority, says so, and takes no others', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock, naming} = plane;
  const nodes = plane.client().resource(kinds.nodes);
  await run(plane, {name: 'plain', terminationGracePeriodSeconds: 60, behavior: '{stopAfter: 12s}'});
  await run(plane, {name: 'critical', priorityClassName: 'system-node-critical', behavior: '{stopAfter: 1s}'});
  await clock.advance(5_000);
  const instruct = async (shutdown: string | null) => {
    await nodes.patch('plat-node-0', 'merge', {metadata: {annotations: {[naming.subKey('simulation', 'shutdown')]: shutdown}}});
    await clock.drain();
  };
  const ready = async () => (await nodes.get('plat-node-0')).status?.conditions?.find(({type}) => type === 'Ready');

  await instruct('30s/10s');
  t.like(await ready(), {status: 'False', message: 'node is shutting down'});
  await clock.advance(8_000);
  t.is((await podNamed(plane, 'critical')).status?.phase, 'Running');
  await clock.advance(20_000);
  const message = 'Pod was terminated in response to imminent node shutdown.';
  for (const name of ['plain', 'critical']) {
    const {status} = await podNamed(plane, name);
    t.like(status, {phase: 'Failed', reason: 'Terminated', message}, name);
    t.like(
      status?.conditions?.find(({type}) => type === 'DisruptionTarget'),
      {reason: 'TerminationByPlatlet', message},
    );
  }
  await run(plane, {name: 'late', tolerations: [{operator: 'Exists'}]});
  await clock.drain();
  t.like((await podNamed(plane, 'late')).status, {phase: 'Failed', reason: 'NodeShutdown'});

  await instruct(null);
  t.is((await ready())?.status, 'True');
  const told = (await eventsOf(plane, 'plat-node-0')).filter(event => event.startsWith('NodeShutdown'));
  t.deepEqual(told, [
    'NodeShutdown: Shutdown manager detected shutdown event',
    'NodeShutdown: Shutdown manager detected shutdown cancellation',
  ]);
});

test('a node with little disk or few processes left says so', async t => {
  await using plane = await aPlaneWithNodes();
  const nodes = plane.client().resource(kinds.nodes);
  await run(plane, {name: 'pod'});
  await plane.clock.advance(5_000);
  const annotations = {[plane.naming.subKey('simulation', 'pressure')]: 'disk, pid'};
  await nodes.patch('plat-node-0', 'merge', {metadata: {annotations}});
  await plane.clock.advance(5_000);
  const pressed = (await nodes.get('plat-node-0')).status?.conditions?.filter(({type, status}) => type !== 'Ready' && status === 'True');
  t.deepEqual(pressed?.map(({type}) => type).sort(), ['DiskPressure', 'PIDPressure']);
  t.regex(
    (await podNamed(plane, 'pod')).status?.message ?? '',
    /^The node was low on resource: ephemeral-storage\. Threshold quantity: \S+, available: \S+\. $/,
  );
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
