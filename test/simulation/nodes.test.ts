import test from 'ava';
import {kinds} from '#src/api/kinds.js';
import {parseTime} from '#src/api/time.js';
import {aPlaneWithNodes, eventsAbout} from './world.js';

for (const naming of ['plat', 'kubernetes'] as const) {
  test(`a node of the ${naming} naming registers as a node's agent does, and is ready`, async t => {
    await using plane = await aPlaneWithNodes({naming});
    const {naming: words} = plane;
    const node = await plane.client().resource(kinds.nodes).get('plat-node-0');
    const agent = words.agent.charAt(0).toUpperCase() + words.agent.slice(1);

    t.like(node.metadata?.labels, {[words.labels.hostname]: 'plat-node-0', [words.labels.os]: 'linux', [words.labels.arch]: 'amd64'});
    t.deepEqual(node.status?.addresses, [{type: 'InternalIP', address: '10.245.0.1'}, {type: 'Hostname', address: 'plat-node-0'}]);
    t.deepEqual(node.status?.allocatable, node.status?.capacity);
    t.like(node.status?.capacity, {cpu: '32', memory: '256Gi', pods: '110', 'ephemeral-storage': '1Ti'});
    t.regex(node.status?.nodeInfo?.kubeletVersion ?? '', /^v1\.35\.\d/);
    t.deepEqual(node.status?.conditions?.map(({type, status, reason, message}) => [type, status, reason, message]), [
      ['MemoryPressure', 'False', `${agent}HasSufficientMemory`, `${words.agent} has sufficient memory available`],
      ['DiskPressure', 'False', `${agent}HasNoDiskPressure`, `${words.agent} has no disk pressure`],
      ['PIDPressure', 'False', `${agent}HasSufficientPID`, `${words.agent} has sufficient PID available`],
      ['Ready', 'True', `${agent}Ready`, `${words.agent} is posting ready status`],
    ]);
    t.deepEqual(await eventsAbout(plane, 'plat-node-0'), [
      `Starting: Starting ${words.agent}.`,
      'NodeHasSufficientMemory: Node plat-node-0 status is now: NodeHasSufficientMemory',
      'NodeHasNoDiskPressure: Node plat-node-0 status is now: NodeHasNoDiskPressure',
      'NodeHasSufficientPID: Node plat-node-0 status is now: NodeHasSufficientPID',
      'NodeAllocatableEnforced: Updated Node Allocatable limit across pods',
      'NodeReady: Node plat-node-0 status is now: NodeReady',
    ]);
  });
}

test('every node renews a lease of its own every ten seconds, each at its own moment, and tells its status every five minutes', async t => {
  await using plane = await aPlaneWithNodes({nodes: 3});
  const {clock, naming} = plane;
  const [leases, nodes] = [plane.client().resource(kinds.leases), plane.client().resource(kinds.nodes)];
  const renewals = async () => (await leases.list({namespace: naming.nodeLeaseNamespace})).items.map(({spec}) => Date.parse(spec?.renewTime ?? ''));
  const beat = async () => parseTime((await nodes.get('plat-node-0')).status?.conditions?.[0]?.lastHeartbeatTime) ?? 0;
  const {metadata} = await nodes.get('plat-node-1');
  t.like(await leases.get('plat-node-1', {namespace: naming.nodeLeaseNamespace}), {
    metadata: {ownerReferences: [{apiVersion: 'v1', kind: 'Node', name: 'plat-node-1', uid: metadata?.uid}]},
    spec: {holderIdentity: 'plat-node-1', leaseDurationSeconds: 40},
  });

  await clock.advance(60_000);
  const [told, at] = [await beat(), await renewals()];
  t.is(new Set(at).size, 3);
  for (const time of at) t.true(clock.now() - time <= 10_000);
  t.true(clock.now() - told >= 60_000);

  await clock.advance(300_000);
  t.true((await beat()) - told >= 300_000);
});

test('a node that is switched off falls silent, and comes back when it is switched on', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock, naming} = plane;
  const nodes = plane.client().resource(kinds.nodes);
  const leases = plane.client().resource(kinds.leases);
  const silenceMs = async () => clock.now() - Date.parse((await leases.get('plat-node-0', {namespace: naming.nodeLeaseNamespace})).spec?.renewTime ?? '');
  const state = naming.subKey('simulation', 'state');
  await nodes.patch('plat-node-0', 'merge', {metadata: {annotations: {[state]: 'stopped'}}});
  await clock.advance(60_000);
  t.true((await silenceMs()) >= 60_000);

  await nodes.patch('plat-node-0', 'merge', {metadata: {annotations: {[state]: null}}});
  await clock.advance(10_000);
  t.true((await silenceMs()) <= 10_000);
});
