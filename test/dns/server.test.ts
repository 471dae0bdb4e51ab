import {execFileSync, spawnSync} from 'node:child_process';
import {createSocket} from 'node:dgram';
import {Resolver} from 'node:dns/promises';
import {createServer, type AddressInfo} from 'node:net';
import test from 'ava';
import packet from 'dns-packet';
import {kinds} from '#src/api/kinds/index.js';
import {aService, aSlice, examples} from './cluster.js';
import {aQuery, aServer, ask, createObjects, framed, plainPlane, sendDatagram, TestConnection, withEdns, type TestDns} from './server.js';
import {anAddress, TestUpstreams} from './upstreams.js';

/** One plane for all tests that only read. */
const shared = plainPlane().then(async plane => {
  await createObjects(plane, examples);
  return plane;
});
test.after.always(async () => (await shared)[Symbol.asyncDispose]());

const resolverAt = ({address, port}: TestDns): Resolver => {
  const resolver = new Resolver({timeout: 5000, tries: 1});
  resolver.setServers([`${address}:${port}`]);
  return resolver;
};

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
  t.deepEqual(await resolver.resolveSrv(`_http._tcp.dual.default.${D}`), [{name: `dual.default.${D}`, port: 80, priority: 0, weight: 50}]);
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
    t.is(dns.meter.value('coredns_kubernetes_dns_programming_duration_seconds', {service_kind: 'headless_with_selector'}), 1);
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

test('other names are forwarded, and answered as the resolver answers', async t => {
  const upstreams = new TestUpstreams(({name}) =>
    name.toLowerCase() === 'www.example.com.'
      ? {answers: [anAddress('www.example.com', '192.0.2.80')], flags: 0x0080 | 0x0020}
      : {rcode: 3},
  );
  await using dns = await aServer(await shared, {forward: ['192.0.2.1']}, {exchanges: upstreams});
  const found = await ask(dns, 'WWW.example.com');
  t.like(found, {rcode: 'NOERROR', flag_aa: false, flag_ra: true, flag_ad: false});
  t.like(found.answers![0], {name: 'WWW.example.com', data: '192.0.2.80', ttl: 30});
  t.like(await ask(dns, 'www.example.com'), {flag_aa: true}, 'as CoreDNS has it for what is cached');
  t.like(await ask(dns, 'www.example.com', 'A', {flags: packet.RECURSION_DESIRED | packet.AUTHENTIC_DATA}), {flag_ad: true});
  t.is((await ask(dns, 'nobody.example.com')).rcode, 'NXDOMAIN');
  t.deepEqual(
    (await ask(dns, 'outside.default.svc.cluster.local')).answers!.map(each => (each as packet.StringAnswer).data),
    ['www.example.com', '192.0.2.80'],
  );
  t.is((await ask(dns, '1.1.1.1.in-addr.arpa', 'PTR')).rcode, 'NXDOMAIN');
  t.is((await ask(dns, '1.0.96.10.in-addr.arpa', 'A')).rcode, 'NXDOMAIN', 'only pointers are of the cluster');
  t.deepEqual(
    upstreams.asked.filter(({type}) => type !== 13).map(({name}) => name),
    ['WWW.example.com.', 'nobody.example.com.', '1.1.1.1.in-addr.arpa.', '1.0.96.10.in-addr.arpa.'],
  );
});

test('without a resolver other names are refused, and a name that leads outside is answered as far as it goes', async t => {
  await using dns = await aServer(await shared);
  t.is((await ask(dns, 'www.example.com')).rcode, 'REFUSED');
  t.deepEqual(
    (await ask(dns, 'outside.default.svc.cluster.local')).answers!.map(({type}) => type),
    ['CNAME'],
  );
});

test('queries reach a resolver by a socket each, and responses with another id or question are passed over', async t => {
  const ports: number[] = [];
  const upstream = createSocket('udp4');
  upstream.on('message', (bytes, from) => {
    ports.push(from.port);
    const query = packet.decode(bytes);
    const reply = (id: number, name: string, data: string) =>
      upstream.send(
        packet.encode({type: 'response', id, questions: [{name, type: 'A'}], answers: [{name, type: 'A', ttl: 60, data}]}),
        from.port,
        from.address,
      );
    const {name} = query.questions![0]!;
    for (let other = 1; other < 50; other++) reply((query.id! + other) & 0xffff, name, '203.0.113.66');
    reply(query.id!, 'www.example.org', '203.0.113.66');
    upstream.send(Buffer.from('no message'), from.port, from.address);
    reply(query.id!, name, '192.0.2.80');
  });
  await new Promise<void>(resolve => upstream.bind(0, '127.0.0.1', resolve));
  t.teardown(() => upstream.close());
  await using dns = await aServer(await shared, {forward: [`127.0.0.1:${upstream.address().port}`]});
  for (const name of ['a.example.com', 'b.example.com', 'c.example.com'])
    t.deepEqual(
      (await ask(dns, name)).answers!.map(each => (each as packet.StringAnswer).data),
      ['192.0.2.80'],
    );

  t.is(new Set(ports).size, ports.length);
});

test('a response that another sends than the resolver is not taken', async t => {
  const [upstream, forger] = [createSocket('udp4'), createSocket('udp4')];
  upstream.on('message', (bytes, from) => {
    const query = packet.decode(bytes);
    const forged = (data: string) =>
      packet.encode({
        ...query,
        type: 'response',
        additionals: [],
        answers: [{name: query.questions![0]!.name, type: 'A', ttl: 60, data}],
      } as packet.Packet);
    forger.send(forged('203.0.113.66'), from.port, from.address, () => upstream.send(forged('192.0.2.80'), from.port, from.address));
  });
  for (const socket of [upstream, forger]) {
    await new Promise<void>(resolve => socket.bind(0, '127.0.0.1', resolve));
    t.teardown(() => socket.close());
  }
  await using dns = await aServer(await shared, {forward: [`127.0.0.1:${upstream.address().port}`]});

  t.deepEqual(
    (await ask(dns, 'www.example.com')).answers!.map(each => (each as packet.StringAnswer).data),
    ['192.0.2.80'],
  );
});

test('a truncated response of a resolver is asked for again over a connection', async t => {
  const answers = Array.from(
    {length: 300},
    (_, at) => ({name: 'many.example.com', type: 'A', ttl: 60, data: `192.0.2.${at % 250}`}) as const,
  );
  const tcp = createServer(socket => {
    socket.on('data', chunk => {
      const query = packet.decode(chunk.subarray(2));
      const whole = framed(packet.encode({type: 'response', id: query.id!, questions: query.questions!, answers: answers.slice(0, 250)}));
      socket.write(whole.subarray(0, 100), () => socket.write(whole.subarray(100)));
    });
    socket.on('error', () => {});
  });
  await new Promise<void>(resolve => tcp.listen(0, '127.0.0.1', resolve));
  t.teardown(() => tcp.close());
  const {port} = tcp.address() as AddressInfo;
  const udp = createSocket('udp4');
  udp.on('message', (bytes, from) => {
    const query = packet.decode(bytes);
    udp.send(
      packet.encode({type: 'response', id: query.id!, flags: packet.TRUNCATED_RESPONSE, questions: query.questions!}),
      from.port,
      from.address,
    );
  });
  await new Promise<void>(resolve => udp.bind(port, '127.0.0.1', resolve));
  t.teardown(() => udp.close());
  await using dns = await aServer(await shared, {forward: [`127.0.0.1:${port}`]});

  t.is((await resolverAt(dns).resolve4('many.example.com')).length, 250);
});

test('a server that forwards to itself finds that out, and refuses other names from then on', async t => {
  const socket = createSocket('udp4');
  await new Promise<void>(resolve => socket.bind(0, '127.0.0.1', resolve));
  const {port} = socket.address();
  await new Promise<void>(resolve => socket.close(() => resolve()));
  await using dns = await aServer(await shared, {forward: [`127.0.0.1:${port}`]}, {port});
  while (dns.loops.length === 0) await new Promise(setImmediate);

  t.regex(
    dns.loops.join('\n'),
    new RegExp(
      `^loop \\(127\\.0\\.0\\.1:\\d+ -> dns://127\\.0\\.0\\.1:${port}\\) detected: the query "HINFO \\d+\\.\\d+\\." that was forwarded came back`,
    ),
  );
  t.is((await ask(dns, 'www.example.com')).rcode, 'REFUSED');
  t.is((await ask(dns, 'kubernetes.default.svc.cluster.local')).rcode, 'NOERROR');
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

test('queries over one connection are answered without waiting for each other, in pieces of any size', async t => {
  const upstreams = new TestUpstreams(async ({type}) => {
    if (type === 13) return {};
    await new Promise(resolve => setTimeout(resolve, 20));
    return {answers: [anAddress('slow.example.com', '192.0.2.80')]};
  });
  await using dns = await aServer(await shared, {forward: ['192.0.2.1']}, {exchanges: upstreams});
  const connection = new TestConnection(dns);
  const queries = [
    aQuery('slow.example.com', 'A', {id: 1}),
    ...Array.from({length: 50}, (_, at) => aQuery('kubernetes.default.svc.cluster.local', 'A', {id: at + 2})),
  ];
  const bytes = Buffer.concat(queries.map(framed));
  for (let at = 0; at < bytes.length; at += 7) connection.socket.write(bytes.subarray(at, at + 7));
  const responses = await connection.until(51);
  connection.socket.destroy();

  t.deepEqual(
    responses.slice(0, 50).map(({id}) => id),
    Array.from({length: 50}, (_, at) => at + 2),
  );
  t.is(responses[50]!.id, 1);
});

test('a connection that sends nothing is closed', async t => {
  await using dns = await aServer(await shared, {tcpIdleMs: 50});
  const connection = new TestConnection(dns);
  connection.socket.write(Buffer.from([0]));

  await connection.closed;
  t.pass();
});

test('no more connections are held than may, and those of others give way to one that asks', async t => {
  await using dns = await aServer(await shared, {maxTcpConnections: 20});
  const idle = Array.from({length: 200}, () => new TestConnection(dns));
  await Promise.all(idle.slice(0, 100).map(({closed}) => closed));
  const connection = new TestConnection(dns);
  connection.socket.write(framed(aQuery('kubernetes.default.svc.cluster.local')));
  t.is((await connection.until(1))[0]!.rcode, 'NOERROR');
  for (const each of [...idle, connection]) each.socket.destroy();
});

test('messages that are none do no harm by datagram or connection', async t => {
  await using dns = await aServer(await shared);
  const name = 'kubernetes.default.svc.cluster.local';
  const malformed = await sendDatagram(dns, Buffer.concat([aQuery(name).subarray(0, 20)]));
  t.deepEqual([...malformed!.subarray(0, 4)], [0x12, 0x67, 0x81, 0x01]);
  t.is(malformed!.length, 12, 'a header alone');
  const update = aQuery(name);
  update[2] = 5 << 3;
  t.is((await sendDatagram(dns, update))![3]! & 0xf, 4);
  const two = await sendDatagram(
    dns,
    packet.encode({
      type: 'query',
      id: 1,
      questions: [
        {name, type: 'A'},
        {name, type: 'AAAA'},
      ],
    }),
  );
  t.is(two![3]! & 0xf, 1);
  t.is(await sendDatagram(dns, Buffer.from('x'), 100), undefined);
  t.is(await sendDatagram(dns, packet.encode({type: 'response', id: 1, questions: [{name, type: 'A'}]}), 100), undefined);

  const connection = new TestConnection(dns);
  const junk = Buffer.alloc(65_535, 0xff);
  junk[2] = 1; // A query, by its header.
  connection.socket.write(framed(junk));
  connection.socket.write(framed(Buffer.alloc(0)));
  connection.socket.write(framed(aQuery(name)));
  const responses = await connection.until(2);
  connection.socket.destroy();
  t.deepEqual(
    responses.map(({rcode}) => rcode),
    ['FORMERR', 'NOERROR'],
  );
  t.is(dns.meter.value('coredns_panics_total'), 0);
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

test('an address that is in use is named', async t => {
  await using dns = await aServer(await shared);
  await t.throwsAsync(aServer(await shared, {}, {port: dns.port}), {
    message: `cannot listen for DNS queries at 127.0.0.1 port ${dns.port}: EADDRINUSE`,
  });
  await t.throwsAsync(aServer(await shared, {domain: 'a..b'}), {message: 'the domain "a..b" is none'});
});

test('a server listens at many addresses, of both families', async t => {
  const plane = await shared;
  const hostAddresses = () => [
    {address: '127.0.0.1', family: 4 as const, internal: true},
    {address: '127.0.0.2', family: 4 as const, internal: true},
    {address: '::1', family: 6 as const, internal: true},
  ];
  const socket = createSocket('udp4');
  await new Promise<void>(resolve => socket.bind(0, '127.0.0.1', resolve));
  const {port} = socket.address();
  await new Promise<void>(resolve => socket.close(() => resolve()));
  await using dns = await aServer(plane, {}, {addresses: ['::'], port, hostAddresses});
  for (const {address} of hostAddresses())
    t.is((await ask({address, port}, 'kubernetes.default.svc.cluster.local')).rcode, 'NOERROR', address);

  t.is(dns.meter.value('coredns_dns_requests_total', {server: `dns://:${port}`, family: '2', type: 'A'}), 1);
});

const hasDig = spawnSync('dig', ['-v']).error === undefined;

(hasDig ? test : test.skip)('dig finds a service, and is told of the size of datagrams', async t => {
  await using dns = await aServer(await shared);
  const text = execFileSync('dig', ['+short', '-p', String(dns.port), `@${dns.address}`, 'kubernetes.default.svc.cluster.local']);

  t.is(text.toString().trim(), '10.96.0.1');
});
if (!hasDig) test('dig is not installed, so it is not tried', t => t.pass());
