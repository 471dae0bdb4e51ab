import {createSocket} from 'node:dgram';
import {createServer, type AddressInfo} from 'node:net';
import test from 'ava';
import packet from 'dns-packet';
import {freePort} from '#test/fixtures/free-port.js';
import {aServer, ask, examplePlane, framed, resolverAt} from './server.js';
import {anAddress, TestUpstreams} from './upstreams.js';

const shared = examplePlane();
test.after.always(async () => (await shared)[Symbol.asyncDispose]());

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
  const port = await freePort();
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
