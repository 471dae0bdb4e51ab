import test from 'ava';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {FakeIptablesProxy, type FakeIptablesProxyOptions} from './iptables-proxy.js';
import {local, port, service, slice} from './objects.js';

/** The digests in the names of chains are those of the original's own tests. */
const svc1 = {svc: 'KUBE-SVC-XPGD46QRK7WJZT7O', ext: 'KUBE-EXT-XPGD46QRK7WJZT7O', sep: 'KUBE-SEP-SXIVWICOYRO3J4NJ'};
const svl = 'KUBE-SVL-XPGD46QRK7WJZT7O';
const fw = 'KUBE-FW-XPGD46QRK7WJZT7O';
const tcp = '-m tcp -p tcp';
const masquerade = 'KUBE-MARK-MASQ';
const quoted = (text: string) => `-m comment --comment ${text}`;

const clusterIp = service('ns1/svc1', {clusterIP: '172.30.0.41'});
const ready = slice('ns1/svc1', ['10.180.0.1']);

const proxied = (options: FakeIptablesProxyOptions, ...objects: Parameters<FakeIptablesProxy['begin']>): Promise<FakeIptablesProxy> =>
  new FakeIptablesProxy(options).begin(...objects);

test('a cluster IP leads to the only endpoint, and traffic from outside is masqueraded', async t => {
  const proxy = await proxied({}, [clusterIp], [ready]);

  t.deepEqual(proxy.rules('nat', 'KUBE-SERVICES'), [
    `${quoted('"ns1/svc1:p80 cluster IP"')} ${tcp} -d 172.30.0.41 --dport 80 -j ${svc1.svc}`,
    `${quoted('"kubernetes service nodeports; NOTE: this must be the last rule in this chain"')} -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS`,
  ]);
  t.deepEqual(proxy.rules('nat', svc1.svc), [
    `${quoted('"ns1/svc1:p80 cluster IP"')} ${tcp} -d 172.30.0.41 --dport 80 ! -s 10.0.0.0/8 -j ${masquerade}`,
    `${quoted('"ns1/svc1:p80 -> 10.180.0.1:80"')} -j ${svc1.sep}`,
  ]);
  t.deepEqual(proxy.rules('nat', svc1.sep), [
    `${quoted('ns1/svc1:p80')} -s 10.180.0.1 -j ${masquerade}`,
    `${quoted('ns1/svc1:p80')} ${tcp} -j DNAT --to-destination 10.180.0.1:80`,
  ]);
});

test('the chains that all services share masquerade, forward and guard the loopback', async t => {
  const proxy = await proxied({}, [], []);

  t.deepEqual(proxy.rules('nat', 'KUBE-POSTROUTING'), [
    '-m mark ! --mark 0x00004000/0x00004000 -j RETURN',
    '-j MARK --xor-mark 0x00004000',
    `${quoted('"kubernetes service traffic requiring SNAT"')} -j MASQUERADE --random-fully`,
  ]);
  t.deepEqual(proxy.rules('nat', masquerade), ['-j MARK --or-mark 0x00004000']);
  t.deepEqual(proxy.rules('filter', 'KUBE-FORWARD'), [
    '-m conntrack --ctstate INVALID -j DROP',
    `${quoted('"kubernetes forwarding rules"')} -m mark --mark 0x00004000/0x00004000 -j ACCEPT`,
    `${quoted('"kubernetes forwarding conntrack rule"')} -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT`,
  ]);
  t.deepEqual(proxy.rules('filter', 'KUBE-FIREWALL'), [
    `${quoted('"block incoming localnet connections"')} -d 127.0.0.0/8 ! -s 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP`,
  ]);
});

test('old programs masquerade without random ports, and invalid packets pass where the kernel is liberal', async t => {
  const proxy = await proxied({base: {hasRandomFully: false, conntrackTcpLiberal: true}}, [], []);

  t.is(proxy.rules('nat', 'KUBE-POSTROUTING')?.at(-1), `${quoted('"kubernetes service traffic requiring SNAT"')} -j MASQUERADE`);
  t.false(proxy.rules('filter', 'KUBE-FORWARD')?.some(rule => rule.includes('INVALID')));
});

test('endpoints share the traffic evenly', async t => {
  const proxy = await proxied({}, [clusterIp], [slice('ns1/svc1', ['10.180.0.1', '10.180.0.2', '10.180.0.3'])]);

  const [, ...choice] = proxy.rules('nat', svc1.svc)!;
  t.deepEqual(
    choice.map(rule => rule.replace(/-j KUBE-SEP-\w+/, '')),
    [
      `${quoted('"ns1/svc1:p80 -> 10.180.0.1:80"')} -m statistic --mode random --probability 0.3333333333 `,
      `${quoted('"ns1/svc1:p80 -> 10.180.0.2:80"')} -m statistic --mode random --probability 0.5000000000 `,
      `${quoted('"ns1/svc1:p80 -> 10.180.0.3:80"')} `,
    ],
  );
});

test('clients keep their endpoint with session affinity', async t => {
  const affine = service('ns1/svc1', {
    clusterIP: '172.30.0.41',
    sessionAffinity: 'ClientIP',
    sessionAffinityConfig: {clientIP: {timeoutSeconds: 300}},
  });
  const proxy = await proxied({}, [affine], [ready]);

  t.deepEqual(proxy.rules('nat', svc1.svc)?.slice(1), [
    `${quoted('"ns1/svc1:p80 -> 10.180.0.1:80"')} -m recent --name ${svc1.sep} --rcheck --seconds 300 --reap -j ${svc1.sep}`,
    `${quoted('"ns1/svc1:p80 -> 10.180.0.1:80"')} -j ${svc1.sep}`,
  ]);
  t.is(
    proxy.rules('nat', svc1.sep)?.at(-1),
    `${quoted('ns1/svc1:p80')} -m recent --name ${svc1.sep} --set ${tcp} -j DNAT --to-destination 10.180.0.1:80`,
  );
});

const loadBalancer = (spec: NonNullable<Parameters<typeof service>[1]> = {}) =>
  service(
    'ns1/svc1',
    {type: 'LoadBalancer', clusterIP: '172.30.0.41', externalIPs: ['192.168.99.22'], ports: [port({nodePort: 3001})], ...spec},
    ['1.2.3.4'],
  );

test('external traffic of the policy Cluster is masqueraded, from all addresses', async t => {
  const proxy = await proxied({}, [loadBalancer()], [ready]);

  const captured = proxy.rules('nat', 'KUBE-SERVICES')!.filter(rule => rule.endsWith(svc1.ext));
  t.deepEqual(captured, [
    `${quoted('"ns1/svc1:p80 external IP"')} ${tcp} -d 192.168.99.22 --dport 80 -j ${svc1.ext}`,
    `${quoted('"ns1/svc1:p80 loadbalancer IP"')} ${tcp} -d 1.2.3.4 --dport 80 -j ${svc1.ext}`,
  ]);
  t.deepEqual(proxy.rules('nat', 'KUBE-NODEPORTS'), [`${quoted('ns1/svc1:p80')} ${tcp} --dport 3001 -j ${svc1.ext}`]);
  t.deepEqual(proxy.rules('nat', svc1.ext), [
    `${quoted('"masquerade traffic for ns1/svc1:p80 external destinations"')} -j ${masquerade}`,
    `-j ${svc1.svc}`,
  ]);
});

test('external traffic of the policy Local keeps its source, and that of the node goes anywhere', async t => {
  const policy = {externalTrafficPolicy: 'Local', healthCheckNodePort: 30_000} as const;
  const proxy = await proxied({}, [loadBalancer(policy)], [slice('ns1/svc1', [local('10.180.0.1'), '10.180.0.2'])]);

  t.deepEqual(proxy.rules('nat', svc1.ext), [
    `${quoted('"pod traffic for ns1/svc1:p80 external destinations"')} -s 10.0.0.0/8 -j ${svc1.svc}`,
    `${quoted('"masquerade LOCAL traffic for ns1/svc1:p80 external destinations"')} -m addrtype --src-type LOCAL -j ${masquerade}`,
    `${quoted('"route LOCAL traffic for ns1/svc1:p80 external destinations"')} -m addrtype --src-type LOCAL -j ${svc1.svc}`,
    `-j ${svl}`,
  ]);
  t.deepEqual(proxy.rules('nat', svl), [`${quoted('"ns1/svc1:p80 -> 10.180.0.1:80"')} -j ${svc1.sep}`]);
  t.deepEqual(proxy.rules('filter', 'KUBE-NODEPORTS'), [
    `${quoted('"ns1/svc1:p80 health check node port"')} ${tcp} --dport 30000 -j ACCEPT`,
  ]);
});

test('external traffic of the policy Local is dropped where all endpoints are elsewhere', async t => {
  const proxy = await proxied({}, [loadBalancer({externalTrafficPolicy: 'Local'})], [ready]);

  const why = quoted('"ns1/svc1:p80 has no local endpoints"');
  t.deepEqual(proxy.rules('filter', 'KUBE-EXTERNAL-SERVICES'), [
    `${why} ${tcp} -d 192.168.99.22 --dport 80 -j DROP`,
    `${why} ${tcp} -d 1.2.3.4 --dport 80 -j DROP`,
    `${why} -m addrtype --dst-type LOCAL ${tcp} --dport 3001 -j DROP`,
  ]);
  t.is(proxy.rules('nat', svc1.ext)?.length, 3);
});

test('traffic to a service without endpoints is rejected at all of its addresses', async t => {
  const proxy = await proxied({}, [loadBalancer()], []);

  const why = quoted('"ns1/svc1:p80 has no endpoints"');
  t.deepEqual(proxy.rules('filter', 'KUBE-SERVICES'), [`${why} ${tcp} -d 172.30.0.41 --dport 80 -j REJECT`]);
  t.deepEqual(proxy.rules('filter', 'KUBE-EXTERNAL-SERVICES'), [
    `${why} ${tcp} -d 192.168.99.22 --dport 80 -j REJECT`,
    `${why} ${tcp} -d 1.2.3.4 --dport 80 -j REJECT`,
    `${why} -m addrtype --dst-type LOCAL ${tcp} --dport 3001 -j REJECT`,
  ]);
  t.is(proxy.rules('nat', svc1.svc), undefined);
});

test('internal traffic of the policy Local stays on the node, and is dropped without endpoints there', async t => {
  const internal = service('ns1/svc1', {clusterIP: '172.30.0.41', internalTrafficPolicy: 'Local'});
  const here = await proxied({}, [internal], [slice('ns1/svc1', [local('10.180.0.1'), '10.180.0.2'])]);
  const elsewhere = await proxied({}, [internal], [ready]);

  t.deepEqual(here.rules('nat', svl), [
    `${quoted('"ns1/svc1:p80 cluster IP"')} ${tcp} -d 172.30.0.41 --dport 80 ! -s 10.0.0.0/8 -j ${masquerade}`,
    `${quoted('"ns1/svc1:p80 -> 10.180.0.1:80"')} -j ${svc1.sep}`,
  ]);
  t.deepEqual(elsewhere.rules('filter', 'KUBE-SERVICES'), [
    `${quoted('"ns1/svc1:p80 has no local endpoints"')} ${tcp} -d 172.30.0.41 --dport 80 -j DROP`,
  ]);
});

test('source ranges let only their clients on to a load balancer', async t => {
  const proxy = await proxied({}, [loadBalancer({loadBalancerSourceRanges: [' 203.0.113.0/25']})], [ready]);

  t.deepEqual(proxy.rules('nat', fw), [
    `${quoted('"ns1/svc1:p80 loadbalancer IP"')} -s 203.0.113.0/25 -j ${svc1.ext}`,
    quoted('"other traffic to ns1/svc1:p80 will be dropped by KUBE-PROXY-FIREWALL"'),
  ]);
  t.deepEqual(proxy.rules('filter', 'KUBE-PROXY-FIREWALL'), [
    `${quoted(`"ns1/svc1:p80 traffic not accepted by ${fw}"`)} ${tcp} -d 1.2.3.4 --dport 80 -j DROP`,
  ]);
});

test('a node in the source ranges reaches a load balancer whose address is local to it', async t => {
  const proxy = await proxied({}, [loadBalancer({loadBalancerSourceRanges: ['192.168.0.0/24']})], [ready]);

  t.deepEqual(proxy.rules('nat', fw)?.slice(0, 2), [
    `${quoted('"ns1/svc1:p80 loadbalancer IP"')} -s 192.168.0.0/24 -j ${svc1.ext}`,
    `${quoted('"ns1/svc1:p80 loadbalancer IP"')} -s 1.2.3.4 -j ${svc1.ext}`,
  ]);
});

for (const [title, settings, match] of [
  ['all traffic', {masqueradeAll: true}, ''],
  ['traffic that does not come from the bridge', {localDetection: {by: 'interface', name: 'cbr0'}}, ' ! -i cbr0'],
  ['traffic that does not come from interfaces of pods', {localDetection: {by: 'interfacePrefix', prefix: 'veth'}}, ' ! -i veth+'],
] as const)
  test(`masquerades ${title} to cluster IPs if told so`, async t => {
    const proxy = await proxied({settings}, [clusterIp], [ready]);

    t.is(
      proxy.rules('nat', svc1.svc)?.[0],
      `${quoted('"ns1/svc1:p80 cluster IP"')} ${tcp} -d 172.30.0.41 --dport 80${match} -j ${masquerade}`,
    );
  });

test('nothing is masqueraded without a way to tell the traffic of pods', async t => {
  const proxy = await proxied({settings: {localDetection: {by: 'nothing'}}}, [clusterIp], [ready]);

  t.deepEqual(proxy.rules('nat', svc1.svc), [`${quoted('"ns1/svc1:p80 -> 10.180.0.1:80"')} -j ${svc1.sep}`]);
});

for (const [title, options, matches] of [
  [
    'of all addresses but the loopback, where that is closed',
    {base: {localhostNodePorts: false}},
    ['-m addrtype --dst-type LOCAL ! -d 127.0.0.0/8'],
  ],
  ['of all addresses but the loopback with IPv6', {family: 'IPv6'}, ['-m addrtype --dst-type LOCAL ! -d ::1/128']],
  ['of the given ranges', {settings: {nodePortAddresses: ['192.168.0.0/24']}}, ['-d 192.168.0.2']],
  [
    'of the loopback if its range is given and it is open',
    {settings: {nodePortAddresses: ['192.168.0.0/24', '127.0.0.0/8']}},
    ['-d 127.0.0.1', '-d 192.168.0.2'],
  ],
  [
    'of the given ranges without the loopback, if that is closed',
    {settings: {nodePortAddresses: ['192.168.0.0/24', '127.0.0.0/8']}, base: {localhostNodePorts: false}},
    ['-d 192.168.0.2'],
  ],
] as const satisfies readonly (readonly [string, FakeIptablesProxyOptions, readonly string[]])[])
  test(`takes traffic to node ports ${title}`, async t => {
    const proxy = await proxied(options, [], []);

    const last = proxy.rules('nat', 'KUBE-SERVICES')!;
    t.deepEqual(
      last.map(rule => / in this chain" (.*) -j KUBE-NODEPORTS$/.exec(rule)?.[1]),
      matches,
    );
  });

test('an IPv6 endpoint has its address in brackets', async t => {
  const proxy = await proxied(
    {family: 'IPv6'},
    [service('ns1/svc1', {clusterIP: 'fd00:172:30::41'})],
    [slice('ns1/svc1', ['fd00:10:180::1'])],
  );

  const chain = /-j (KUBE-SEP-\w+)/.exec(proxy.rules('nat', svc1.svc)!.join())![1]!;
  t.is(proxy.rules('nat', chain)?.at(-1), `${quoted('ns1/svc1:p80')} ${tcp} -j DNAT --to-destination [fd00:10:180::1]:80`);
});

test('the chains of the kernel jump to those of the proxy, once', async t => {
  const proxy = await proxied({}, [], []);
  proxy.proxier.zoneChanged('a');
  await proxy.sync();

  const isNew = '-m conntrack --ctstate NEW';
  t.deepEqual(proxy.rules('nat', 'PREROUTING'), [`${quoted('kubernetes service portals')} -j KUBE-SERVICES`]);
  t.deepEqual(proxy.rules('nat', 'POSTROUTING'), [`${quoted('kubernetes postrouting rules')} -j KUBE-POSTROUTING`]);
  t.deepEqual(proxy.rules('filter', 'INPUT'), [
    '-j KUBE-FIREWALL',
    `${isNew} ${quoted('kubernetes load balancer firewall')} -j KUBE-PROXY-FIREWALL`,
    `${quoted('kubernetes health check service ports')} -j KUBE-NODEPORTS`,
    `${isNew} ${quoted('kubernetes externally-visible service portals')} -j KUBE-EXTERNAL-SERVICES`,
  ]);
});

const other = service('ns2/svc2', {clusterIP: '172.30.0.42'});

test('a change writes the shared chains, and those of its service alone', async t => {
  const proxy = await proxied({}, [clusterIp, other], [ready, slice('ns2/svc2', ['10.180.0.2'])]);
  proxy.proxier.sliceChanged(slice('ns1/svc1', ['10.180.0.1', '10.180.0.9']), false);
  await proxy.sync();

  const chains = proxy.last.filter(line => /^:KUBE-(SVC|SEP)/.test(line));
  t.is(chains.length, 3);
  t.true(chains.includes(`:${svc1.svc} - [0:0]`));
  t.true(proxy.rules('nat', 'KUBE-SERVICES')?.some(rule => rule.includes('"ns2/svc2:p80 cluster IP"')));
  t.true(proxy.rules('nat', 'KUBE-SVC-GNZBNJ2PO5MGZ6GT')?.some(rule => rule.includes('10.180.0.2:80')));
});

test('chains of services and endpoints that are gone are deleted', async t => {
  const proxy = await proxied({}, [clusterIp, other], [ready, slice('ns2/svc2', ['10.180.0.2'])]);
  proxy.proxier.serviceChanged(clusterIp, undefined);
  await proxy.sync();

  t.is(proxy.rules('nat', svc1.svc), undefined);
  t.is(proxy.rules('nat', svc1.sep), undefined);
  t.true(proxy.last.includes(`-X ${svc1.svc}`));
});

test('a failed write counts, and the next one writes everything', async t => {
  const meter = new MetricsRegistry();
  const proxy = await proxied({meter}, [clusterIp], [ready]);
  proxy.kernel.failing.add('restore');
  proxy.proxier.serviceChanged(undefined, other);
  await proxy.sync();
  proxy.kernel.failing.clear();
  await proxy.clock.advance(30_000);

  t.true(proxy.last.includes(`:${svc1.svc} - [0:0]`));
  const text = (await meter.encoded()).bytes.toString();
  for (const kind of ['', 'partial_'])
    t.true(text.includes(`kubeproxy_sync_proxy_rules_iptables_${kind}restore_failures_total{ip_family="IPv4"} 1`), text);
});

test('after a flush all rules and jumps are written again', async t => {
  const proxy = await proxied({}, [clusterIp], [ready]);
  proxy.kernel.flush();
  proxy.mode.flushed();
  proxy.proxier.request();
  await proxy.sync();

  t.is(proxy.rules('nat', svc1.svc)?.length, 2);
  t.is(proxy.rules('nat', 'PREROUTING')?.length, 1);
});

test('rules of endpoints go without comments in large clusters, where chains are cleaned up less often', async t => {
  const many = Array.from({length: 1001}, (_, at) => `10.181.${at >> 8}.${at & 255}`);
  const proxy = await proxied({}, [clusterIp], [slice('ns1/svc1', many)]);
  const saves = () => proxy.kernel.commands.filter(command => command.startsWith('iptables-save')).length;
  const before = saves();
  proxy.proxier.serviceChanged(undefined, other);
  await proxy.sync();

  t.false(
    proxy
      .rules('nat', svc1.svc)!
      .slice(1)
      .some(rule => rule.includes('comment')),
  );
  t.is(saves(), before);
  await proxy.clock.advance(31_000);
  proxy.proxier.serviceChanged(other, undefined);
  await proxy.sync();
  t.is(saves(), before + 1);
});

test('the numbers of rules are counted by table, all and those of the last sync', async t => {
  const meter = new MetricsRegistry();
  const proxy = await proxied({meter}, [clusterIp], [ready]);
  proxy.proxier.serviceChanged(undefined, service('ns2/svc2', {clusterIP: '172.30.0.42'}));
  await proxy.sync();

  const text = (await meter.encoded()).bytes.toString();
  const value = (name: string, table: string) =>
    Number(new RegExp(`kubeproxy_sync_proxy_rules_iptables_${name}\\{table="${table}",ip_family="IPv4"\\} (\\d+)`).exec(text)?.[1]);
  const count = (table: 'nat' | 'filter') =>
    [...proxy.kernel.tables.get(table)!].reduce((sum, [chain, rules]) => sum + (chain.startsWith('KUBE-') ? rules.length : 0), 0);
  t.is(value('total', 'nat'), count('nat'));
  t.is(value('total', 'filter'), count('filter'));
  t.is(value('last', 'nat'), count('nat') - 4);
});
