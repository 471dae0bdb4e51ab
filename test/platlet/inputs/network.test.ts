import test from 'ava';
import type {Pod} from '#src/api/pod.js';
import {hostNetworkHostsFile, podHostsFile} from '#src/platlet/inputs/hosts-file.js';
import {kernelHostname, podNames} from '#src/platlet/inputs/hostname.js';
import {parseResolverFile, podResolver, type ResolverSettings} from '#src/platlet/inputs/resolver.js';
import {aPod} from '#test/platlet/pod/objects.js';

const local = [
  '# Kubernetes-managed hosts file.',
  '127.0.0.1\tlocalhost',
  '::1\tlocalhost ip6-localhost ip6-loopback',
  'fe00::0\tip6-localnet',
  'fe00::0\tip6-mcastprefix',
  'fe00::1\tip6-allnodes',
  'fe00::2\tip6-allrouters',
];

test('the hosts file of a pod has its addresses, names and aliases', t => {
  const aliases = [{ip: '1.2.3.4', hostnames: ['a', 'b']}];
  t.deepEqual(podHostsFile({addresses: ['10.1.0.2', 'fd00::2'], hostname: 'web', domain: 'sub.default.svc.c.local', aliases}).split('\n'), [
    ...local,
    '10.1.0.2\tweb.sub.default.svc.c.local\tweb',
    'fd00::2\tweb.sub.default.svc.c.local\tweb',
    '',
    '# Entries added by HostAliases.',
    '1.2.3.4\ta\tb',
    '',
  ]);
  t.deepEqual(podHostsFile({addresses: ['10.1.0.2'], hostname: 'web', domain: '', aliases: []}).split('\n'), [
    ...local,
    '10.1.0.2\tweb',
    '',
  ]);
  t.is(
    hostNetworkHostsFile('127.0.0.1 me\n', aliases),
    '# Kubernetes-managed hosts file (host network).\n127.0.0.1 me\n\n# Entries added by HostAliases.\n1.2.3.4\ta\tb\n',
  );
});

const names: [title: string, spec: Parameters<typeof aPod>[0], name: string, hostname: string, domain: string][] = [
  ['by default', {}, 'pod', 'pod', ''],
  ['of a long name', {}, `${'a'.repeat(62)}.bc`, 'a'.repeat(62), ''],
  ['of its own', {hostname: 'web', subdomain: 'sub'}, 'pod', 'web', 'sub.default.svc.cluster.local'],
  ['of an override', {hostname: 'web', subdomain: 'sub', hostnameOverride: 'x.y'} as object, 'pod', 'x.y', ''],
];

for (const [title, spec, name, hostname, domain] of names)
  test(`the host name of a pod is that ${title}`, t => {
    t.deepEqual(podNames(aPod(spec, {name}), 'cluster.local'), {hostname, domain});
  });

test('a full name that the kernel does not take is refused', t => {
  const pod = aPod({setHostnameAsFQDN: true, subdomain: 'sub'});
  t.is(kernelHostname(pod, podNames(pod, 'c.local')), 'pod.sub.default.svc.c.local');
  const long = podNames(pod, 'a-very-long-domain.of-some-cluster.example.com');
  t.throws(() => kernelHostname(pod, long), {
    message:
      'failed to construct FQDN from pod hostname and cluster domain, FQDN pod.sub.default.svc.a-very-long-domain.of-some-cluster.example.com is too long (64 is the max characters allowed, 66 characters given)',
  });
});

const settings: ResolverSettings = {
  agent: 'platlet',
  clusterDns: ['10.96.0.10'],
  clusterDomain: 'cluster.local',
  hostFile: '# comment\nnameserver 1.1.1.1\nnameserver 2.2.2.2\nsearch first.example\nsearch example.com. other.org\noptions edns0 edns0\n',
};

const resolverOf = (spec: Pod['spec'] | object, changes: Partial<ResolverSettings> = {}) =>
  podResolver(aPod(spec as object), {...settings, ...changes});

test('a resolver file has servers, and its last searches and options', t => {
  t.deepEqual(parseResolverFile(settings.hostFile!), {
    servers: ['1.1.1.1', '2.2.2.2'],
    searches: ['example.com', 'other.org'],
    options: ['edns0'],
  });
});

const cluster = {
  servers: ['10.96.0.10'],
  searches: ['default.svc.cluster.local', 'svc.cluster.local', 'cluster.local', 'example.com', 'other.org'],
  options: ['ndots:5'],
};
const host = {servers: ['1.1.1.1', '2.2.2.2'], searches: ['example.com', 'other.org'], options: ['edns0']};
const nothing = {servers: [], searches: [], options: []};

const policies: [title: string, spec: object, expected: object, changes?: Partial<ResolverSettings>][] = [
  ['ClusterFirst', {dnsPolicy: 'ClusterFirst'}, cluster],
  ['ClusterFirst in the network of the host', {dnsPolicy: 'ClusterFirst', hostNetwork: true}, host],
  ['ClusterFirstWithHostNet', {dnsPolicy: 'ClusterFirstWithHostNet', hostNetwork: true}, cluster],
  ['Default', {dnsPolicy: 'Default'}, host],
  ['Default without a file', {dnsPolicy: 'Default'}, {servers: ['127.0.0.1'], searches: ['.'], options: []}, {hostFile: undefined}],
  ['None', {dnsPolicy: 'None'}, nothing],
  [
    'None with servers',
    {
      dnsPolicy: 'None',
      dnsConfig: {nameservers: ['9.9.9.9', '9.9.9.9'], searches: ['a'], options: [{name: 'ndots', value: '2'}, {name: 'x'}]},
    },
    {servers: ['9.9.9.9'], searches: ['a'], options: ['ndots:2', 'x']},
  ],
  [
    'ClusterFirst with options of the pod',
    {dnsConfig: {nameservers: ['10.96.0.10', '8.8.8.8'], searches: ['other.org', 'z'], options: [{name: 'ndots', value: '1'}]}},
    {servers: ['10.96.0.10', '8.8.8.8'], searches: [...cluster.searches, 'z'], options: ['ndots:1']},
  ],
];

for (const [title, spec, expected, changes] of policies)
  test(`the resolver of a pod follows its policy: ${title}`, t => {
    t.deepEqual(resolverOf(spec, changes), {dns: expected, warnings: []} as ReturnType<typeof resolverOf>);
  });

test('without servers of the cluster a pod has those of the host, with a warning', t => {
  t.deepEqual(resolverOf({}, {clusterDns: []}), {
    dns: host,
    warnings: [
      [
        'MissingClusterDNS',
        'pod: "pod_default(u)". platlet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.',
      ],
    ],
  });
});

test('what is more than resolvers take is left out, with warnings', t => {
  const searches = Array.from({length: 34}, (_, index) => `s${index}`);
  const {dns, warnings} = resolverOf({dnsPolicy: 'None', dnsConfig: {nameservers: ['1', '2', '3', '4'], searches}});
  t.deepEqual(dns.servers, ['1', '2', '3']);
  t.is(dns.searches.length, 32);
  t.deepEqual(warnings, [
    ['DNSConfigForming', 'Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: 1 2 3'],
    [
      'DNSConfigForming',
      `Search Line limits were exceeded, some search paths have been omitted, the applied search line is: ${searches.slice(0, 32).join(' ')}`,
    ],
  ]);
  const long = resolverOf({dnsPolicy: 'None', dnsConfig: {searches: ['a'.repeat(2000), 'b'.repeat(47), 'c']}});
  t.is(long.dns.searches.length, 2);
});
