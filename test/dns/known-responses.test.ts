import test from 'ava';
import packet from 'dns-packet';
import {kinds} from '#src/api/kinds/index.js';
import {caches} from '#src/base/cache-bound.js';
import {aService, aSlice} from './cluster.js';
import {aQuery, aServer, createObjects, examplePlane, plainPlane, sendDatagram, withEdns, type TestDns} from './server.js';

const shared = examplePlane();
test.after.always(async () => (await shared)[Symbol.asyncDispose]());

const keptBytes = (): number => caches().find(({name}) => name === 'dns_responses')?.bytes ?? 0;

const asked = async (dns: TestDns, query: Buffer): Promise<packet.DecodedPacket> => packet.decode((await sendDatagram(dns, query))!);

/** A response with its addresses in one order. */
const inOrder = (response: packet.DecodedPacket) => {
  const sorted = (records: readonly packet.Answer[] | undefined) => records?.map(record => JSON.stringify(record)).sort();
  return {...response, id: 0, answers: sorted(response.answers), additionals: sorted(response.additionals)};
};

const D = 'cluster.local';
const names = [
  `kubernetes.default.svc.${D}`,
  `KUBERNETES.default.svc.${D}`,
  `dual.default.svc.${D}`,
  `pets.shop.svc.${D}`,
  `_http._tcp.pets.shop.svc.${D}`,
  `_http._tcp.dual.default.svc.${D}`,
  `inside.default.svc.${D}`,
  `outside.default.svc.${D}`,
  `nobody.default.svc.${D}`,
  `default.svc.${D}`,
  `dns-version.${D}`,
  `ns.dns.${D}`,
  D,
  '5.1.244.10.in-addr.arpa',
  '7.0.96.10.in-addr.arpa',
];

test.serial('a query that was answered before gets the same response with an id of its own', async t => {
  await using dns = await aServer(await shared);
  for (const name of names)
    for (const type of ['A', 'AAAA', 'SRV', 'PTR', 'TXT', 'SOA', 'NS', 'CNAME'])
      for (const more of [{}, {flags: 0}, withEdns(1232), withEdns(1232, {flags: packet.DNSSEC_OK})]) {
        const first = await asked(dns, aQuery(name, type, {id: 1, ...more}));
        const again = await asked(dns, aQuery(name, type, {id: 2, ...more}));
        t.deepEqual(inOrder(again), inOrder(first), `${name} ${type}`);
        t.deepEqual([first.id, again.id], [1, 2]);
      }
  t.true(keptBytes() > 0);
});

test.serial('responses are counted alike whether they were written before or not', async t => {
  await using dns = await aServer(await shared);
  const counts = async (): Promise<readonly (number | undefined)[]> => {
    await asked(dns, aQuery(`kubernetes.default.svc.${D}`, 'A', withEdns(1232, {flags: packet.DNSSEC_OK})));
    const place = {server: `dns://127.0.0.1:${dns.port}`, zone: '.', view: ''};
    return [
      dns.meter.value('coredns_dns_requests_total', {...place, proto: 'udp', family: '1', type: 'A'}),
      dns.meter.value('coredns_dns_responses_total', {...place, rcode: 'NOERROR', plugin: 'kubernetes'}),
      dns.meter.value('coredns_dns_do_requests_total', place),
      dns.meter.value('coredns_dns_request_size_bytes', {...place, proto: 'udp'}),
      dns.meter.value('coredns_dns_response_size_bytes', {...place, proto: 'udp'}),
      dns.meter.value('coredns_dns_request_duration_seconds', place),
    ];
  };
  t.deepEqual([await counts(), await counts()], [Array(6).fill(1), Array(6).fill(2)]);
});

test.serial('the addresses of a response come in all orders, of either family', async t => {
  await using plane = await plainPlane();
  const families = {A: ['10.0.0.1', '10.0.0.2', '10.0.0.3'], AAAA: ['fd00::1', 'fd00::2', 'fd00::3']};
  await createObjects(plane, {
    services: [aService('web', {clusterIP: 'None', ports: [{port: 80}]})],
    slices: Object.values(families).map((addresses, at) =>
      aSlice(
        'web',
        addresses.map(address => ({addresses: [address], conditions: {ready: true}})),
        {name: `web-${at}`},
      ),
    ),
  });
  await using dns = await aServer(plane);
  for (const [type, addresses] of Object.entries(families)) {
    const orders = new Set<string>();
    for (let count = 0; count < 200 && orders.size < 6; count++) {
      const {answers = []} = await asked(dns, aQuery(`web.default.svc.${D}`, type));
      const found = answers.map(answer => (answer as packet.StringAnswer).data);
      t.deepEqual(found.toSorted(), addresses);
      orders.add(found.join());
    }
    t.is(orders.size, 6);
  }
});

test.serial('a response is forgotten when a service, its endpoints or its namespace change', async t => {
  await using plane = await plainPlane();
  const client = plane.client();
  await using dns = await aServer(plane);
  const name = `web.shop.svc.${D}`;
  const found = async (): Promise<string> => {
    const {answers = [], ...response} = await asked(dns, aQuery(name));
    const {rcode} = response as unknown as {readonly rcode: string};
    return [rcode, ...answers.map(answer => (answer as packet.StringAnswer).data)].join(' ');
  };
  const until = async (expected: string): Promise<void> => {
    for (let count = 0; count < 2; count++) while ((await found()) !== expected) await new Promise(setImmediate);
    t.is(await found(), expected);
  };
  await until('NXDOMAIN');
  await createObjects(plane, {namespaces: ['shop'], services: [aService('web', {clusterIP: 'None', ports: [{port: 80}]}, 'shop')]});
  const slice = await client
    .resource(kinds.endpointSlices)
    .create(aSlice('web', [{addresses: ['10.0.0.1'], conditions: {ready: true}}], {namespace: 'shop'}));
  await until('NOERROR 10.0.0.1');
  await client.resource(kinds.endpointSlices).update({...slice, endpoints: [{addresses: ['10.0.0.2'], conditions: {ready: true}}]});
  await until('NOERROR 10.0.0.2');
  await client.resource(kinds.services).delete('web', {namespace: 'shop'});
  await until('NXDOMAIN');
});

test.serial('queries with options, which are seldom asked twice, are not kept', async t => {
  await using dns = await aServer(await shared);
  await asked(dns, aQuery(`kubernetes.default.svc.${D}`));
  const before = keptBytes();
  for (let count = 0; count < 10; count++) {
    const cookie = {code: 10, data: Buffer.from(`cookie-${count}`)};
    const [opt] = withEdns(1232).additionals! as unknown as object[];
    await asked(dns, aQuery(`kubernetes.default.svc.${D}`, 'A', {additionals: [{...opt, options: [cookie]} as never]}));
  }
  t.is(keptBytes(), before);
});

test.serial('a response that is too long for its query is truncated each time', async t => {
  await using plane = await plainPlane();
  const endpoints = Array.from({length: 100}, (_, at) => ({addresses: [`10.0.1.${at}`], conditions: {ready: true}}));
  await createObjects(plane, {
    services: [aService('web', {clusterIP: 'None', ports: [{port: 80}]})],
    slices: [aSlice('web', endpoints)],
  });
  await using dns = await aServer(plane);
  const seen = new Set<string>();
  for (let count = 0; count < 20; count++) {
    const response = await asked(dns, aQuery(`web.default.svc.${D}`));
    t.true(response.flag_tc);
    for (const answer of response.answers ?? []) seen.add((answer as packet.StringAnswer).data);
  }
  t.true(seen.size > 90, 'which addresses are left out differs');
});
