import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {isNotFound} from '#src/api/status.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {serverIdentity} from '#src/controlplane/identity-lease.js';
import {seededRandom} from '#src/base/random.js';
import type {RunningApiServer} from '#src/plane/api-server/api-server.js';
import {startPlane} from '#src/plane/plane.js';
import {memoryStore} from '#src/storage/memory/index.js';
import {contentOf, inLockstep, startTogether} from './lockstep.js';

const hours = (count: number) => count * 3_600_000;

test('a server keeps an identity lease, renews it, and deletes the leases of stopped servers', async t => {
  const clock = new VirtualClock();
  await using plane = await startPlane({listen: false, clock, freeze: true, controllerManagerArgs: ['--controllers=']});
  const {naming} = plane;
  const leases = plane.client().resource(kinds.leases);
  const namespace = naming.systemNamespace;
  const [own] = (await leases.list({namespace, labelSelector: naming.subKey('apiserver', 'identity')})).items;
  await leases.create({
    metadata: {name: 'apiserver-dead', namespace, labels: {...own!.metadata!.labels}},
    spec: {holderIdentity: 'gone', leaseDurationSeconds: 3600, renewTime: own!.spec!.renewTime!},
  });
  await clock.advance(hours(2.1));
  const renewed = await leases.get(own!.metadata!.name!, {namespace});

  t.regex(own!.metadata!.name!, /^apiserver-[a-z2-7]{26}$/);
  t.true(renewed.spec!.renewTime! > own!.spec!.renewTime!);
  t.true(isNotFound(await t.throwsAsync(leases.get('apiserver-dead', {namespace}))));
});

for (const [naming, manager] of [
  ['kubernetes', 'kube-apiserver'],
  ['plat', 'plat-apiserver'],
] as const) {
  test(`a server in the ${naming} naming writes as the field manager ${manager}`, async t => {
    await using plane = await startPlane({
      listen: false,
      clock: new VirtualClock(),
      freeze: true,
      naming,
      controllerManagerArgs: ['--controllers='],
    });
    const own = await plane.client().resource(kinds.namespaces).get('default');

    t.deepEqual(
      own.metadata?.managedFields?.map(entry => entry.manager),
      [manager],
    );
  });
}

test('the identity of a server follows from its host', t => {
  t.is(serverIdentity('test'), serverIdentity('test'));
  t.not(serverIdentity('test'), serverIdentity('other'));
});

type Content = Readonly<Record<string, unknown>>;

/** The keys at which two stores differ, and their values. */
const differences = (one: Content, other: Content) =>
  [...new Set([...Object.keys(one), ...Object.keys(other)])]
    .filter(key => JSON.stringify(one[key]) !== JSON.stringify(other[key]))
    .map(key => [key, one[key], other[key]] as const);

const everyGate = '--feature-gates=StorageVersionAPI=true';
const versions = '--runtime-config=internal.apiserver.k8s.io/v1alpha1=true';

for (const [what, args] of [
  ['on', []],
  ['with storage versions on', [everyGate, versions]],
] as const) {
  test(`servers that start together ${what} an empty and on a filled store all become ready, and store the same as one server`, async t => {
    const clock = new VirtualClock();
    const reported: string[] = [];
    const start = async (count: number, store = memoryStore({clock})) => {
      const servers = await startTogether({
        store: inLockstep(store, seededRandom(count)),
        clock,
        count,
        args,
        reported: line => reported.push(line),
      });
      await clock.drain();
      return {store, servers};
    };
    const leave = (servers: readonly RunningApiServer[]) => Promise.all(servers.map(server => server.close()));
    const alone = await start(1);
    const expected = await contentOf(alone.store, '/registry/');
    const {store, servers} = await start(3);
    const content = await contentOf(store, '/registry/');
    const addresses = async () => {
      const {'/registry/services/endpoints/default/kubernetes': endpoints} = (await contentOf(store, '/registry/')) as Record<
        string,
        {subsets?: {addresses: {ip: string}[]}[]}
      >;
      return endpoints?.subsets?.flatMap(subset => subset.addresses.map(({ip}) => ip)) ?? [];
    };

    t.deepEqual(reported, []);
    t.deepEqual(await addresses(), ['10.1.0.1', '10.1.0.2', '10.1.0.3']);
    t.deepEqual(
      differences(content, expected).filter(([key]) => !/\/(masterleases|endpoints|endpointslices)\//.test(key)),
      [],
    ); // They name every server.

    await leave(servers);
    t.deepEqual(await addresses(), []);
    const again = await start(3, store);
    t.deepEqual(reported, []);
    t.deepEqual(
      differences(await contentOf(store, '/registry/'), content).filter(([key]) => !key.includes('/endpointslices/')),
      [],
    ); // Its generation has grown.
    await leave([...again.servers, ...alone.servers]);
  });
}
