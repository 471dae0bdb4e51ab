import test from 'ava';
import {reversedAddress} from '#src/dns/cluster/reverse.js';
import {nameText, parseName} from '#src/dns/wire/names.js';
import {aService, aSlice, examples, zoneOf} from './cluster.js';
import {recordText, resolve, verdictText} from './shown.js';

const zone = zoneOf(examples);

/** The records of the specification, and what stands around them: what is asked, and what is answered. */
const lookups: readonly (readonly [what: string, query: string, expected: string | readonly string[]])[] = [
  ['the version of the specification', 'dns-version.cluster.local TXT', ['dns-version.cluster.local. 28800 TXT "1.1.0"']],
  ['the version has no address', 'dns-version.cluster.local A', 'nothing'],
  ['a service', 'kubernetes.default.svc.cluster.local A', ['kubernetes.default.svc.cluster.local. 5 A 10.96.0.1']],
  ['a service has no address of the other family', 'kubernetes.default.svc.cluster.local AAAA', 'nothing'],
  ['a service has no texts', 'kubernetes.default.svc.cluster.local TXT', 'nothing'],
  ['a service exists for types that are not known', 'kubernetes.default.svc.cluster.local 65280', 'nothing'],
  ['a service exists for all types', 'kubernetes.default.svc.cluster.local ANY', 'nothing'],
  ['a service of both families, by IPv4', 'dual.default.svc.cluster.local A', ['dual.default.svc.cluster.local. 5 A 10.96.0.7']],
  ['a service of both families, by IPv6', 'dual.default.svc.cluster.local AAAA', ['dual.default.svc.cluster.local. 5 AAAA fd00:96::7']],
  ['a service that is not there', 'nobody.default.svc.cluster.local A', 'unknown'],
  ['a service that is not there, for other types', 'nobody.default.svc.cluster.local MX', 'unknown'],
  ['a service of another namespace', 'kubernetes.shop.svc.cluster.local A', 'unknown'],
  ['a namespace that is not there', 'kubernetes.nowhere.svc.cluster.local A', 'unknown'],
  ['a namespace exists', 'default.svc.cluster.local A', 'nothing'],
  ['a namespace that is not there does not', 'nowhere.svc.cluster.local A', 'unknown'],
  ['the folder of services exists', 'svc.cluster.local A', 'nothing'],
  ['the folder of pods exists', 'pod.cluster.local TXT', 'nothing'],
  ['no other folder exists', 'ingress.cluster.local A', 'unknown'],
  ['the domain exists', 'cluster.local A', 'nothing'],
  [
    'a named port',
    '_https._tcp.kubernetes.default.svc.cluster.local SRV',
    ['_https._tcp.kubernetes.default.svc.cluster.local. 5 SRV 0 100 443 kubernetes.default.svc.cluster.local.'],
  ],
  [
    'a named port of a service of both families, once',
    '_http._tcp.dual.default.svc.cluster.local SRV',
    ['_http._tcp.dual.default.svc.cluster.local. 5 SRV 0 50 80 dual.default.svc.cluster.local.'],
  ],
  ['a port of another protocol', '_http._udp.dual.default.svc.cluster.local SRV', 'unknown'],
  ['a port that is not there', '_ssh._tcp.dual.default.svc.cluster.local SRV', 'unknown'],
  ['a port by a star is no wildcard', '_*._tcp.dual.default.svc.cluster.local SRV', 'unknown'],
  ['a protocol by a star is no wildcard', '_http._*.dual.default.svc.cluster.local SRV', 'unknown'],
  ['"any" is no wildcard', '_http._any.dual.default.svc.cluster.local SRV', 'unknown'],
  ['a star for a service is no wildcard', '*.default.svc.cluster.local A', 'unknown'],
  ['a port without a name has no record', '_80._tcp.unnamed.default.svc.cluster.local SRV', 'unknown'],
  [
    'all ports of a service',
    'dual.default.svc.cluster.local SRV',
    [
      'dual.default.svc.cluster.local. 5 SRV 0 25 53 dual.default.svc.cluster.local.',
      'dual.default.svc.cluster.local. 5 SRV 0 25 80 dual.default.svc.cluster.local.',
    ],
  ],
  [
    'the ready endpoints of a headless service',
    'pets.shop.svc.cluster.local A',
    ['pets.shop.svc.cluster.local. 5 A 10.244.1.5', 'pets.shop.svc.cluster.local. 5 A 10.244.1.6'],
  ],
  ['a headless service without ready endpoints', 'none-ready.shop.svc.cluster.local A', 'unknown'],
  ['a headless service without ports', 'without-ports.shop.svc.cluster.local A', ['without-ports.shop.svc.cluster.local. 5 A 10.244.1.10']],
  ['a headless service without ports has no port records', 'without-ports.shop.svc.cluster.local SRV', 'nothing'],
  ['a headless service of IPv6', 'six.shop.svc.cluster.local A', 'nothing'],
  ['an endpoint by its hostname', 'cat.pets.shop.svc.cluster.local A', ['cat.pets.shop.svc.cluster.local. 5 A 10.244.1.5']],
  ['an endpoint with a hostname has no other name', '10-244-1-5.pets.shop.svc.cluster.local A', 'unknown'],
  ['an endpoint by its address', '10-244-1-6.pets.shop.svc.cluster.local A', ['10-244-1-6.pets.shop.svc.cluster.local. 5 A 10.244.1.6']],
  [
    'an endpoint of IPv6 by its address',
    'fd00-244--5.six.shop.svc.cluster.local AAAA',
    ['fd00-244--5.six.shop.svc.cluster.local. 5 AAAA fd00:244::5'],
  ],
  [
    'an address that ends in zeros',
    'fd00-244--0.six.shop.svc.cluster.local AAAA',
    ['fd00-244--0.six.shop.svc.cluster.local. 5 AAAA fd00:244::'],
  ],
  ['an endpoint that is not ready', 'dog.pets.shop.svc.cluster.local A', 'unknown'],
  [
    'an endpoint of a service with an address of its own',
    '10-244-2-3.dual.default.svc.cluster.local A',
    ['10-244-2-3.dual.default.svc.cluster.local. 5 A 10.244.2.3'],
  ],
  [
    'a named port of a headless service, for each endpoint',
    '_http._tcp.pets.shop.svc.cluster.local SRV',
    [
      '_http._tcp.pets.shop.svc.cluster.local. 5 SRV 0 50 8080 10-244-1-6.pets.shop.svc.cluster.local.',
      '_http._tcp.pets.shop.svc.cluster.local. 5 SRV 0 50 8080 cat.pets.shop.svc.cluster.local.',
    ],
  ],
  ['names below those of ports', 'x._http._tcp.pets.shop.svc.cluster.local A', 'unknown'],
  [
    'a name outside',
    'outside.default.svc.cluster.local A',
    ['outside.default.svc.cluster.local. 5 CNAME www.example.com.', 'and www.example.com.'],
  ],
  ['a name outside, as such', 'outside.default.svc.cluster.local CNAME', ['outside.default.svc.cluster.local. 5 CNAME www.example.com.']],
  ['a name outside has no ports here', 'outside.default.svc.cluster.local SRV', 'nothing'],
  ['nothing is below a name outside', 'x.outside.default.svc.cluster.local A', 'unknown'],
  ['no port is below a name outside', '_http._tcp.outside.default.svc.cluster.local SRV', 'unknown'],
  [
    'a name inside',
    'inside.default.svc.cluster.local A',
    [
      'inside.default.svc.cluster.local. 5 CNAME kubernetes.default.svc.cluster.local.',
      'kubernetes.default.svc.cluster.local. 5 A 10.96.0.1',
    ],
  ],
  ['a name inside without an address of the family', 'inside.default.svc.cluster.local AAAA', 'nothing'],
  [
    'a name that leads to one that leads on',
    'twice.default.svc.cluster.local A',
    [
      'inside.default.svc.cluster.local. 5 CNAME kubernetes.default.svc.cluster.local.',
      'kubernetes.default.svc.cluster.local. 5 A 10.96.0.1',
      'twice.default.svc.cluster.local. 5 CNAME inside.default.svc.cluster.local.',
    ],
  ],
  ['a name that leads to nothing', 'dangling.default.svc.cluster.local A', 'nothing'],
  ['a name that leads to itself', 'itself.default.svc.cluster.local A', 'nothing'],
  ['names that lead to each other', 'ping.default.svc.cluster.local A', 'nothing'],
  ['an address is no name to lead to', 'address.default.svc.cluster.local A', 'unknown'],
  ['a pod', '10-244-1-5.shop.pod.cluster.local A', ['10-244-1-5.shop.pod.cluster.local. 5 A 10.244.1.5']],
  ['a pod of IPv6', 'fd00--1.shop.pod.cluster.local AAAA', ['fd00--1.shop.pod.cluster.local. 5 AAAA fd00::1']],
  ['a pod has no address of the other family', '10-244-1-5.shop.pod.cluster.local AAAA', 'nothing'],
  ['a pod of no address', 'one.shop.pod.cluster.local A', 'unknown'],
  ['a pod of no address either', '10-244-1-500.shop.pod.cluster.local A', 'unknown'],
  ['a pod of a namespace that is not there', '10-244-1-5.nowhere.pod.cluster.local A', 'unknown'],
  ['the server of the domain', 'cluster.local NS', ['cluster.local. 5 NS kube-dns.kube-system.svc.cluster.local.']],
  ['only the domain has a server', 'kubernetes.default.svc.cluster.local NS', 'nothing'],
  ['the address of the server', 'ns.dns.cluster.local A', ['ns.dns.cluster.local. 5 A 10.96.0.10']],
  ['the server has no address of the other family', 'ns.dns.cluster.local AAAA', 'nothing'],
  ['only the domain has an authority', 'kubernetes.default.svc.cluster.local SOA', 'nothing'],
  ['a transfer', 'cluster.local AXFR', 'refused'],
];

for (const [what, query, expected] of lookups) {
  test(`the zone answers: ${what}`, t => {
    t.deepEqual(verdictText(resolve(zone, query)), expected);
  });
}

test('names are found in any case, and answered in the case in which they were asked', t => {
  t.deepEqual(verdictText(resolve(zone, 'KuberneteS.DEFAULT.svc.Cluster.LOCAL A')), [
    'KuberneteS.DEFAULT.svc.Cluster.LOCAL. 5 A 10.96.0.1',
  ]);
  t.deepEqual(verdictText(resolve(zone, '_HTTP._tcp.pets.shop.svc.cluster.LOCAL SRV')), [
    '_HTTP._tcp.pets.shop.svc.cluster.LOCAL. 5 SRV 0 50 8080 10-244-1-6.pets.shop.svc.cluster.LOCAL.',
    '_HTTP._tcp.pets.shop.svc.cluster.LOCAL. 5 SRV 0 50 8080 cat.pets.shop.svc.cluster.LOCAL.',
  ]);
});

test('port records come with the addresses of the names that they lead to', t => {
  const verdict = resolve(zone, '_http._tcp.dual.default.svc.cluster.local SRV');

  t.deepEqual(verdict.kind === 'records' && verdict.additional?.map(recordText), [
    'dual.default.svc.cluster.local. 5 A 10.96.0.7',
    'dual.default.svc.cluster.local. 5 AAAA fd00:96::7',
  ]);
});

test('names of pods are answered by mode: not at all, or only if a pod of the namespace that has not ended has the address', t => {
  const answers = (mode: 'disabled' | 'verified', pod: string) => resolve(zoneOf(examples, mode), `${pod}.pod.cluster.local A`).kind;

  t.deepEqual([answers('disabled', '10-244-1-5.shop'), answers('disabled', 'shop')], ['unknown', 'nothing']);
  t.deepEqual(
    ['10-244-1-5.shop', '10-244-1-5.default', '10-244-1-6.shop', '10-244-1-20.shop'].map(pod => answers('verified', pod)),
    ['records', 'unknown', 'unknown', 'unknown'],
  );
});

test('addresses lead back to the name of their service, or to those of all endpoints that have them', t => {
  const shared = zoneOf({
    ...examples,
    slices: [...examples.slices!, aSlice('kubernetes', [{addresses: ['10.244.1.5'], conditions: {ready: true}}])],
  });
  const names = (ip: string, of = zone) => of.namesOf(ip).map(nameText).sort();

  t.deepEqual(names('10.96.0.1'), ['kubernetes.default.svc.cluster.local.']);
  t.deepEqual(names('fd00:96::7'), ['dual.default.svc.cluster.local.']);
  t.deepEqual(names('10.244.1.5'), ['cat.pets.shop.svc.cluster.local.']);
  t.deepEqual(names('fd00:244::5'), ['fd00-244--5.six.shop.svc.cluster.local.']);
  t.deepEqual(names('10.244.1.7'), [], 'it is not ready');
  t.deepEqual(names('192.0.2.1'), []);
  t.deepEqual(names('10.244.1.5', shared), ['10-244-1-5.kubernetes.default.svc.cluster.local.', 'cat.pets.shop.svc.cluster.local.']);
});

test('only whole addresses that are written backwards are addresses', t => {
  const address = (name: string) => reversedAddress(parseName(name)!);
  const nibbles = `5.${'0.'.repeat(19)}4.4.2.0.${'0.0.0.0.'.repeat(1)}0.0.d.f`;

  t.is(address('1.0.96.10.in-addr.arpa'), '10.96.0.1');
  t.is(address(`${nibbles}.ip6.arpa`), 'fd00:0:244::5');
  for (const name of [
    'in-addr.arpa',
    '0.96.10.in-addr.arpa',
    '1.1.0.96.10.in-addr.arpa',
    'a.0.96.10.in-addr.arpa',
    '256.0.96.10.in-addr.arpa',
    '01.0.96.10.in-addr.arpa',
  ])
    t.is(address(name), undefined, name);
  t.is(address(`x${nibbles.slice(1)}.ip6.arpa`), undefined);
  t.is(address('1.0.96.10.example.com'), undefined);
});

test('the authority of the domain has the fields of CoreDNS', t => {
  const {name, ttl, data} = zone.authority(parseName('x.Cluster.Local')!);
  const numbers = Buffer.from(data, 'latin1').subarray(-20);

  t.is(nameText(name), 'Cluster.Local.');
  t.is(ttl, 5);
  t.true(data.startsWith(`${parseName('ns.dns.Cluster.Local')!}${parseName('hostmaster.Cluster.Local')!}`));
  t.deepEqual(
    [0, 4, 8, 12, 16].map(at => numbers.readUInt32BE(at)),
    [1_767_225_600, 7200, 1800, 86_400, 5],
  );
});

test('a server that no service leads to has a name of its own, and one at a cluster IP that of the service', t => {
  const alone = zoneOf({namespaces: ['default']}, 'insecure', ['192.0.2.53', 'fd00::53']);
  const verdict = resolve(alone, 'cluster.local NS');
  t.deepEqual(verdictText(verdict), ['cluster.local. 5 NS ns.dns.cluster.local.']);
  t.deepEqual(verdict.kind === 'records' && verdict.additional?.map(recordText), [
    'ns.dns.cluster.local. 5 A 192.0.2.53',
    'ns.dns.cluster.local. 5 AAAA fd00::53',
  ]);
  t.deepEqual(verdictText(resolve(alone, 'ns.dns.cluster.local AAAA')), ['ns.dns.cluster.local. 5 AAAA fd00::53']);

  const atService = zoneOf(examples, 'insecure', ['10.96.0.10']);
  t.deepEqual(verdictText(resolve(atService, 'cluster.local NS')), ['cluster.local. 5 NS kube-dns.kube-system.svc.cluster.local.']);
});

test('endpoints with one hostname are all found by it, and each address once', t => {
  const ports = [
    {name: 'http', port: 80, protocol: 'TCP'},
    {name: 'https', port: 443, protocol: 'TCP'},
  ];
  const two = zoneOf({
    services: [aService('web', {clusterIP: 'None', ports})],
    slices: [
      aSlice('web', [{addresses: ['10.244.0.1'], hostname: 'a'}], {ports, name: 'web-1'}),
      aSlice('web', [{addresses: ['10.244.0.2'], hostname: 'a'}], {ports, name: 'web-2'}),
    ],
  });

  t.deepEqual(verdictText(resolve(two, 'a.web.default.svc.cluster.local A')), [
    'a.web.default.svc.cluster.local. 5 A 10.244.0.1',
    'a.web.default.svc.cluster.local. 5 A 10.244.0.2',
  ]);
});

test('a long chain of names ends', t => {
  const chain = Array.from({length: 20}, (_, at) =>
    aService(`link-${at}`, {type: 'ExternalName', externalName: `link-${at + 1}.default.svc.cluster.local`}),
  );
  const long = zoneOf({services: [...chain, aService('link-20', {clusterIP: '10.96.0.20'})]});

  t.is(resolve(long, 'link-0.default.svc.cluster.local A').kind, 'nothing');
  t.is(resolve(long, 'link-12.default.svc.cluster.local A').kind, 'records');
});
