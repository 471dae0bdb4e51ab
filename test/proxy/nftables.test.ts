import test from 'ava';
import {baseLines, type BaseSettings} from '#src/proxy/nftables/base-rules.js';
import {endpointNames, portChains} from '#src/proxy/nftables/names.js';
import {FakeNft} from './fake-nft.js';
import {local, port, service, slice} from './objects.js';
import {FakeProxy} from './proxy.js';

/** What the table holds beside its base, which is the same for all services. */
const servicePart = (proxy: FakeProxy, at?: string): string[] =>
  proxy.kernel
    .dump(at)
    .flatMap(text => text.split('\n'))
    .filter(
      line => line.includes('/') && !line.includes('{ type filter') && !line.includes('Drop traffic') && !line.includes('reject-chain {'),
    );

const elements = (proxy: FakeProxy, name: string): string[] =>
  proxy.kernel
    .dump()
    .filter(line => line.startsWith(`add element ${name} `))
    .map(line => line.slice(`add element ${name} `.length));

test('a service has a chain that leads to one of its endpoints, and each endpoint one that translates to it', async t => {
  const proxy = await new FakeProxy().begin(
    [service('ns1/svc1', {clusterIP: '172.30.0.41'})],
    [slice('ns1/svc1', ['10.180.0.1', '10.180.0.2'])],
  );

  t.deepEqual(servicePart(proxy), [
    'add chain endpoint-2ZNDXFAB-ns1/svc1/tcp/p80__10.180.0.2/80',
    'add chain endpoint-5OJB2KTY-ns1/svc1/tcp/p80__10.180.0.1/80',
    'add chain service-ULMVA6XW-ns1/svc1/tcp/p80',
    'add element service-ips { 172.30.0.41 . tcp . 80 : goto service-ULMVA6XW-ns1/svc1/tcp/p80 }',
    'add rule endpoint-2ZNDXFAB-ns1/svc1/tcp/p80__10.180.0.2/80 ip saddr 10.180.0.2 jump mark-for-masquerade',
    'add rule endpoint-2ZNDXFAB-ns1/svc1/tcp/p80__10.180.0.2/80 meta l4proto tcp dnat to 10.180.0.2:80',
    'add rule endpoint-5OJB2KTY-ns1/svc1/tcp/p80__10.180.0.1/80 ip saddr 10.180.0.1 jump mark-for-masquerade',
    'add rule endpoint-5OJB2KTY-ns1/svc1/tcp/p80__10.180.0.1/80 meta l4proto tcp dnat to 10.180.0.1:80',
    'add rule service-ULMVA6XW-ns1/svc1/tcp/p80 ip daddr 172.30.0.41 ip saddr != 10.0.0.0/8 jump mark-for-masquerade',
    'add rule service-ULMVA6XW-ns1/svc1/tcp/p80 numgen random mod 2 vmap { 0 : goto endpoint-5OJB2KTY-ns1/svc1/tcp/p80__10.180.0.1/80 , 1 : goto endpoint-2ZNDXFAB-ns1/svc1/tcp/p80__10.180.0.2/80 }',
  ]);
  t.deepEqual(elements(proxy, 'cluster-ips'), ['{ 172.30.0.41 }']);
});

test('a local external policy sends outside traffic to endpoints on the node, and traffic of the node and its pods to all', async t => {
  const proxy = await new FakeProxy().begin(
    [
      service(
        'ns2/svc2',
        {
          type: 'LoadBalancer',
          externalTrafficPolicy: 'Local',
          clusterIP: '172.30.0.42',
          externalIPs: ['192.168.99.22'],
          ports: [port({nodePort: 3001})],
        },
        ['1.2.3.4'],
      ),
    ],
    [slice('ns2/svc2', ['10.180.0.2', local('10.180.0.3')])],
  );
  const chain = '42NFTM6N-ns2/svc2/tcp/p80';

  t.deepEqual(
    servicePart(proxy).filter(line => line.startsWith('add rule external-') || line.startsWith('add rule local-')),
    [
      `add rule external-${chain} ip saddr 10.0.0.0/8 goto service-${chain} comment "short-circuit pod traffic"`,
      `add rule external-${chain} fib saddr type local jump mark-for-masquerade comment "masquerade local traffic"`,
      `add rule external-${chain} fib saddr type local goto service-${chain} comment "short-circuit local traffic"`,
      `add rule external-${chain} goto local-${chain}`,
      `add rule local-${chain} numgen random mod 1 vmap { 0 : goto endpoint-ILFRA5KT-ns2/svc2/tcp/p80__10.180.0.3/80 }`,
    ],
  );
  t.deepEqual(elements(proxy, 'service-ips'), [
    `{ 1.2.3.4 . tcp . 80 : goto external-${chain} }`,
    `{ 172.30.0.42 . tcp . 80 : goto service-${chain} }`,
    `{ 192.168.99.22 . tcp . 80 : goto external-${chain} }`,
  ]);
  t.deepEqual(elements(proxy, 'service-nodeports'), [`{ tcp . 3001 : goto external-${chain} }`]);
  t.deepEqual(elements(proxy, 'no-endpoint-services'), []);
});

const verdicts = {
  'without any endpoint': {slices: [], verdict: 'goto reject-chain'},
  'with endpoints on other nodes alone': {slices: [slice('ns/svc', ['10.180.0.1'])], verdict: 'drop'},
};

for (const [where, {slices, verdict}] of Object.entries(verdicts))
  test(`traffic to services with local policies ${where} ends in ${verdict}`, async t => {
    const spec = {type: 'LoadBalancer', clusterIP: '172.30.0.41', externalTrafficPolicy: 'Local', internalTrafficPolicy: 'Local'} as const;
    const proxy = await new FakeProxy().begin([service('ns/svc', {...spec, ports: [port({nodePort: 3001})]}, ['1.2.3.4'])], slices);

    t.deepEqual(elements(proxy, 'no-endpoint-services'), [
      `{ 1.2.3.4 . tcp . 80 : ${verdict} comment "ns/svc:p80" }`,
      `{ 172.30.0.41 . tcp . 80 : ${verdict} comment "ns/svc:p80" }`,
    ]);
    t.deepEqual(elements(proxy, 'no-endpoint-nodeports'), [`{ tcp . 3001 : ${verdict} comment "ns/svc:p80" }`]);
  });

test('a client stays with its endpoint by a set for each endpoint', async t => {
  const affinity = {sessionAffinity: 'ClientIP', sessionAffinityConfig: {clientIP: {timeoutSeconds: 90}}};
  const proxy = await new FakeProxy().begin(
    [service('ns5/svc5', {clusterIP: '172.30.0.45', ...affinity})],
    [slice('ns5/svc5', ['10.180.0.3'])],
  );
  const endpoint = 'GTK6MW7G-ns5/svc5/tcp/p80__10.180.0.3/80';

  t.deepEqual(
    servicePart(proxy).filter(line => line.includes('affinity-')),
    [
      `add rule endpoint-${endpoint} update @affinity-${endpoint} { ip saddr }`,
      `add rule service-HVFWP5L3-ns5/svc5/tcp/p80 ip saddr @affinity-${endpoint} goto endpoint-${endpoint}`,
      `add set affinity-${endpoint} { type ipv4_addr ; flags dynamic,timeout ; timeout 90s ; }`,
    ],
  );
});

const ranges = {
  'without the node': {given: ['203.0.113.0/25'], rule: 'ip saddr != { 203.0.113.0/25 } drop'},
  'with the node': {given: [' 203.0.113.0/25', '192.168.0.0/24'], rule: 'ip saddr != { 203.0.113.0/25 , 192.168.0.0/24 , 5.6.7.8 } drop'},
};

for (const [which, {given, rule}] of Object.entries(ranges))
  test(`source ranges ${which} guard the addresses of a load balancer alone`, async t => {
    const spec = {type: 'LoadBalancer', clusterIP: '172.30.0.45', loadBalancerSourceRanges: given, ports: [port({nodePort: 3002})]};
    const proxy = await new FakeProxy().begin([service('ns5/svc5', spec, ['5.6.7.8'])], [slice('ns5/svc5', ['10.180.0.3'])]);

    t.deepEqual(elements(proxy, 'firewall-ips'), ['{ 5.6.7.8 . tcp . 80 : goto firewall-HVFWP5L3-ns5/svc5/tcp/p80 }']);
    t.true(servicePart(proxy).includes(`add rule firewall-HVFWP5L3-ns5/svc5/tcp/p80 ${rule}`));
  });

test('a source range that holds every address guards nothing', async t => {
  const spec = {type: 'LoadBalancer', clusterIP: '172.30.0.45', loadBalancerSourceRanges: ['203.0.113.0/25', '0.0.0.0/0']};
  const proxy = await new FakeProxy().begin([service('ns5/svc5', spec, ['5.6.7.8'])], [slice('ns5/svc5', ['10.180.0.3'])]);

  t.deepEqual(elements(proxy, 'firewall-ips'), []);
});

test('IPv6 has a table of its own, with the addresses and endpoints of its family', async t => {
  const proxy = await new FakeProxy({family: 'IPv6'}).begin(
    [
      service('ns1/svc1', {
        clusterIP: '172.30.0.41',
        clusterIPs: ['172.30.0.41', 'fd00:10:96::29'],
        ipFamilies: ['IPv4', 'IPv6'],
        externalIPs: ['192.168.99.22', '2001:db8::99'],
      }),
    ],
    [slice('ns1/svc1', ['10.180.0.1'], undefined, 'v4'), slice('ns1/svc1', ['fd00:10::1'], undefined, 'v6')],
  );
  const lines = servicePart(proxy, 'ip6 kube-proxy');

  t.true(lines.includes('add element service-ips { fd00:10:96::29 . tcp . 80 : goto service-ULMVA6XW-ns1/svc1/tcp/p80 }'));
  t.true(lines.includes('add element service-ips { 2001:db8::99 . tcp . 80 : goto external-ULMVA6XW-ns1/svc1/tcp/p80 }'));
  t.true(lines.some(line => line.endsWith('fd00.10..1/80 meta l4proto tcp dnat to [fd00:10::1]:80')));
  t.false(lines.some(line => /10\.180|192\.168/.test(line)));
  t.deepEqual(proxy.kernel.dump(), []);
});

const base: BaseSettings = {family: 'IPv4', mark: '0x00004000', serviceCidrs: ['172.30.0.0/16'], nodePortAddresses: ['192.168.0.2']};

const baseOf = async (settings: Partial<BaseSettings>): Promise<string[]> => {
  const kernel = new FakeNft();
  const {stderr} = await kernel.run({program: 'nft', args: ['-f', '-'], input: baseLines({...base, ...settings}, true).join('\n')});
  if (stderr) throw new Error(stderr);
  return kernel.dump(settings.family === 'IPv6' ? 'ip6 kube-proxy' : undefined).flatMap(text => text.split('\n'));
};

test('the base leads packets at each hook to the maps of services', async t => {
  t.deepEqual(
    (await baseOf({})).filter(line => line.startsWith('add rule')),
    [
      'add rule cluster-ips-check ip daddr @cluster-ips reject comment "Reject traffic to invalid ports of ClusterIPs"',
      'add rule cluster-ips-check ip daddr { 172.30.0.0/16 } drop comment "Drop traffic to unallocated ClusterIPs"',
      'add rule filter-forward ct state new jump service-endpoints-check',
      'add rule filter-forward ct state new jump cluster-ips-check',
      'add rule filter-input ct state new jump nodeport-endpoints-check',
      'add rule filter-input ct state new jump service-endpoints-check',
      'add rule filter-output ct state new jump service-endpoints-check',
      'add rule filter-output ct state new jump cluster-ips-check',
      'add rule filter-output-pre-dnat ct state new jump firewall-check',
      'add rule filter-prerouting-pre-dnat ct state new jump firewall-check',
      'add rule firewall-check ip daddr . meta l4proto . th dport vmap @firewall-ips',
      'add rule mark-for-masquerade mark set mark or 0x00004000',
      'add rule masquerading mark and 0x00004000 == 0 return',
      'add rule masquerading mark set mark xor 0x00004000',
      'add rule masquerading masquerade fully-random',
      'add rule nat-output jump services',
      'add rule nat-postrouting jump masquerading',
      'add rule nat-prerouting jump services',
      'add rule nodeport-endpoints-check ip daddr @nodeport-ips meta l4proto . th dport vmap @no-endpoint-nodeports',
      'add rule reject-chain reject',
      'add rule service-endpoints-check ip daddr . meta l4proto . th dport vmap @no-endpoint-services',
      'add rule services ip daddr . meta l4proto . th dport vmap @service-ips',
      'add rule services ip daddr @nodeport-ips meta l4proto . th dport vmap @service-nodeports',
    ],
  );
});

test('without node port addresses all local ones but the loopback take traffic to node ports', async t => {
  for (const [family, notLoopback] of [
    ['IPv4', 'ip daddr != 127.0.0.0/8'],
    ['IPv6', 'ip6 daddr != ::1'],
  ] as const) {
    const lines = await baseOf({family, nodePortAddresses: undefined, serviceCidrs: []});

    t.true(lines.includes(`add rule nodeport-endpoints-check ${notLoopback} meta l4proto . th dport vmap @no-endpoint-nodeports`));
    t.true(lines.includes(`add rule services fib daddr type local ${notLoopback} meta l4proto . th dport vmap @service-nodeports`));
    t.false(lines.some(line => line.includes('nodeport-ips') || line.includes('Drop traffic')));
  }
});

test('names are those of the original, with a digest, and never longer than the kernel takes', t => {
  const name = {namespace: 'ns1', name: 'svc1', port: 'p80', protocol: 'TCP'} as const;
  const at = (ip: string) => ({
    address: '',
    ip,
    port: 80,
    isLocal: false,
    isReady: true,
    isServing: true,
    isTerminating: false,
    zoneHints: [],
    nodeHints: [],
  });
  const long = {...name, namespace: 'n'.repeat(63), name: 's'.repeat(63), port: 'p'.repeat(63)};
  const {chain} = endpointNames(long, at('2001:db8:1111:2222:3333:4444:5555:6666'));

  t.is(portChains(name).cluster, 'service-ULMVA6XW-ns1/svc1/tcp/p80');
  t.is(endpointNames(name, at('10.180.0.1')).affinity, 'affinity-5OJB2KTY-ns1/svc1/tcp/p80__10.180.0.1/80');
  t.is(chain.length, 'endpoint-'.length + 240);
  t.true(chain.endsWith('...'));
});
