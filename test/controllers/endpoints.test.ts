import test from 'ava';
import {truncated} from '#controllers/endpoints/capacity.js';
import {endpointsReconciler} from '#controllers/endpoints/reconcile.js';
import {packSubsets, type Address, type EndpointAddress, type Port} from '#controllers/endpoints/subsets.js';
import type {Frozen, ObjectKey} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {runSteps} from '#src/base/steps.js';
import type {KubeObject} from '#src/api/types.js';
import {singletonKey, type Reconcile} from '#src/runtime/controller.js';
import {podStatus, startEnvironment, type Behind, type Endpoints} from './backends.js';
import {attempt, contextOver} from './context.js';
import {namespace} from './workloads.js';

const start = (args: readonly string[] = []) => startEnvironment(['endpoints-controller'], args);

type Subset = NonNullable<Endpoints['subsets']>[number];

/** Subsets in short: `10.0.0.1 !10.0.0.2: http=80/TCP`, where `!` marks those that are not ready. */
const short = ({addresses = [], notReadyAddresses = [], ports = []}: Readonly<Subset>): string =>
  `${[...addresses.map(({ip}) => ip), ...notReadyAddresses.map(({ip}) => `!${ip}`)].join(' ')}: ${ports.map(({name, port, protocol}) => `${name ? `${name}=` : ''}${port}/${protocol}`).join(' ')}`;
const shown = ({subsets = []}: Endpoints): string[] => subsets.map(short);

const address = (ip: string, uid = ip): Address => ({ip, targetRef: {kind: 'Pod', uid}});
const http: Port = {name: 'http', port: 80, protocol: 'TCP'};
const dns: Port = {name: 'dns', port: 53, protocol: 'UDP'};
const place = (ip: string, port?: Port, ready = true, uid?: string): EndpointAddress => ({address: address(ip, uid), ready, port});

for (const [what, places, expected] of [
  ['nothing', [], []],
  [
    'addresses with the same ports in one subset',
    [place('1.1.1.2', http), place('1.1.1.1', http), place('1.1.1.1', dns), place('1.1.1.2', dns)],
    ['1.1.1.1 1.1.1.2: dns=53/UDP http=80/TCP'],
  ],
  ['addresses with other ports apart', [place('1.1.1.1', http), place('1.1.1.2', dns)], ['1.1.1.2: dns=53/UDP', '1.1.1.1: http=80/TCP']],
  [
    'an address that is and is not ready among those that are not',
    [place('1.1.1.1', http), place('1.1.1.1', http, false), place('1.1.1.1', http)],
    ['!1.1.1.1: http=80/TCP'],
  ],
  [
    'one address of two pods twice',
    [place('1.1.1.1', http, true, 'b'), place('1.1.1.1', http, true, 'a')],
    ['1.1.1.1 1.1.1.1: http=80/TCP'],
  ],
  ['addresses without ports in a subset without ports', [place('1.1.1.1'), place('1.1.1.2', undefined, false)], ['1.1.1.1 !1.1.1.2: ']],
  [
    'a port apart on which not all of the addresses are ready',
    [place('1.1.1.1', http), place('1.1.1.1', dns, false)],
    ['!1.1.1.1: dns=53/UDP', '1.1.1.1: http=80/TCP'],
  ],
] as const) {
  test(`packs ${what}`, t => {
    t.deepEqual(runSteps(packSubsets(places)).map(short), expected);
    t.deepEqual(runSteps(packSubsets(places.toReversed())).map(short), expected);
  });
}

const many = (count: number, prefix: string) => Array.from({length: count}, (_, i) => address(`${prefix}.${i >> 8}.${i & 255}`));

for (const [ready, notReady, expected] of [
  [[1000], [0], undefined],
  [[500], [500], undefined],
  [[500], [600], [[500], [500]]],
  [[1100], [600], [[1000], [0]]],
  [
    [600, 600],
    [10, 10],
    [
      [500, 500],
      [0, 0],
    ],
  ],
  [
    [900, 301],
    [0, 0],
    [
      [750, 250],
      [0, 0],
    ],
  ],
  [
    [400, 0],
    [400, 401],
    [
      [400, 0],
      [300, 300],
    ],
  ],
] as const) {
  test(`of ${ready.join(' and ')} ready addresses and ${notReady.join(' and ')} others keeps ${expected ? expected.map(each => each.join(' and ')).join(', ') : 'all'}`, t => {
    const subsets = ready.map((count, i) => ({
      addresses: many(count, `10.${i}`),
      notReadyAddresses: many(notReady[i]!, `11.${i}`),
      ports: [{port: i, protocol: 'TCP'}],
    }));
    const kept = truncated(subsets);

    t.deepEqual(
      kept && [kept.map(({addresses = []}) => addresses.length), kept.map(({notReadyAddresses = []}) => notReadyAddresses.length)],
      expected && expected.map(each => [...each]),
    );
  });
}

test('a service gets an Endpoints object with its labels and the addresses of its pods', async t => {
  const at = await start();
  await using _ = at.plane;
  await at.service('web', {labels: {team: 'x'}});

  const empty = await at.endpoints();
  t.deepEqual(empty.metadata?.labels, {team: 'x', 'endpoints.plat.io/managed-by': 'endpoint-controller'});
  t.deepEqual(empty.subsets ?? [], []);

  const pod = await at.run('a', {spec: {hostname: 'first', subdomain: 'web'}});
  await at.run('b', {ips: ['10.0.0.2'], ready: false});
  const [subset] = (await at.endpoints()).subsets!;
  t.deepEqual(subset, {
    addresses: [
      {ip: '10.0.0.1', hostname: 'first', nodeName: 'node-1', targetRef: {kind: 'Pod', namespace, name: 'a', uid: pod.metadata!.uid!}},
    ],
    notReadyAddresses: [{ip: '10.0.0.2', nodeName: 'node-1', targetRef: subset!.notReadyAddresses![0]!.targetRef!}],
    ports: [{port: 8080, protocol: 'TCP'}],
  });
  await at.remove(kinds.services, 'web');
  t.deepEqual(await at.list(kinds.endpoints), []);
});

const named = {
  containers: [
    {
      name: 'c',
      image: 'example.com/app:1',
      ports: [
        {name: 'http', containerPort: 8080},
        {name: 'dns', containerPort: 53, protocol: 'UDP'},
      ],
    },
  ],
};
const ports = [
  {name: 'web', port: 80, targetPort: 'http'},
  {name: 'dns', port: 53, protocol: 'UDP', targetPort: 'dns', appProtocol: 'example.com/dns'},
];

const published = [
  ['a pod that is not ready, if the service publishes it', {publishNotReadyAddresses: true}, [{ready: false}], ['10.0.0.1: 8080/TCP']],
  ['no pod without an address', {}, [{ips: []}], []],
  ['no pod that has ended', {}, [{phase: 'Succeeded'}, {phase: 'Failed'}], []],
  ['no pod that another service selects', {}, [{labels: {app: 'other'}}], []],
  ['pods by the names of their ports', {ports}, [{spec: named}], ['10.0.0.1: dns=53/UDP web=8080/TCP']],
  [
    'pods apart whose ports of one name differ, and of each only the ports it has',
    {ports},
    [
      {spec: named},
      {ips: ['10.0.0.2'], spec: {containers: [{name: 'c', image: 'example.com/app:1', ports: [{name: 'http', containerPort: 9090}]}]}},
    ],
    ['10.0.0.1: dns=53/UDP web=8080/TCP', '10.0.0.2: web=9090/TCP'],
  ],
  [
    'the port of a container that runs beside',
    {ports: [ports[0]!]},
    [
      {
        spec: {
          initContainers: [
            {name: 'i', image: 'example.com/app:1', ports: [{name: 'http', containerPort: 1}]},
            {name: 's', image: 'example.com/app:1', restartPolicy: 'Always', ports: [{name: 'http', containerPort: 7070}]},
          ],
        },
      },
    ],
    ['10.0.0.1: web=7070/TCP'],
  ],
  ['nothing of pods that do not know the port', {ports: [{...ports[0]!, protocol: 'UDP'}]}, [{spec: named}], []],
  [
    'pods without ports of a headless service that has none',
    {clusterIP: 'None', ports: []},
    [{}, {ips: ['10.0.0.2'], ready: false}],
    ['10.0.0.1 !10.0.0.2: '],
  ],
  [
    "the address of the service's first family",
    {ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack'},
    [{ips: ['fd00::1', '10.0.0.1']}, {ips: ['fd00::2']}],
    ['10.0.0.1: 8080/TCP'],
  ],
  ['nothing for a service that stands for a name', {type: 'ExternalName', externalName: 'example.com'}, [{}], undefined],
  ['nothing for a service without a selector', {selector: {}}, [{}], undefined],
] as const satisfies readonly (readonly [string, object, readonly Behind[], readonly string[] | undefined])[];

test('pods are published as the spec of their service requests', async t => {
  const at = await start();
  await using _ = at.plane;
  for (const [i, [, service, pods]] of published.entries()) {
    const labels = {app: `case-${i}`};
    for (const [j, pod] of pods.entries()) await at.run(`pod-${i}-${j}`, {labels, ...(pod as Behind)});
    await at.service(`case-${i}`, {selector: labels, ...service} as object);
  }

  const all = new Map((await at.list(kinds.endpoints)).map(object => [object.metadata!.name!, shown(object)]));
  for (const [i, [what, , , expected]] of published.entries()) t.deepEqual(all.get(`case-${i}`), expected && [...expected], what);
});

test('a headless service marks its endpoints with a label, and new labels of a service are copied', async t => {
  const at = await start();
  await using _ = at.plane;
  await at.service('web', {clusterIP: 'None'});
  t.is((await at.endpoints()).metadata?.labels?.['service.plat.io/headless'], '');
  const before = (await at.endpoints()).metadata?.resourceVersion;

  await at.patch(kinds.services, 'web', {metadata: {annotations: {a: 'b'}}});
  t.is((await at.endpoints()).metadata?.resourceVersion, before);
  await at.patch(kinds.services, 'web', {metadata: {labels: {team: 'x'}}});
  t.deepEqual((await at.endpoints()).metadata?.labels, {
    team: 'x',
    'endpoints.plat.io/managed-by': 'endpoint-controller',
    'service.plat.io/headless': '',
  });
});

test('a terminating pod is not published, unless the service publishes unready addresses', async t => {
  const at = await start();
  await using _ = at.plane;
  await at.service('web');
  await at.service('all', {publishNotReadyAddresses: true});
  await at.run('a');
  t.deepEqual(shown(await at.endpoints()), ['10.0.0.1: 8080/TCP']);

  await at.remove(kinds.pods, 'a', {gracePeriodSeconds: 30});
  t.deepEqual(shown(await at.endpoints()), []);
  t.deepEqual(shown(await at.endpoints('all')), ['10.0.0.1: 8080/TCP']);
});

test('a pod that changes its labels leaves one service and joins another', async t => {
  const at = await start();
  await using _ = at.plane;
  for (const app of ['a', 'b']) await at.service(app, {selector: {app}});
  await at.service('both', {selector: {tier: 'x'}});
  await at.run('pod', {labels: {app: 'a', tier: 'x'}});
  const seen = async () => Promise.all(['a', 'b', 'both'].map(async name => shown(await at.endpoints(name)).length));
  t.deepEqual(await seen(), [1, 0, 1]);

  await at.patch(kinds.pods, 'pod', {metadata: {labels: {app: 'b'}}});
  t.deepEqual(await seen(), [0, 1, 1]);
});

test('the trigger time annotation has the first change that the object shows, and is removed when no time is known', async t => {
  const at = await start(['--endpoint-updates-batch-period=10s']);
  await using _ = at.plane;
  const time = async () => (await at.endpoints()).metadata?.annotations?.['endpoints.plat.io/last-change-trigger-time'];
  await at.later(5000);
  await at.service('web');
  t.is(await time(), '2026-01-01T00:00:05Z');

  await at.later(10_000);
  await at.run('a');
  await at.later(2000);
  await at.run('b', {ips: ['10.0.0.2']});
  t.deepEqual(shown(await at.endpoints()), []);
  await at.later(10_000);
  t.deepEqual(shown(await at.endpoints()), ['10.0.0.1 10.0.0.2: 8080/TCP']);
  t.is(await time(), '2026-01-01T00:00:15Z');

  await at.remove(kinds.pods, 'a', {gracePeriodSeconds: 0});
  await at.later(10_000);
  t.deepEqual(shown(await at.endpoints()), ['10.0.0.2: 8080/TCP']);
  t.is(await time(), undefined);
});

test('deleted or overwritten objects are restored', async t => {
  const at = await start();
  await using _ = at.plane;
  await at.service('web');
  await at.run('a');
  await at.remove(kinds.endpoints, 'web');
  t.deepEqual(shown(await at.endpoints()), ['10.0.0.1: 8080/TCP']);

  await at.patch(kinds.endpoints, 'web', {metadata: {annotations: {'endpoints.plat.io/over-capacity': 'truncated'}}});
  await at.patch(kinds.services, 'web', {metadata: {annotations: {a: 'b'}}});
  t.is((await at.endpoints()).metadata?.annotations?.['endpoints.plat.io/over-capacity'], undefined);
});

/** The controller over fixed caches of these objects, with its events and requeues. */
const over = (at: Awaited<ReturnType<typeof start>>, cached: readonly KubeObject[]) => {
  const [published, requested]: [string[], ObjectKey[]] = [[], []];
  const context = contextOver(at.plane, cached as readonly Frozen<KubeObject>[], {
    concurrentEndpointSyncs: 1,
    endpointUpdatesBatchPeriod: 0,
  });
  const loops = endpointsReconciler({
    ...context,
    enqueue: key => void requested.push(key),
    events: {normal() {}, warning: (_, reason, message) => void published.push(`${reason} ${message}`)},
  }) as {services: Reconcile; leftovers: {reconcile: Reconcile}};
  return {...loops, published, requested};
};
const key = {namespace, name: 'web'};

test('the first sync covers all objects, except leader election records, and deletes those without a service', async t => {
  const at = await startEnvironment(['namespace-controller']);
  await using _ = at.plane;
  const left = await at.create(kinds.endpoints, {metadata: {name: 'web'}});
  const leader = await at.create(kinds.endpoints, {metadata: {name: 'leader', annotations: {'control-plane.alpha.plat.io/leader': '{}'}}});
  const {services, leftovers, requested} = over(at, [left, leader]);
  requested.length = 0;

  await leftovers.reconcile(singletonKey, attempt);
  t.deepEqual(requested, [key]);
  await services(key, attempt);
  t.deepEqual(
    (await at.list(kinds.endpoints)).map(({metadata}) => metadata?.name),
    ['leader'],
  );
});

test('reports why the object could not be written', async t => {
  const at = await startEnvironment(['namespace-controller']);
  await using _ = at.plane;
  const service = await at.service('web');
  const stale = await at.create(kinds.endpoints, {metadata: {name: 'web', labels: {a: 'b'}}});

  const unaware = over(at, [service]);
  await t.throwsAsync(async () => unaware.services(key, attempt));
  t.deepEqual(unaware.published, [
    'FailedToCreateEndpoint Failed to create endpoint for service default/web: endpoints "web" already exists',
  ]);

  await at.patch(kinds.endpoints, 'web', {metadata: {labels: {a: 'c'}}});
  const behind = over(at, [service, stale]);
  await t.throwsAsync(async () => behind.services(key, attempt));
  t.regex(behind.published[0]!, /^FailedToUpdateEndpoint Failed to update endpoint default\/web: Operation cannot be fulfilled/);
});

test('a cache that is behind the last write is waited for', async t => {
  const at = await startEnvironment(['namespace-controller']);
  await using _ = at.plane;
  const service = await at.service('web');
  const {services, published} = over(at, [service, await at.create(kinds.endpoints, {metadata: {name: 'web', labels: {a: 'b'}}})]);
  await services(key, attempt);
  const {resourceVersion} = (await at.endpoints()).metadata!;

  await t.throwsAsync(async () => services(key, attempt), {
    message: /^endpoints informer cache is out of date, resource version \d+ already processed for endpoints default\/web$/,
  });
  t.deepEqual(published, []);
  t.is((await at.endpoints()).metadata?.resourceVersion, resourceVersion);
});

test('nothing is reported for a terminating namespace, where nothing can be created', async t => {
  const at = await startEnvironment(['endpoints-controller']);
  await using _ = at.plane;
  await at.client.resource(kinds.namespaces).create({metadata: {name: 'going', finalizers: ['example.com/wait']}});
  await at.client
    .resource(kinds.services)
    .create({metadata: {name: 'web', namespace: 'going'}, spec: {selector: {app: 'a'}, ports: [{port: 80}]}});
  await at.clock.drain();
  await at.client.resource(kinds.namespaces).delete('going');
  await at.client.resource(kinds.endpoints).delete('web', {namespace: 'going'});
  await at.clock.drain();

  t.deepEqual(
    (await at.client.resource(kinds.coreEvents).list({})).items.filter(({reason}) => reason === 'FailedToCreateEndpoint'),
    [],
  );
  t.deepEqual((await at.client.resource(kinds.endpoints).list({namespace: 'going'})).items, []);
});

test('a service with more pods than one object holds is truncated, with an annotation', async t => {
  const at = await startEnvironment(['namespace-controller']);
  await using _ = at.plane;
  const service = await at.service('web');
  const pods = Array.from({length: 1001}, (___, i) => ({
    kind: 'Pod',
    metadata: {name: `pod-${i}`, namespace, uid: `${i}`, labels: {app: 'a'}},
    spec: {nodeName: 'node-1', containers: []},
    status: podStatus({ips: [`10.1.${i >> 8}.${i & 255}`]}, at.clock.now()),
  }));
  await over(at, [service, ...pods]).services(key, attempt);

  const made = await at.endpoints();
  t.is(made.subsets![0]!.addresses!.length, 1000);
  t.is(made.metadata?.annotations?.['endpoints.plat.io/over-capacity'], 'truncated');
  await over(at, [service, ...pods, made]).services(key, attempt);
  t.is((await at.endpoints()).metadata?.resourceVersion, made.metadata?.resourceVersion);
  await over(at, [service, ...pods.slice(1), made]).services(key, attempt);
  t.is((await at.endpoints()).metadata?.annotations?.['endpoints.plat.io/over-capacity'], undefined);
});
