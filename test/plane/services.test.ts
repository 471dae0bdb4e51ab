import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {noLog} from '#src/base/log.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
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
