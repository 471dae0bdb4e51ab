import test from 'ava';
import packet from 'dns-packet';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {freePort} from '#test/fixtures/free-port.js';
import {aQuery, aServer, ask, examplePlane, framed, sendDatagram, TestConnection} from './server.js';
import {anAddress, TestUpstreams} from './upstreams.js';

const shared = examplePlane();
test.after.always(async () => (await shared)[Symbol.asyncDispose]());

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
  const port = await freePort();
  await using dns = await aServer(plane, {}, {addresses: ['::'], port, hostAddresses});
  for (const {address} of hostAddresses())
    t.is((await ask({address, port}, 'kubernetes.default.svc.cluster.local')).rcode, 'NOERROR', address);

  t.is(dns.meter.value('coredns_dns_requests_total', {server: `dns://:${port}`, family: '2', type: 'A'}), 1);
});

test('a server follows the addresses of its host, and waits for those that are not to be used yet', async t => {
  const clock = new VirtualClock();
  const port = await freePort();
  let host = ['127.0.0.1', '192.0.2.53'];
  const hostAddresses = () => host.map(address => ({address, family: 4 as const, internal: false}));
  await using dns = await aServer(await shared, {}, {addresses: ['0.0.0.0'], port, hostAddresses, clock});
  t.deepEqual(dns.addresses(), ['127.0.0.1'], 'the other one is not of this host');
  host = ['127.0.0.2', '127.0.0.3'];
  await clock.advance(10_000);
  while (dns.addresses().length !== 2) await new Promise(setImmediate);

  t.deepEqual(dns.addresses(), ['127.0.0.2', '127.0.0.3']);
  t.is((await ask({address: '127.0.0.3', port}, 'kubernetes.default.svc.cluster.local')).rcode, 'NOERROR');
});

test('an address that was named, or the only one, has to be there', async t => {
  const message = 'cannot listen for DNS queries at 192.0.2.53 port 0: EADDRNOTAVAIL';
  const hostAddresses = () => [{address: '192.0.2.53', family: 4 as const, internal: false}];
  for (const address of ['192.0.2.53', '0.0.0.0'])
    await t.throwsAsync(aServer(await shared, {}, {addresses: [address], hostAddresses}), {message}, address);
});
