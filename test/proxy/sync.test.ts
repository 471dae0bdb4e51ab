import test from 'ava';
import {MetricsRegistry} from '#src/observe/metrics.js';
import type {HealthChecks} from '#src/proxy/mode/hooks.js';
import {FakeNft} from './fake-nft.js';
import {local, port, service, slice} from './objects.js';
import {FakeProxy} from './proxy.js';

const clusterIP = '172.30.0.41';
const svc = (name: string, ip: string) => service(`ns/${name}`, {clusterIP: ip});
const two = [svc('one', clusterIP), svc('two', '172.30.0.42')];
const twoSlices = [slice('ns/one', ['10.180.0.1', '10.180.0.2']), slice('ns/two', ['10.180.0.3'])];

/** The commands without digests and the table. */
const short = (lines: readonly string[]): string[] =>
  lines.map(line =>
    line
      .replaceAll(/-[A-Z2-7]{8}-ns\//g, ' ')
      .replaceAll('/tcp/p80', '')
      .replace(' ip kube-proxy', ''),
  );

test('nothing is written before services and endpoints are known', async t => {
  const proxy = new FakeProxy();
  proxy.proxier.serviceChanged(undefined, two[0]);
  proxy.proxier.known('services');
  await proxy.clock.advance(120_000);
  t.is(proxy.kernel.commands.length, 0);

  proxy.proxier.known('endpointSlices');
  await proxy.clock.advance(0);
  t.is(proxy.kernel.scripts.length, 1);
});

test('one endpoint more is one chain more, and the choice of its service', async t => {
  const proxy = await new FakeProxy().begin(two, twoSlices);
  proxy.proxier.sliceChanged(slice('ns/one', ['10.180.0.1', '10.180.0.2', '10.180.0.9']), false);
  await proxy.sync();

  t.deepEqual(short(proxy.last), [
    'flush chain service one',
    'add chain endpoint one__10.180.0.9/80',
    'add rule service one ip daddr 172.30.0.41 ip saddr != 10.0.0.0/8 jump mark-for-masquerade',
    'add rule service one numgen random mod 3 vmap { 0 : goto endpoint one__10.180.0.1/80 , 1 : goto endpoint one__10.180.0.2/80 , 2 : goto endpoint one__10.180.0.9/80 }',
    'add rule endpoint one__10.180.0.9/80 ip saddr 10.180.0.9 jump mark-for-masquerade',
    'add rule endpoint one__10.180.0.9/80 meta l4proto tcp dnat to 10.180.0.9:80',
  ]);
});

test('a change that no rule depends on writes nothing', async t => {
  const proxy = await new FakeProxy().begin(two, twoSlices);
  const scripts = proxy.kernel.scripts.length;
  const conditions = {ready: true, serving: true, terminating: false};
  proxy.proxier.sliceChanged(slice('ns/two', [{addresses: ['10.180.0.3'], conditions}]), false);
  await proxy.sync();

  t.is(proxy.kernel.scripts.length, scripts);
});

test('a service that goes takes its elements at once, and its chains a second after they were emptied', async t => {
  const proxy = await new FakeProxy().begin(two, twoSlices);
  proxy.proxier.serviceChanged(two[1], undefined);
  await proxy.sync();
  t.deepEqual(short(proxy.last), [
    'flush chain service two',
    'flush chain endpoint two__10.180.0.3/80',
    'delete element cluster-ips { 172.30.0.42 }',
    'delete element service-ips { 172.30.0.42 . tcp . 80 }',
  ]);

  await proxy.sync();
  proxy.proxier.request();
  await proxy.sync();
  t.deepEqual(short(proxy.last), ['delete chain service two', 'delete chain endpoint two__10.180.0.3/80']);
  t.false(proxy.kernel.dump().some(line => line.includes('ns/two')));
});

test('a chain that is needed again before it was deleted is filled', async t => {
  const proxy = await new FakeProxy().begin(two, twoSlices);
  const before = proxy.kernel.dump();
  proxy.proxier.serviceChanged(two[1], undefined);
  await proxy.sync();
  proxy.proxier.serviceChanged(undefined, two[1]);
  await proxy.clock.advance(1);
  await proxy.sync();
  proxy.proxier.request();
  await proxy.sync();

  t.deepEqual(proxy.kernel.dump(), before);
});

test('services with one external address take turns: the first has it, and the next when that goes', async t => {
  const shared = ['a', 'b'].map((name, at) => service(`ns/${name}`, {clusterIP: `172.30.0.${at + 1}`, externalIPs: ['192.168.99.22']}));
  const proxy = await new FakeProxy().begin([shared[1]!, shared[0]!], [slice('ns/a', ['10.180.0.1']), slice('ns/b', ['10.180.0.2'])]);
  const holder = () => /external-[A-Z2-7]{8}-(\S+?)\/tcp/.exec(proxy.kernel.dump().find(line => line.includes('192.168.99.22')) ?? '')?.[1];
  t.is(holder(), 'ns/a');

  proxy.proxier.serviceChanged(shared[0], undefined);
  await proxy.sync();
  t.is(holder(), 'ns/b');
});

test('the ports of a service share its cluster IP until the last goes', async t => {
  const before = service('ns/svc', {clusterIP, ports: [port({name: 'a'}), port({name: 'b', port: 81})]});
  const after = service('ns/svc', {clusterIP, ports: [port({name: 'b', port: 81})]});
  const proxy = await new FakeProxy().begin([before], []);
  proxy.proxier.serviceChanged(before, after);
  await proxy.sync();
  t.true(proxy.kernel.dump().includes('add element cluster-ips { 172.30.0.41 }'));

  proxy.proxier.serviceChanged(after, undefined);
  await proxy.sync();
  t.false(proxy.kernel.dump().includes('add element cluster-ips { 172.30.0.41 }'));
});

test('the time for which clients stay with an endpoint changes by sets made anew', async t => {
  const stays = (seconds: number) =>
    service('ns/svc', {clusterIP, sessionAffinity: 'ClientIP', sessionAffinityConfig: {clientIP: {timeoutSeconds: seconds}}});
  const proxy = await new FakeProxy().begin([stays(10)], [slice('ns/svc', ['10.180.0.1'])]);
  proxy.proxier.serviceChanged(stays(10), stays(20));
  await proxy.sync();
  const changed = proxy.kernel.dump();
  t.true(changed.some(line => line.includes('timeout 20s')));

  proxy.proxier.serviceChanged(stays(20), service('ns/svc', {clusterIP}));
  await proxy.sync();
  t.false(proxy.kernel.dump().some(line => line.includes('affinity-')));
  t.deepEqual((await new FakeProxy().begin([stays(20)], [slice('ns/svc', ['10.180.0.1'])])).kernel.dump(), changed);
});

test('after a failure everything is written again, when the period for retries has passed', async t => {
  const meter = new MetricsRegistry();
  const proxy = await new FakeProxy({meter}).begin(two, twoSlices);
  proxy.proxier.serviceChanged(two[1], undefined);
  proxy.kernel.failures = 1;
  await proxy.sync();
  t.true(proxy.kernel.dump().some(line => line.includes('172.30.0.42')));
  t.regex((await meter.exposition()).body, /kubeproxy_sync_proxy_rules_nftables_sync_failures_total\{ip_family="IPv4"\} 1/);

  await proxy.clock.advance(28_000);
  t.true(proxy.kernel.dump().some(line => line.includes('172.30.0.42')));
  await proxy.clock.advance(2_000);
  t.false(proxy.kernel.dump().some(line => line.includes('172.30.0.42')));
  t.is(proxy.last[0], 'add table ip kube-proxy { comment "rules for kube-proxy" ; }');
});

test('stale chains that cannot be deleted make everything be written again', async t => {
  const meter = new MetricsRegistry();
  const proxy = await new FakeProxy({meter}).begin(two, twoSlices);
  proxy.proxier.serviceChanged(two[1], undefined);
  await proxy.sync();
  await proxy.sync();
  proxy.kernel.failures = 1;
  proxy.proxier.request();
  await proxy.sync();

  t.regex((await meter.exposition()).body, /kubeproxy_sync_proxy_rules_nftables_cleanup_failures_total\{ip_family="IPv4"\} 1/);
  t.is(proxy.last[0], 'add table ip kube-proxy { comment "rules for kube-proxy" ; }');
  await proxy.sync();
  proxy.proxier.request();
  await proxy.sync();
  t.false(proxy.kernel.dump().some(line => line.includes('ns/two')));
});

test('a proxy that starts again takes the table over: what it does not know goes, what it knows stays as it was', async t => {
  const first = await new FakeProxy().begin(two, twoSlices);
  const {kernel} = first;
  const again = await new FakeProxy({kernel}).begin(two.slice(0, 1), twoSlices.slice(0, 1));
  t.false(again.last.some(line => line.startsWith('delete table')));
  await again.sync();
  again.proxier.request();
  await again.sync();

  t.deepEqual(kernel.dump(), (await new FakeProxy().begin(two.slice(0, 1), twoSlices.slice(0, 1))).kernel.dump());
});

test('clients keep their endpoints when the proxy starts again', async t => {
  const stays = service('ns/svc', {clusterIP, sessionAffinity: 'ClientIP', sessionAffinityConfig: {clientIP: {timeoutSeconds: 10}}});
  const first = await new FakeProxy().begin([stays], [slice('ns/svc', ['10.180.0.1'])]);
  const set = [...first.kernel.tables.get('ip kube-proxy')!.containers.keys()].find(name => name.startsWith('affinity-'))!;
  first.kernel.tables.get('ip kube-proxy')!.containers.get(set)!.elements.set('203.0.113.2', '');
  const again = await new FakeProxy({kernel: first.kernel}).begin([stays], [slice('ns/svc', ['10.180.0.1'])]);

  t.true(again.kernel.tables.get('ip kube-proxy')!.containers.get(set)!.elements.has('203.0.113.2'));
});

test('a table that cannot be listed is made anew', async t => {
  class Unlisted extends FakeNft {
    override run(command: Parameters<FakeNft['run']>[0]) {
      return command.args.includes('list') ? Promise.resolve({exitCode: 1, stdout: '', stderr: 'no'}) : super.run(command);
    }
  }
  const kernel = new Unlisted();
  await new FakeProxy({kernel}).begin(two, twoSlices);
  await new FakeProxy({kernel}).begin(two.slice(0, 1), twoSlices.slice(0, 1));

  t.deepEqual(kernel.dump(), (await new FakeProxy().begin(two.slice(0, 1), twoSlices.slice(0, 1))).kernel.dump());
});

test('only the own table is touched', async t => {
  const proxy = await new FakeProxy().begin(two, twoSlices);
  const others = proxy.kernel.scripts.flat().filter(line => !/^\w+ \w+ ip kube-proxy\b/.test(line));

  t.deepEqual(others, []);
});

test('another zone writes everything again', async t => {
  const hinted = slice('ns/one', [
    {addresses: ['10.180.0.1'], hints: {forZones: [{name: 'z1'}]}},
    {addresses: ['10.180.0.2'], hints: {forZones: [{name: 'z2'}]}},
  ]);
  const proxy = await new FakeProxy().begin(two.slice(0, 1), [hinted]);
  proxy.proxier.zoneChanged('z2');
  await proxy.sync();

  t.true(proxy.kernel.dump().some(line => line.includes('numgen random mod 1 vmap') && line.includes('10.180.0.2')));
});

test('everything is written again once an hour', async t => {
  const proxy = await new FakeProxy().begin(two, twoSlices);
  await proxy.clock.advance(3_599_000);
  t.is(proxy.kernel.scripts.length, 1);
  await proxy.clock.advance(2_000);
  proxy.proxier.request();
  await proxy.sync();

  t.is(proxy.last[0], 'add table ip kube-proxy { comment "rules for kube-proxy" ; }');
});

test('ranges of cluster IPs that change are written', async t => {
  const proxy = await new FakeProxy().begin(two, twoSlices);
  proxy.proxier.serviceCidrsChanged(['172.30.0.0/16', '172.31.0.0/16', 'fd00:10:96::/112']);
  await proxy.sync();

  t.true(proxy.kernel.dump().some(line => line.includes('ip daddr { 172.30.0.0/16,172.31.0.0/16 } drop')));
});

test('who follows the syncs hears when they are asked for and succeed, what is healthy, and when flows are to be forgotten', async t => {
  const heard: string[] = [];
  const checks: HealthChecks[] = [];
  const hooks = {
    queued: () => void heard.push('queued'),
    updated: () => void heard.push('updated'),
    checkHealth: (_: string, each: HealthChecks) => void checks.push(each),
    cleanFlows: () => Promise.resolve(void heard.push('clean')),
  };
  const balanced = service('ns/lb', {
    type: 'LoadBalancer',
    clusterIP,
    externalTrafficPolicy: 'Local',
    healthCheckNodePort: 30100,
    ports: [port(), port({name: 'p81', port: 81})],
  });
  const udp = service('ns/dns', {clusterIP: '172.30.0.42', ports: [port({name: 'dns', port: 53, protocol: 'UDP'})]});
  const proxy = await new FakeProxy({hooks}).begin(
    [balanced, udp],
    [
      slice(
        'ns/lb',
        [local('10.180.0.1'), local('10.180.0.2', {conditions: {ready: false, serving: true, terminating: true}}), '10.180.0.3'],
        [
          {name: 'p80', port: 80},
          {name: 'p81', port: 81},
        ],
      ),
    ],
  );
  t.deepEqual(heard, ['updated', 'updated']);
  t.deepEqual(checks, [{ports: new Map([['ns/lb', 30100]]), localEndpoints: new Map([['ns/lb', 1]])}]);

  proxy.proxier.sliceChanged(slice('ns/dns', ['10.180.0.1'], [{name: 'dns', port: 53, protocol: 'UDP'}]), false);
  await proxy.sync();
  t.deepEqual(heard.slice(2), ['queued', 'updated', 'clean']);
});

test('what fails after a sync does not make the sync fail', async t => {
  const hooks = {checkHealth: () => Promise.reject(new Error('no port')), cleanFlows: () => Promise.reject(new Error('no conntrack'))};
  const udp = service('ns/dns', {clusterIP, ports: [port({name: 'dns', port: 53, protocol: 'UDP'})]});
  const proxy = await new FakeProxy({hooks}).begin([udp], [slice('ns/dns', ['10.180.0.1'], [{name: 'dns', port: 53, protocol: 'UDP'}])]);
  await proxy.proxier.synced;
  await proxy.clock.advance(60_000);

  t.is(proxy.kernel.scripts.length, 1);
});

test('the metrics are those of the original', async t => {
  const meter = new MetricsRegistry();
  const proxy = await new FakeProxy({meter}).begin(
    [
      service('ns/svc', {
        type: 'NodePort',
        clusterIP,
        externalTrafficPolicy: 'Local',
        internalTrafficPolicy: 'Local',
        ports: [port({nodePort: 3001})],
      }),
    ],
    [slice('ns/svc', ['10.180.0.1'])],
  );
  proxy.proxier.sliceChanged(slice('ns/svc', ['10.180.0.1', '10.180.0.2']), false);
  await proxy.sync();
  const {body} = await meter.exposition();

  for (const line of [
    'kubeproxy_sync_proxy_rules_duration_seconds_count{ip_family="IPv4"} 2',
    'kubeproxy_sync_full_proxy_rules_duration_seconds_count{ip_family="IPv4"} 1',
    'kubeproxy_sync_partial_proxy_rules_duration_seconds_count{ip_family="IPv4"} 1',
    'kubeproxy_sync_proxy_rules_endpoint_changes_total 2',
    'kubeproxy_sync_proxy_rules_endpoint_changes_pending 0',
    'kubeproxy_sync_proxy_rules_service_changes_total 1',
    'kubeproxy_sync_proxy_rules_service_changes_pending 0',
    'kubeproxy_sync_proxy_rules_no_local_endpoints_total{traffic_policy="internal",ip_family="IPv4"} 1',
    'kubeproxy_sync_proxy_rules_no_local_endpoints_total{traffic_policy="external",ip_family="IPv4"} 1',
    'kubeproxy_sync_proxy_rules_last_timestamp_seconds{ip_family="IPv4"} 1767225601',
    'kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds{ip_family="IPv4"} 1767225600',
  ])
    t.true(body.split('\n').includes(line), line);
});

test('a proxy that stops leaves its rules, and writes no more', async t => {
  const proxy = await new FakeProxy().begin(two, twoSlices);
  const before = proxy.kernel.dump();
  await proxy.proxier.stop();
  proxy.proxier.serviceChanged(two[0], undefined);
  await proxy.clock.advance(60_000);

  t.deepEqual(proxy.kernel.dump(), before);
});
