import {execFile, spawnSync} from 'node:child_process';
import {readFileSync} from 'node:fs';
import {promisify} from 'node:util';
import test from 'ava';
import packet from 'dns-packet';
import {parseAllDocuments} from 'yaml';
import {kinds} from '#src/api/kinds/index.js';
import type {ClusterRole} from '#src/api/types.js';
import {aService, aSlice} from './cluster.js';
import {aQuery, aServer, ask, createObjects, examplePlane, plainPlane, resolverAt, sendDatagram, withEdns} from './server.js';
import {TestUpstreams} from './upstreams.js';

const shared = examplePlane();
test.after.always(async () => (await shared)[Symbol.asyncDispose]());

const codeOf = (lookup: Promise<unknown>): Promise<string | undefined> =>
  lookup.then(
    () => undefined,
    (error: NodeJS.ErrnoException) => error.code,
  );

test('the resolver of Node.js finds the records of a cluster', async t => {
  await using dns = await aServer(await shared);
  const resolver = resolverAt(dns);
  const D = 'svc.cluster.local';

  t.true(dns.isReady());
  t.deepEqual(await resolver.resolveTxt('dns-version.cluster.local'), [['1.1.0']]);
  t.deepEqual(await resolver.resolve4(`kubernetes.default.${D}`, {ttl: true}), [{address: '10.96.0.1', ttl: 5}]);
  t.deepEqual(await resolver.resolve6(`dual.default.${D}`), ['fd00:96::7']);
  t.is(await codeOf(resolver.resolve6(`kubernetes.default.${D}`)), 'ENODATA');
  t.is(await codeOf(resolver.resolve4(`nobody.default.${D}`)), 'ENOTFOUND');
  t.deepEqual((await resolver.resolve4(`pets.shop.${D}`)).sort(), ['10.244.1.5', '10.244.1.6']);
  t.deepEqual(await resolver.resolve4(`cat.pets.shop.${D}`), ['10.244.1.5']);
  t.deepEqual(await resolver.resolve4(`10-244-1-6.pets.shop.${D}`), ['10.244.1.6']);
  const services = await resolver.resolveSrv(`_http._tcp.dual.default.${D}`);
  t.is(services.length, 1);
  t.like(services[0], {name: `dual.default.${D}`, port: 80, priority: 0, weight: 50});
  t.deepEqual((await resolver.resolveSrv(`_http._tcp.pets.shop.${D}`)).map(({name, port}) => `${name}:${port}`).sort(), [
    `10-244-1-6.pets.shop.${D}:8080`,
    `cat.pets.shop.${D}:8080`,
  ]);
  t.deepEqual(await resolver.resolve4(`inside.default.${D}`), ['10.96.0.1']);
  t.deepEqual(await resolver.resolveCname(`outside.default.${D}`), ['www.example.com']);
  t.deepEqual(await resolver.reverse('10.96.0.7'), [`dual.default.${D}`]);
  t.deepEqual(await resolver.reverse('fd00:96::7'), [`dual.default.${D}`]);
  t.deepEqual(await resolver.reverse('10.244.1.5'), [`cat.pets.shop.${D}`]);
  t.deepEqual(await resolver.resolve4('10-1-2-3.shop.pod.cluster.local'), ['10.1.2.3']);
  t.is(await codeOf(resolver.resolveNs('cluster.local')), 'ENODATA', 'a server on loopback is no server for others');
});

test('a server follows the cluster, in either naming', async t => {
  for (const naming of ['plat', 'kubernetes'] as const) {
    await using plane = await plainPlane(naming);
    await using dns = await aServer(plane);
    const client = plane.client();
    const name = 'web.default.svc.cluster.local';
    t.is((await ask(dns, name)).rcode, 'NXDOMAIN');
    await client.resource(kinds.services).create(aService('web', {clusterIP: 'None', ports: [{port: 80}]}));
    const label = naming === 'plat' ? 'plat.io/service-name' : 'kubernetes.io/service-name';
    const trigger = `endpoints.${naming === 'plat' ? 'plat.io' : 'kubernetes.io'}/last-change-trigger-time`;
    const slice = await client.resource(kinds.endpointSlices).create({
      ...aSlice('web', [{addresses: ['10.244.0.1'], conditions: {ready: true}}], {ports: [{port: 80}]}),
      metadata: {name: 'web-1', namespace: 'default', labels: {[label]: 'web'}, annotations: {[trigger]: new Date().toISOString()}},
    });
    const answers = async () => (await ask(dns, name)).answers!.map(each => (each as packet.StringAnswer).data).sort();
    const until = async (expected: readonly string[]) => {
      for (let found = await answers(); found.join() !== expected.join(); found = await answers()) await new Promise(setImmediate);
    };
    await until(['10.244.0.1']);
    // It may be answered a moment before it is noted.
    const noted = () => dns.meter.value('coredns_kubernetes_dns_programming_duration_seconds', {service_kind: 'headless_with_selector'});
    while (noted() === undefined) await new Promise(setImmediate);
    t.is(noted(), 1);
    await client.resource(kinds.endpointSlices).update({
      ...slice,
      endpoints: [
        {addresses: ['10.244.0.1'], conditions: {ready: false}},
        {addresses: ['10.244.0.2'], conditions: {ready: true}},
      ],
    });
    await until(['10.244.0.2']);
    await client.resource(kinds.services).delete('web', {namespace: 'default'});
    await until([]);
    t.is((await ask(dns, name)).rcode, 'NXDOMAIN');
  }
});

test('a response has the id, the question in its case and the bits of the query, and says who answers', async t => {
  await using dns = await aServer(await shared);
  const found = await ask(dns, 'KuBernetes.Default.svc.cluster.LOCAL', 'A', {flags: packet.RECURSION_DESIRED | packet.CHECKING_DISABLED});
  t.like(found, {
    id: 4711,
    type: 'response',
    flag_aa: true,
    flag_rd: true,
    flag_ra: false,
    flag_cd: true,
    flag_tc: false,
    rcode: 'NOERROR',
  });
  t.is(found.questions![0]!.name, 'KuBernetes.Default.svc.cluster.LOCAL');
  t.is(found.answers![0]!.name, 'KuBernetes.Default.svc.cluster.LOCAL');

  const denied = await ask(dns, 'nobody.default.svc.Cluster.local', 'A', {flags: 0});
  t.like(denied, {flag_aa: true, flag_rd: false, rcode: 'NXDOMAIN', answers: []});
  t.like(denied.authorities[0], {
    type: 'SOA',
    name: 'Cluster.local',
    ttl: 5,
    data: {mname: 'ns.dns.Cluster.local', rname: 'hostmaster.Cluster.local', minimum: 5},
  });
  const none = await ask(dns, 'kubernetes.default.svc.cluster.local', 'AAAA');
  t.like(none, {rcode: 'NOERROR', answers: []});
  t.is(none.authorities.length, 1);
});

test('the role of the manifests lets a server read what it needs, and nothing else', async t => {
  await using plane = await plainPlane();
  const [role, binding] = parseAllDocuments(readFileSync('manifests/dns/rights.yaml', 'utf8')).map(
    document => document.toJS() as ClusterRole,
  );
  await plane.client().resource(kinds.clusterRoles).create(role!);
  await plane
    .client()
    .resource(kinds.clusterRoleBindings)
    .create(binding as never);
  const name = 'system:serviceaccount:kube-system:plat-dns';
  const account = plane.client({name, groups: ['system:serviceaccounts', 'system:authenticated']});
  await using dns = await aServer({client: () => account}, {pods: 'verified'});

  t.is((await ask(dns, 'kubernetes.default.svc.cluster.local')).rcode, 'NOERROR');
  await t.throwsAsync(account.resource(kinds.secrets).list(), {message: /is forbidden/});
  await t.throwsAsync(account.resource(kinds.services).delete('kubernetes', {namespace: 'default'}), {message: /is forbidden/});
});

test('EDNS is answered by EDNS, and other versions of it are refused', async t => {
  await using dns = await aServer(await shared);
  const name = 'kubernetes.default.svc.cluster.local';
  t.deepEqual((await ask(dns, name)).additionals, []);
  t.like((await ask(dns, name, 'A', withEdns(4096, {flags: 0x8000}))).additionals![0], {
    type: 'OPT',
    udpPayloadSize: 1232,
    flag_do: true,
    ednsVersion: 0,
  });
  t.like((await ask(dns, name, 'A', withEdns(100))).additionals![0], {udpPayloadSize: 512, flag_do: false});
  const other = await ask(dns, name, 'A', withEdns(1232, {ednsVersion: 1}));
  t.like(other, {rcode: 'NOERROR', answers: []});
  t.like(other.additionals![0], {type: 'OPT', extendedRcode: 1, ednsVersion: 0});
});

/** A headless service with so many endpoints. */
const large = async (count: number) => {
  const plane = await plainPlane();
  const endpoints = Array.from({length: count}, (_, at) => ({addresses: [`10.244.${at >> 8}.${at & 255}`], conditions: {ready: true}}));
  await createObjects(plane, {
    services: [aService('many', {clusterIP: 'None', ports: [{port: 80}]})],
    slices: [aSlice('many', endpoints, {ports: [{port: 80}]})],
  });
  return plane;
};

test('what has no room in a datagram is truncated, and whole over a connection', async t => {
  await using plane = await large(200);
  await using dns = await aServer(plane);
  const name = 'many.default.svc.cluster.local';
  const counts = async (more: Partial<packet.Packet>) => {
    const bytes = (await sendDatagram(dns, aQuery(name, 'A', more)))!;
    const {flag_tc: truncated, answers} = packet.decode(bytes) as packet.DecodedPacket;
    return [truncated, answers!.length, bytes.length];
  };

  t.deepEqual(await counts({}), [true, 29, 512]);
  t.deepEqual(await counts(withEdns(65_535)), [true, 73, 1227]);
  t.is((await resolverAt(dns).resolve4(name)).length, 200, 'the resolver asks again over a connection');
});

test('addresses come in another order each time', async t => {
  await using dns = await aServer(await shared);
  const firsts = new Set<string>();
  for (let times = 0; times < 60 && firsts.size < 2; times++)
    firsts.add(((await ask(dns, 'pets.shop.svc.cluster.local')).answers![0] as packet.StringAnswer).data);

  t.deepEqual([...firsts].sort(), ['10.244.1.5', '10.244.1.6']);
});

test('queries of other classes, and transfers, are refused', async t => {
  await using dns = await aServer(await shared);
  const chaos = await ask(dns, 'version.bind', 'TXT', {questions: [{name: 'version.bind', type: 'TXT', class: 'CH'}]});
  t.is(chaos.rcode, 'REFUSED');
  for (const name of ['cluster.local', 'example.com']) t.is((await ask(dns, name, 'AXFR')).rcode, 'REFUSED');
});

const refuse = () => Promise.reject(new Error('not now'));

test('a server that does not know the cluster yet fails for names that it does not find', async t => {
  const plane = await shared;
  const client = plane.client();
  const stuck = Object.create(client, {
    resource: {
      value: (kind: typeof kinds.services) => {
        const resource = client.resource(kind);
        return kind.plural === 'endpointslices' ? Object.create(resource, {list: {value: refuse}, watch: {value: refuse}}) : resource;
      },
    },
  }) as typeof client;
  t.timeout(20_000);
  await using dns = await aServer({client: () => stuck}, {}, {}, {waits: false});

  t.false(dns.isReady());
  t.is((await ask(dns, 'kubernetes.default.svc.cluster.local')).rcode, 'NOERROR');
  t.like(await ask(dns, 'pets.shop.svc.cluster.local'), {rcode: 'SERVFAIL', flag_aa: true});
});

test('what is answered is counted by the names of CoreDNS', async t => {
  await using dns = await aServer(await shared, {forward: ['192.0.2.1']}, {exchanges: new TestUpstreams(() => ({rcode: 3}))});
  const server = `dns://127.0.0.1:${dns.port}`;
  await ask(dns, 'kubernetes.default.svc.cluster.local', 'A', withEdns(1232, {flags: 0x8000}));
  await ask(dns, 'nobody.default.svc.cluster.local', 'TXT');
  await ask(dns, 'x.example.com', 'HINFO');
  await ask(dns, 'x', 'A', {questions: [{name: 'x', type: 'A', class: 'CH'}]});
  const value = (name: string, labels: Record<string, string>) => dns.meter.value(`coredns_${name}`, {server, view: '', ...labels});

  t.is(value('dns_requests_total', {zone: '.', proto: 'udp', family: '1', type: 'A'}), 1);
  t.is(value('dns_requests_total', {zone: '.', proto: 'udp', family: '1', type: 'other'}), 1);
  t.is(value('dns_requests_total', {zone: 'dropped', proto: 'udp', family: '1', type: 'A'}), 1);
  t.is(value('dns_responses_total', {zone: '.', rcode: 'NOERROR', plugin: 'kubernetes'}), 1);
  t.is(value('dns_responses_total', {zone: '.', rcode: 'NXDOMAIN', plugin: 'kubernetes'}), 1);
  t.is(value('dns_responses_total', {zone: '.', rcode: 'NXDOMAIN', plugin: 'forward'}), 1);
  t.is(value('dns_responses_total', {zone: 'dropped', rcode: 'REFUSED', plugin: ''}), 1);
  t.is(value('dns_do_requests_total', {zone: '.'}), 1);
  t.is(value('dns_request_duration_seconds', {zone: '.'}), 4);
  t.is(value('dns_request_size_bytes', {zone: '.', proto: 'udp'}), 4);
  t.is(dns.meter.value('coredns_cache_entries', {server: 'dns://127.0.0.1:0', type: 'success', zones: '.', view: ''}), 0);
});

const hasDig = spawnSync('dig', ['-v']).error === undefined;

(hasDig ? test : test.skip)('dig finds a service, and is told of the size of datagrams', async t => {
  await using dns = await aServer(await shared);
  const dig = async (...args: readonly string[]) =>
    (await promisify(execFile)('dig', ['-p', String(dns.port), `@${dns.address}`, ...args])).stdout;

  t.is((await dig('+short', 'kubernetes.default.svc.cluster.local')).trim(), '10.96.0.1');
  t.regex(await dig('+bufsize=4096', 'nobody.default.svc.cluster.local'), /status: NXDOMAIN[^]*; EDNS: version: 0, flags:; udp: 1232\n/);
});
if (!hasDig) test('dig is not installed, so it is not tried', t => t.pass());
