import anyTest, {type TestFn} from 'ava';
import {existsSync} from 'node:fs';
import {naming} from '#src/api/naming.js';
import {systemClock} from '#src/base/clock.js';
import {noLog} from '#src/base/log.js';
import {noMeter} from '#src/base/meter.js';
import {cleanFlows} from '#src/proxy/conntrack/clean-flows.js';
import {Iptables} from '#src/proxy/iptables/iptables.js';
import {IptablesMode} from '#src/proxy/iptables/iptables-mode.js';
import {iptablesMetrics} from '#src/proxy/iptables/metrics.js';
import {noCounters} from '#src/proxy/iptables/packet-counters.js';
import {removeIptables} from '#src/proxy/iptables/remove-iptables.js';
import {proxyMetrics} from '#src/proxy/metrics/proxy-metrics.js';
import {noHooks} from '#src/proxy/mode/hooks.js';
import type {EndpointSlice} from '#src/proxy/state/endpoint.js';
import type {Service} from '#src/proxy/state/service-port.js';
import {Proxier} from '#src/proxy/sync/proxier.js';
import {local, nodeName, service, slice} from '#test/proxy/objects.js';
import {deniedIp, ipOf, kernelMissing, nodeIps, World, type Party, type Question} from './world.js';

interface Context {
  readonly world: World;
  readonly proxiers: readonly Proxier[];
}

const hasIptables = ['/usr/sbin', '/sbin', '/usr/bin'].some(folder => existsSync(`${folder}/iptables-restore`));
const missing =
  kernelMissing ?? (hasIptables ? undefined : 'rules of iptables need what is not installed (Debian: apt-get install iptables)');
const test = (missing === undefined ? anyTest : anyTest.skip) as TestFn<Context>;
if (missing !== undefined) anyTest(`rules of iptables are not tried: ${missing}`, t => t.pass());

const ports = (nodePort: number) => [
  {name: 'tcp', port: 80, protocol: 'TCP', nodePort},
  {name: 'udp', port: 80, protocol: 'UDP', nodePort},
];
const both = [
  {name: 'tcp', port: 8080},
  {name: 'udp', port: 8080, protocol: 'UDP'},
];
const pod1 = local(ipOf('pod1'));
const pod2 = local(ipOf('pod2'));
const remote = {addresses: [ipOf('remote')], nodeName: 'other'};
const draining = {conditions: {ready: false, serving: true, terminating: true}};

/** A service of ports 80 of TCP and UDP with a cluster IP and a node port, both by its number. */
const numbered = (number: number, spec: Partial<NonNullable<Service['spec']>> = {}, balancers: readonly string[] = []): Service =>
  service(`ns/s${number}`, {type: 'LoadBalancer', clusterIP: `172.30.0.${number}`, ports: ports(30_000 + number), ...spec}, balancers);

const services: readonly Service[] = [
  numbered(1, {externalIPs: ['192.168.99.1']}, ['1.2.3.1']),
  numbered(2, {externalTrafficPolicy: 'Local'}, ['1.2.3.2']),
  numbered(3, {externalTrafficPolicy: 'Local'}, ['1.2.3.3']),
  numbered(4, {internalTrafficPolicy: 'Local'}),
  numbered(5, {internalTrafficPolicy: 'Local'}),
  numbered(6, {externalIPs: ['192.168.99.6']}, ['1.2.3.6']),
  numbered(7),
  numbered(9, {loadBalancerSourceRanges: ['192.168.0.0/28']}, ['1.2.3.9']),
  numbered(10, {sessionAffinity: 'ClientIP', sessionAffinityConfig: {clientIP: {timeoutSeconds: 600}}}),
  service('ns/dual', {type: 'NodePort', clusterIP: 'fd00:10:96::20', ports: ports(30_020)}),
];
const slices: readonly EndpointSlice[] = [
  slice('ns/s1', [pod1], both),
  slice('ns/s2', [pod1, remote], both),
  slice('ns/s3', [remote], both),
  slice('ns/s4', [pod1, remote], both),
  slice('ns/s5', [remote], both),
  slice('ns/s7', [{...pod1, ...draining}], both),
  slice('ns/s9', [pod1], both),
  slice('ns/s10', [pod1, pod2], both),
  slice('ns/dual', [local(ipOf('pod1', 'IPv6'))], both),
];

const proxierOf = (world: World, family: 'IPv4' | 'IPv6'): Proxier => {
  const metrics = proxyMetrics(noMeter);
  const mode = new IptablesMode({
    iptables: new Iptables(family, world.kernel),
    settings: {
      nodeName,
      nodeIps,
      masqueradeAll: false,
      masqueradeBit: 14,
      localDetection: {by: 'ranges', ranges: {IPv4: '10.180.0.0/15', IPv6: 'fd00:10::/64'}},
      nodePortAddresses: [],
    },
    base: {hasRandomFully: true, localhostNodePorts: false, conntrackTcpLiberal: false},
    addresses: () => world.kernel.addresses(),
    syncPeriodMs: 30_000,
    clock: systemClock,
    log: noLog,
    counters: noCounters,
    metrics: iptablesMetrics(noMeter, naming('kubernetes')),
  });
  return new Proxier({
    mode,
    nodeName,
    periods: {minSyncPeriodMs: 10, syncPeriodMs: 30_000},
    hooks: {
      ...noHooks,
      cleanFlows: (of, state) => cleanFlows({kernel: world.kernel, clock: systemClock, log: noLog, metrics}, of, state),
    },
    naming: naming('kubernetes'),
    clock: systemClock,
    log: noLog,
    metrics,
  });
};

test.before(async t => {
  const world = await World.create();
  for (const party of ['pod1', 'pod2', 'remote'] as const) await world.serve(party, 8080);
  const proxiers = (['IPv4', 'IPv6'] as const).map(family => proxierOf(world, family));
  for (const proxier of proxiers) {
    for (const each of services) proxier.serviceChanged(undefined, each);
    for (const each of slices) proxier.sliceChanged(each, false);
    proxier.start();
    proxier.known('services');
    proxier.known('endpointSlices');
    await proxier.synced;
  }
  (t as {context: Context}).context = {world, proxiers};
});

test.after.always(async t => {
  for (const proxier of t.context.proxiers ?? []) await proxier.stop();
  await t.context.world?.end();
});

const gateway = '10.180.0.1';

interface Case {
  readonly title: string;
  readonly from: Party;
  readonly to: string;
  readonly port?: number;
  readonly ask?: Partial<Question>;
  readonly answer: string;
}

const cases: readonly Case[] = [
  {title: 'a pod reaches a cluster IP by its own address', from: 'pod2', to: '172.30.0.1', answer: `pod1 ${ipOf('pod2')}`},
  {title: 'the node reaches a cluster IP', from: 'node', to: '172.30.0.1', answer: `pod1 ${gateway}`},
  {title: 'a client outside reaches a cluster IP, masqueraded', from: 'client', to: '172.30.0.1', answer: `pod1 ${gateway}`},
  {title: 'a pod reaches itself by its service, masqueraded', from: 'pod1', to: '172.30.0.1', answer: `pod1 ${gateway}`},
  {title: 'a client reaches a node port, masqueraded', from: 'client', to: nodeIps.IPv4, port: 30_001, answer: `pod1 ${gateway}`},
  {title: 'a client reaches an external IP', from: 'client', to: '192.168.99.1', answer: `pod1 ${gateway}`},
  {title: 'a client reaches a load balancer', from: 'client', to: '1.2.3.1', answer: `pod1 ${gateway}`},
  {title: 'the policy Local keeps the address of a client', from: 'client', to: '1.2.3.2', answer: `pod1 ${ipOf('client')}`},
  {title: 'the policy Local drops clients without endpoints here', from: 'client', to: '1.2.3.3', answer: 'TIMEOUT'},
  {
    title: 'a pod reaches a load balancer though its endpoints are elsewhere',
    from: 'pod1',
    to: '1.2.3.3',
    answer: `remote ${ipOf('pod1')}`,
  },
  {title: 'the internal policy Local stays on the node', from: 'pod2', to: '172.30.0.4', answer: `pod1 ${ipOf('pod2')}`},
  {title: 'the internal policy Local drops without endpoints here', from: 'pod2', to: '172.30.0.5', answer: 'TIMEOUT'},
  {title: 'a service without endpoints refuses', from: 'pod1', to: '172.30.0.6', answer: 'ECONNREFUSED'},
  {title: 'a load balancer without endpoints refuses', from: 'client', to: '1.2.3.6', answer: 'ECONNREFUSED'},
  {title: 'a node port without endpoints refuses', from: 'client', to: nodeIps.IPv4, port: 30_006, answer: 'ECONNREFUSED'},
  {title: 'an endpoint that terminates serves as the last', from: 'pod2', to: '172.30.0.7', answer: `pod1 ${ipOf('pod2')}`},
  {title: 'a client in the source ranges reaches a load balancer', from: 'client', to: '1.2.3.9', answer: `pod1 ${gateway}`},
  {title: 'a client outside of the source ranges does not', from: 'client', to: '1.2.3.9', ask: {from: deniedIp}, answer: 'TIMEOUT'},
  {title: 'UDP reaches a cluster IP', from: 'pod2', to: '172.30.0.1', ask: {protocol: 'udp'}, answer: `pod1 ${ipOf('pod2')}`},
  {title: 'IPv6 reaches a cluster IP', from: 'pod2', to: 'fd00:10:96::20', answer: `pod1 ${ipOf('pod2', 'IPv6')}`},
];

for (const {title, from, to, port = 80, ask = {}, answer} of cases)
  test.serial(`${title} with iptables`, async t => {
    t.is((await t.context.world.ask(from, {ip: to, port, ...ask})).answer, answer);
  });

test.serial('clients keep their endpoint with iptables', async t => {
  const answers = new Set<string>();
  for (let times = 0; times < 10; times++) answers.add((await t.context.world.ask('client', {ip: '172.30.0.10', port: 80})).answer);

  t.is(answers.size, 1);
});

test.serial('flows of UDP move to the new endpoint with iptables, and a cleanup leaves nothing', async t => {
  const {world, proxiers} = t.context;
  const ask = async () => (await world.ask('client', {ip: nodeIps.IPv4, port: 30_007, protocol: 'udp', from: ipOf('client')})).answer;
  t.is(await ask(), `pod1 ${gateway}`);
  const moved = slice('ns/s7', [pod2], both);
  for (const proxier of proxiers) proxier.sliceChanged(moved, false);
  const deadline = Date.now() + 10_000;
  while ((await ask()) !== `pod2 ${gateway}` && Date.now() < deadline);

  t.is(await ask(), `pod2 ${gateway}`);
  for (const proxier of proxiers) await proxier.stop();
  t.false(await removeIptables(world.kernel, noLog));
  for (const program of ['iptables-save', 'ip6tables-save']) {
    const {stdout} = await world.kernel.run({program, args: []});
    t.false(/KUBE-(?!FIREWALL)/.test(stdout), stdout);
  }
});
