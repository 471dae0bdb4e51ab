import test, {type ExecutionContext} from 'ava';
import {InformerFactory} from '#informers/factory.js';
import type {Attributes} from '#src/api/authorization.js';
import {kinds} from '#src/api/kinds/index.js';
import {naming} from '#src/api/naming.js';
import {noLog} from '#src/base/log.js';
import {seededRandom} from '#src/base/random.js';
import {noMeter} from '#src/base/meter.js';
import {nftablesMetrics, proxyMetrics} from '#src/proxy/metrics/proxy-metrics.js';
import {noHooks} from '#src/proxy/mode/hooks.js';
import {NftablesMode} from '#src/proxy/nftables/nftables-mode.js';
import {ProxyNode} from '#src/proxy/node/proxy-node.js';
import {resolveSettings, type RuleConfiguration} from '#src/proxy/node/rule-settings.js';
import {startProxy} from '#src/proxy/start.js';
import {recordingLog} from '#test/runtime/environment.js';
import {startServer} from '#test/fixtures/server.js';
import {FakeNft} from './fake-nft.js';
import {port, service, slice} from './objects.js';

const configuration: RuleConfiguration = {
  nodeName: 'n1',
  bindAddress: '0.0.0.0',
  masqueradeAll: false,
  masqueradeBit: 14,
  detectLocalMode: 'ClusterCIDR',
  clusterCidrs: ['10.244.0.0/16'],
  bridgeInterface: '',
  interfaceNamePrefix: '',
  nodePortAddresses: ['primary'],
  healthzBindAddress: '0.0.0.0:10256',
  metricsBindAddress: '127.0.0.1:10249',
};

/** A server with a Node, and a proxy that is not started. */
const world = (t: ExecutionContext, needsPodRanges = false) => {
  const refused = new Set<string>();
  const authorize = ({resource}: Attributes) => ({decision: refused.has(resource?.resource ?? '') ? 'deny' : 'allow'}) as const;
  const {clock, clientOf} = startServer({naming: naming('kubernetes'), authorizer: {authorize}});
  const client = clientOf();
  const life = new AbortController();
  t.teardown(() => life.abort());
  const common = {naming: naming('kubernetes'), clock, log: noLog, signal: life.signal};
  const informers = new InformerFactory({...common, client, random: seededRandom(1), meter: noMeter, minResyncMs: 0, freeze: true});
  const node = new ProxyNode({...common, informers, nodeName: 'n1', needsPodRanges});
  const kernel = new FakeNft();
  let ranges = 0;
  const start = async () => {
    informers.start();
    const opening = node.open();
    await clock.advance(400_000);
    await opening;
    const proxy = startProxy({
      ...common,
      informers,
      node,
      settings: resolveSettings(configuration, node, ['IPv4', 'IPv6'], noLog),
      periods: {minSyncPeriodMs: 1000, syncPeriodMs: 30_000},
      createMode: (family, settings) => new NftablesMode({family, settings, kernel, clock, log: noLog, metrics: nftablesMetrics(noMeter)}),
      hooks: noHooks,
      podRangesChanged: () => void ranges++,
      metrics: proxyMetrics(noMeter),
    });
    await clock.advance(2000);
    if (refused.size === 0) await proxy.synced;
    return proxy;
  };
  const createNode = () =>
    client.resource(kinds.nodes).create({
      metadata: {name: 'n1', labels: {'topology.kubernetes.io/zone': 'z1'}},
      spec: {podCIDRs: ['10.244.1.0/24'], podCIDR: '10.244.1.0/24'},
      status: {addresses: [{type: 'InternalIP', address: '192.168.0.2'}]},
    });
  return {client, clock, kernel, refused, node, start, createNode, rangesChanged: () => ranges};
};

const wanted = (namespace: string, name: string, more: object = {}) => {
  const made = service(`${namespace}/${name}`, {ports: [port()], ...more});
  return {metadata: {...made.metadata}, spec: {...made.spec}} as never;
};

test('the rules follow the services and slices of the server, without those of other proxies and headless ones', async t => {
  const {client, clock, kernel, start, createNode} = world(t);
  await createNode();
  const names = naming('kubernetes');
  await client.resource(kinds.namespaces).create({metadata: {name: 'ns'}});
  await client.resource(kinds.services).create(wanted('ns', 'one', {clusterIP: '10.0.0.41'}));
  await client.resource(kinds.services).create(wanted('ns', 'headless', {clusterIP: 'None'}));
  const other = service('ns/other', {clusterIP: '10.0.0.42'});
  await client.resource(kinds.services).create({
    metadata: {...other.metadata, labels: {[names.subKey('service', 'service-proxy-name')]: 'x'}},
    spec: {...other.spec},
  } as never);
  await client.resource(kinds.endpointSlices).create(slice('ns/one', ['10.244.1.5']) as never);
  const proxy = await start();
  const services = () => [...new Set(kernel.dump().flatMap(line => /add chain service-\w+-(\S+)\/tcp/.exec(line)?.[1] ?? []))];

  t.deepEqual(services(), ['ns/one']);
  t.deepEqual(
    kernel.dump('ip6 kube-proxy').filter(line => line.startsWith('add chain service-A')),
    [],
  );
  t.true(kernel.dump().some(line => line.includes('ip saddr != 10.244.0.0/16 jump mark-for-masquerade')));

  await client.resource(kinds.endpointSlices).create(slice('ns/one', ['10.244.1.6'], undefined, '2') as never);
  await clock.advance(2000);
  t.true(kernel.dump().some(line => line.includes('dnat to 10.244.1.6:80')));

  await client.resource(kinds.services).delete('one', {namespace: 'ns'});
  await clock.advance(2000);
  t.false(kernel.dump().some(line => line.includes('10.0.0.41')));
  await proxy.stop();
});

test('a server that refuses to list services for long is asked until it does not', async t => {
  const {clock, kernel, refused, start, createNode} = world(t);
  await createNode();
  refused.add('services');
  const proxy = await start();
  await clock.advance(300_000);
  t.is(kernel.scripts.length, 0);

  refused.clear();
  await clock.advance(120_000);
  await proxy.synced;
  t.is(kernel.tables.size, 2);
});

test('a node with other ranges of pods ends the proxy only if the rules depend on them', async t => {
  for (const needsPodRanges of [true, false]) {
    const {node, clock, client, createNode, start, rangesChanged} = world(t, needsPodRanges);
    await createNode();
    await start();
    t.deepEqual(node.podRanges, ['10.244.1.0/24']);
    await client.resource(kinds.nodes).delete('n1');
    await client.resource(kinds.nodes).create({metadata: {name: 'n1'}, spec: {podCIDRs: ['10.244.2.0/24'], podCIDR: '10.244.2.0/24'}});
    await clock.advance(2000);

    t.is(rangesChanged() > 0, needsPodRanges);
  }
});

test('a proxy whose rules need the ranges of pods does not start without them', async t => {
  for (const [hasNode, message] of [
    [true, 'timeout waiting for PodCIDR allocation on node "n1"'],
    [false, 'timeout waiting for node "n1" to exist'],
  ] as const) {
    const {client, start} = world(t, true);
    if (hasNode) await client.resource(kinds.nodes).create({metadata: {name: 'n1'}});
    await t.throwsAsync(start(), {message});
  }
});

const facts = {hostIps: ['192.168.0.2'], podRanges: []};
const both = ['IPv4', 'IPv6'] as const;

test('the primary addresses of the node take traffic to node ports', t => {
  const {rules} = resolveSettings(configuration, {hostIps: ['192.168.0.2', '2001:db8::2'], podRanges: []}, both, noLog);

  t.deepEqual(rules.nodePortAddresses, ['192.168.0.2/32', '2001:db8::2/128']);
  t.deepEqual(resolveSettings(configuration, {hostIps: [], podRanges: []}, both, noLog).rules.nodePortAddresses, []);
});

test('the bind address comes before the addresses of the Node, which come before the loopback', t => {
  const of = (bindAddress: string, hostIps: readonly string[]) =>
    resolveSettings({...configuration, bindAddress}, {hostIps, podRanges: []}, both, noLog);

  t.deepEqual(of('0.0.0.0', ['192.168.0.2']).rules.nodeIps, {IPv4: '192.168.0.2', IPv6: '::1'});
  t.deepEqual(of('10.1.1.1', ['192.168.0.2']).rules.nodeIps, {IPv4: '10.1.1.1', IPv6: '::1'});
  t.deepEqual(of('::', []).rules.nodeIps, {IPv4: '127.0.0.1', IPv6: '::1'});
  t.is(of('2001:db8::2', ['192.168.0.2']).primary, 'IPv6');
  t.is(of('0.0.0.0', ['2001:db8::2', '192.168.0.2']).primary, 'IPv6');
});

test('traffic of the node’s pods is told by the ranges of the cluster or the node, or by its interface', t => {
  const of = (given: Partial<RuleConfiguration>) =>
    resolveSettings({...configuration, ...given}, {...facts, podRanges: ['10.244.1.0/24', 'fd00::/64']}, both, noLog).rules.localDetection;

  t.deepEqual(of({}), {by: 'ranges', ranges: {IPv4: '10.244.0.0/16'}});
  t.deepEqual(of({detectLocalMode: 'NodeCIDR'}), {by: 'ranges', ranges: {IPv4: '10.244.1.0/24', IPv6: 'fd00::/64'}});
  t.deepEqual(of({detectLocalMode: 'BridgeInterface', bridgeInterface: 'cni0'}), {by: 'interface', name: 'cni0'});
  t.deepEqual(of({detectLocalMode: 'InterfaceNamePrefix', interfaceNamePrefix: 'veth'}), {by: 'interfacePrefix', prefix: 'veth'});
});

test('a node without the primary family, or with ranges of the other alone, has no proxy', t => {
  t.throws(() => resolveSettings(configuration, {hostIps: ['2001:db8::2'], podRanges: []}, ['IPv4'], noLog), {
    message: 'no support for primary IP family "IPv6"',
  });
  t.throws(() => resolveSettings({...configuration, clusterCidrs: ['fd00::/64']}, facts, ['IPv4'], noLog), {
    message: /is incorrect: cluster is IPv4-only but clusterCIDRs contains only IPv6 addresses$/,
  });
  t.throws(() => resolveSettings({...configuration, detectLocalMode: 'NodeCIDR'}, {...facts, podRanges: ['fd00::/64']}, both, noLog), {
    message: /is incorrect: cluster is IPv4-primary but node.spec.podCIDRs contains only IPv6 addresses$/,
  });
});

const advice: Readonly<Record<string, readonly [Partial<RuleConfiguration>, RegExp]>> = {
  'no ranges for node ports': [{nodePortAddresses: []}, /^nodePortAddresses is unset; .*--nodeport-addresses primary/],
  'ranges of one family on a cluster of both': [
    {nodePortAddresses: ['192.168.0.0/24'], clusterCidrs: ['10.244.0.0/16', 'fd00::/64']},
    /^cluster appears to be dual-stack but nodePortAddresses contains only IPv4 addresses; .* all local IPv6 IPs$/,
  ],
  'ranges of the other family alone': [
    {nodePortAddresses: ['fd00::/64']},
    /^cluster appears to be IPv4-primary but nodePortAddresses contains only IPv6 addresses; .* all local IPv4 IPs$/,
  ],
};

for (const [title, [given, expected]] of Object.entries(advice))
  test(`${title} are told of`, t => {
    const {log, fields} = recordingLog();
    resolveSettings({...configuration, ...given}, facts, both, log);

    t.true(fields.some(({err}) => expected.test((err as Error | undefined)?.message ?? '')));
  });
