import {mkdtempSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {noLog} from '#src/base/log.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {Verbosity} from '#src/observe/verbosity.js';
import {createLog} from '#src/observe/log.js';
import {chosenAddress} from '#src/plane/api-server/host-address.js';
import {ServiceRepair} from '#src/controlplane/service-repair.js';
import {startPlane} from '#src/plane/plane.js';
import {startServer} from '#test/fixtures/server.js';

const namespace = 'default';

test('a plane has a service that leads to its servers, whose endpoint goes when it stops', async t => {
  await using plane = await startPlane({
    naming: 'plat',
    apiserverArgs: ['--advertise-address=192.0.2.7'],
    controllerManagerArgs: ['--controllers='],
  });
  const client = plane.client();
  const service = await client.resource(kinds.services).get('plat', {namespace});
  const endpoints = await client.resource(kinds.endpoints).get('plat', {namespace});
  const slice = await client.resource(kinds.endpointSlices).get('plat', {namespace});
  const port = Number(new URL(plane.url).port);

  t.like(service.spec, {clusterIP: '10.96.0.1', type: 'ClusterIP', ports: [{name: 'https', port: 443, protocol: 'TCP', targetPort: port}]});
  t.deepEqual(service.metadata?.labels, {component: 'apiserver', provider: 'plat'});
  t.deepEqual(endpoints.subsets, [{addresses: [{ip: '192.0.2.7'}], ports: [{name: 'https', port, protocol: 'TCP'}]}]);
  t.is(endpoints.metadata?.labels?.['endpointslice.plat.io/skip-mirror'], 'true');
  t.like(slice, {
    addressType: 'IPv4',
    endpoints: [{addresses: ['192.0.2.7'], conditions: {ready: true}}],
    ports: [{name: 'https', port, protocol: 'TCP'}],
  });
  t.is(slice.metadata?.labels?.['plat.io/service-name'], 'plat');
});

test('where a server has no other address, its endpoints have the loopback one, as nobody else may write it', async t => {
  const lines: string[] = [];
  const log = createLog({
    clock: new VirtualClock(),
    program: 'test',
    verbosity: new Verbosity(0, ''),
    write: line => void lines.push(line),
  });
  await using plane = await startPlane({apiserverArgs: ['--advertise-address=127.0.0.1'], controllers: 'none', log});
  const client = plane.client();
  const endpoints = await client.resource(kinds.endpoints).get('kubernetes', {namespace});
  const slice = await client.resource(kinds.endpointSlices).get('kubernetes', {namespace});

  t.deepEqual(endpoints.subsets?.[0]?.addresses, [{ip: '127.0.0.1'}]);
  t.deepEqual(slice.endpoints[0]?.addresses, ['127.0.0.1']);
  t.deepEqual(
    lines.filter(line => line.includes('service')),
    [],
  );
  await t.throwsAsync(client.resource(kinds.endpoints).update({...endpoints, subsets: [{addresses: [{ip: '127.0.0.2'}]}]}), {
    message: /may not be in the loopback range/,
  });
});

test('a server that starts with an address of the other family makes its slice anew, and keeps it when it stops', async t => {
  const dataDir = mkdtempSync(join(tmpdir(), 'plat-families-'));
  const lines: string[] = [];
  const log = createLog({
    clock: new VirtualClock(),
    program: 'test',
    verbosity: new Verbosity(0, ''),
    write: line => void lines.push(line),
  });
  for (const [address, addressType] of [
    ['192.0.2.7', 'IPv4'],
    ['2001:db8::7', 'IPv6'],
  ] as const) {
    await using plane = await startPlane({dataDir, apiserverArgs: [`--advertise-address=${address}`], controllers: 'none', log});
    const slice = await plane.client().resource(kinds.endpointSlices).get('kubernetes', {namespace});
    t.like(slice, {addressType, endpoints: [{addresses: [address]}]});
  }
  t.deepEqual(lines, []);
});

const anInterface = (address: string, internal = false) => ({address, family: address.includes(':') ? 'IPv6' : 'IPv4', internal}) as const;
const interfaces = {
  lo: [anInterface('127.0.0.1', true), anInterface('::1', true)],
  bridge0: [anInterface('172.17.0.1'), anInterface('fe80::2')],
  eth0: [anInterface('192.0.2.7'), anInterface('fe80::1'), anInterface('2001:db8::7')],
};
const ipv4Routes = (flags: string) => `Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT
bridge0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0
eth0\t00000000\t010200C0\t${flags}\t0\t0\t0\t00000000\t0\t0\t0
`;
const zero = '0'.repeat(32);
const ipv6Routes = `${zero} 00 ${zero} 00 ${zero} ffffffff 00000001 00000000 00200200       lo
${zero} 00 ${zero} 00 20010db8000000000000000000000001 00000400 00000002 00000000 00000003     eth0
`;

for (const [what, family, tables, found] of [
  ['the interface of the default route', 'IPv4', {IPv4: ipv4Routes('0003'), IPv6: ''}, '192.0.2.7'],
  ['the interface of the default route', 'IPv6', {IPv4: '', IPv6: ipv6Routes}, '2001:db8::7'],
  ['another interface where that route is down', 'IPv4', {IPv4: ipv4Routes('0002'), IPv6: ''}, '172.17.0.1'],
  ['another interface where no table is found', 'IPv4', {IPv4: '', IPv6: ''}, '172.17.0.1'],
] as const) {
  test(`the address of a machine in ${family} is that of ${what}`, t => {
    t.is(chosenAddress(family, interfaces, tables), found);
  });
}

test('a plane has the object of its service range, and its priority classes', async t => {
  await using plane = await startPlane({
    naming: 'plat',
    listen: false,
    clock: new VirtualClock(),
    freeze: true,
    controllerManagerArgs: ['--controllers='],
  });
  const client = plane.client();
  const range = await client.resource(kinds.serviceCIDRs).get('plat');

  t.deepEqual(range.spec?.cidrs, ['10.96.0.0/16']);
  t.like(range.status?.conditions?.[0], {type: 'Ready', status: 'True', message: 'Plat default Service CIDR is ready'});
  t.deepEqual(
    (await client.resource(kinds.priorityClasses).list()).items.map(({metadata, value}) => [metadata?.name, value]),
    [
      ['system-cluster-critical', 2_000_000_000],
      ['system-node-critical', 2_000_001_000],
    ],
  );
});

const startRepair = async () => {
  const env = startServer();
  const client = env.clientOf();
  await client.resource(kinds.namespaces).create({metadata: {name: namespace}});
  const {addresses, nodePorts} = env.server.registry.settings.writes.pools;
  return {...env, client, nodePorts, repair: new ServiceRepair({client, clock: env.clock, log: noLog, addresses, ports: nodePorts})};
};

test('repair takes addresses and ports that only their services know of', async t => {
  const {client, nodePorts, repair} = await startRepair();
  const {spec} = await client
    .resource(kinds.services)
    .create({metadata: {name: 's', namespace}, spec: {type: 'NodePort', ports: [{port: 80}]}});
  await client.resource(kinds.ipAddresses).delete(spec!.clusterIP!);
  await nodePorts.release([spec!.ports![0]!.nodePort!]);
  await repair.run();

  t.is((await client.resource(kinds.ipAddresses).get(spec!.clusterIP!)).spec?.parentRef?.name, 's');
  t.deepEqual(await nodePorts.taken(), [spec!.ports![0]!.nodePort!]);
});

test('repair releases addresses and ports of no service, once it is sure', async t => {
  const {client, clock, nodePorts, repair, server} = await startRepair();
  const {addresses} = server.registry.settings.writes.pools;
  await addresses.take('10.0.0.9', {namespace, name: 'gone'});
  await nodePorts.take(30_123);
  const held = async () => [(await client.resource(kinds.ipAddresses).list()).items.length, (await nodePorts.taken()).length];

  await repair.run();
  t.deepEqual(await held(), [1, 1]);
  await clock.advance(61_000);
  await repair.run();
  t.deepEqual(await held(), [0, 1]);
  await repair.run();
  t.deepEqual(await held(), [0, 0]);
});
