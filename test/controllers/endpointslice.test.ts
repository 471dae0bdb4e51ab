import test from 'ava';
import {sliceMetrics} from '#controllers/endpointslice/metrics.js';
import {planSlices} from '#controllers/endpointslice/plan.js';
import {sliceReconciler} from '#controllers/endpointslice/reconcile.js';
import {endpointText, sliceNames, type Endpoint} from '#controllers/shared/endpoints/endpoint-slices.js';
import type {Frozen} from '#src/api/key.js';
import {runSteps} from '#src/base/steps.js';
import {kinds} from '#src/api/kinds/index.js';
import {naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import {noMeter, type Labels} from '#src/base/meter.js';
import type {Reconcile} from '#src/runtime/controller.js';
import {aNode, podStatus, startEnvironment, type Behind, type Slice} from './backends.js';
import {attempt, contextOver} from './context.js';
import {namespace} from './workloads.js';

const start = (args: readonly string[] = []) => startEnvironment(['endpointslice-controller'], args);
const key = {namespace, name: 'web'};

/**
 * A slice in short: `IPv4 10.0.0.1 !10.0.0.2 ~10.0.0.3: http=80`, where `!` marks endpoints that are not ready, `~`
 * those that serve while terminating.
 */
const short = ({addressType, endpoints, ports}: Readonly<Slice>): string =>
  `${addressType} ${(endpoints ?? []).map(({addresses, conditions}) => `${conditions?.terminating && conditions.serving ? '~' : conditions?.ready ? '' : '!'}${addresses.join('+')}`).join(' ')}: ${(ports ?? []).map(({name, port}) => `${name ? `${name}=` : ''}${port}`).join(' ')}`;

const shown = (slices: readonly Slice[]): string[] => slices.map(short).sort();

test('a service without pods has one empty slice, which is filled when pods appear', async t => {
  const at = await start();
  await using _ = at.plane;
  const service = await at.service('web', {labels: {team: 'x', 'plat.io/service-name': 'other'}, clusterIP: 'None'});
  const [placeholder] = await at.slices();
  t.is(placeholder!.endpoints, null as never);
  t.is(placeholder!.ports, null as never);
  t.regex(placeholder!.metadata!.name!, /^web-[a-z0-9]{5}$/);
  t.deepEqual(placeholder!.metadata!.labels, {
    team: 'x',
    'plat.io/service-name': 'web',
    'endpointslice.plat.io/managed-by': 'endpointslice-controller.plat.io',
    'service.plat.io/headless': '',
  });
  t.deepEqual(placeholder!.metadata!.ownerReferences, [
    {apiVersion: 'v1', kind: 'Service', name: 'web', uid: service.metadata!.uid!, controller: true, blockOwnerDeletion: true},
  ]);
  t.deepEqual(placeholder!.metadata!.annotations, {'endpoints.plat.io/last-change-trigger-time': '2026-01-01T00:00:00Z'});

  const pod = await at.run('a', {spec: {hostname: 'first', subdomain: 'web'}});
  const [published, ...rest] = await at.slices();
  t.deepEqual(rest, []);
  t.is(published!.metadata!.name, placeholder!.metadata!.name);
  t.deepEqual(published!.ports, [{name: '', port: 8080, protocol: 'TCP'}]);
  t.deepEqual(published!.endpoints, [
    {
      addresses: ['10.0.0.1'],
      conditions: {ready: true, serving: true, terminating: false},
      hostname: 'first',
      nodeName: 'node-1',
      targetRef: {kind: 'Pod', namespace, name: 'a', uid: pod.metadata!.uid!},
    },
  ]);

  await at.remove(kinds.pods, 'a', {gracePeriodSeconds: 0});
  const [again] = await at.slices();
  t.is(again!.metadata!.name, placeholder!.metadata!.name);
  t.is(again!.endpoints, null as never);
});

const named = (port: number) => ({containers: [{name: 'c', image: 'example.com/app:1', ports: [{name: 'http', containerPort: port}]}]});
const ports = [{name: 'web', port: 80, targetPort: 'http'}];

const published = [
  ['a pod that is not ready', {}, [{ready: false}], ['IPv4 !10.0.0.1: 8080']],
  [
    'all as ready, if the service wants it so, those too whose node is not known',
    {publishNotReadyAddresses: true},
    [{ready: false, node: 'unknown'}],
    ['IPv4 10.0.0.1: 8080'],
  ],
  ['no pods without an address, and none that have ended', {}, [{ips: []}, {phase: 'Failed'}, {phase: 'Succeeded'}], ['IPv4 : ']],
  [
    'pods with other ports in slices of their own',
    {ports},
    [{spec: named(80)}, {spec: named(81), ips: ['10.0.0.2']}],
    ['IPv4 10.0.0.1: web=80', 'IPv4 10.0.0.2: web=81'],
  ],
  ['pods that do not know the port without one', {ports}, [{}], ['IPv4 10.0.0.1: ']],
  ['pods of a headless service without ports', {clusterIP: 'None', ports: []}, [{}], ['IPv4 10.0.0.1: ']],
  ['nothing of a service that stands for a name', {type: 'ExternalName', externalName: 'example.com'}, [{}], []],
  ['nothing of a service without a selector', {selector: {}}, [{}], []],
] as const satisfies readonly (readonly [string, object, readonly Behind[], readonly string[]])[];

test('slices have the ports and IP families of their service', async t => {
  const at = await start();
  await using _ = at.plane;
  for (const [i, [, service, pods]] of published.entries()) {
    const labels = {app: `case-${i}`};
    for (const [j, pod] of pods.entries()) await at.run(`pod-${i}-${j}`, {labels, ...(pod as Behind)});
    await at.service(`case-${i}`, {selector: labels, ...service} as object);
  }

  for (const [i, [what, , , expected]] of published.entries()) t.deepEqual(shown(await at.slices(`case-${i}`)), [...expected], what);
});

test('a service has slices of each of its IP families, and of no other', async t => {
  const at = await startEnvironment(['endpointslice-controller'], [], ['--service-cluster-ip-range=10.96.0.0/16,fd00:1::/108']);
  await using _ = at.plane;
  await at.service('web', {ipFamilyPolicy: 'RequireDualStack', ipFamilies: ['IPv4', 'IPv6']});
  await at.service('four');
  await at.run('a', {ips: ['10.0.0.1', 'fd00::1']});
  t.deepEqual(shown(await at.slices()), ['IPv4 10.0.0.1: 8080', 'IPv6 fd00::1: 8080']);
  t.deepEqual(shown(await at.slices('four')), ['IPv4 10.0.0.1: 8080']);

  await at.patch(kinds.services, 'web', {
    spec: {ipFamilyPolicy: 'SingleStack', ipFamilies: ['IPv4'], clusterIPs: [(await at.get(kinds.services, 'web')).spec!.clusterIP!]},
  });
  t.deepEqual(shown(await at.slices()), ['IPv4 10.0.0.1: 8080']);
});

test('a terminating pod is serving until it is not ready any more', async t => {
  const at = await start();
  await using _ = at.plane;
  await at.service('web');
  await at.run('a');
  await at.remove(kinds.pods, 'a', {gracePeriodSeconds: 30});
  t.deepEqual((await at.slices())[0]!.endpoints[0]!.conditions, {ready: false, serving: true, terminating: true});
  await at.setStatus('a', {ready: false});
  t.deepEqual((await at.slices())[0]!.endpoints[0]!.conditions, {ready: false, serving: false, terminating: true});
});

test('a pod on an unknown node is left out until the node is known, and then published with its zone', async t => {
  const at = await start();
  await using _ = at.plane;
  await at.service('web');
  await at.run('a');
  await at.run('b', {ips: ['10.0.0.2'], node: 'node-2'});
  t.deepEqual(shown(await at.slices()), ['IPv4 10.0.0.1: 8080']);
  t.deepEqual(await at.eventsOn('web'), [
    'Warning FailedToUpdateEndpointSlices Error updating Endpoint Slices for Service default/web: skipping Pod b for Service default/web: Node node-2 Not Found',
  ]);

  await at.node('node-2', {zone: 'x'});
  await at.later(5000);
  t.deepEqual(shown(await at.slices()), ['IPv4 10.0.0.1 10.0.0.2: 8080']);
  t.deepEqual(
    (await at.slices())[0]!.endpoints.map(({zone}) => zone),
    [undefined, 'x'],
  );
});

test('slices hold no more than they may, stay as they are when pods go, and take up those that come', async t => {
  const at = await start(['--max-endpoints-per-slice=2', '--endpointslice-updates-batch-period=1s']);
  await using _ = at.plane;
  await at.service('web');
  for (let i = 1; i <= 5; i++) await at.run(`p${i}`, {ips: [`10.0.0.${i}`]});
  await at.later(2000);
  const sizes = async () => (await at.slices()).map(({endpoints}) => (endpoints ?? []).length).sort();
  t.deepEqual(await sizes(), [1, 2, 2]);

  await at.remove(kinds.pods, 'p1', {gracePeriodSeconds: 0});
  t.deepEqual(await sizes(), [1, 2, 2]);
  await at.later(2000);
  t.deepEqual(await sizes(), [1, 1, 2]);
  await at.run('p6', {ips: ['10.0.0.6']});
  await at.later(2000);
  t.deepEqual(await sizes(), [1, 2, 2]);
});

test('labels and ports of the service are copied to its slices, without new slices', async t => {
  const at = await start();
  await using _ = at.plane;
  await at.service('web');
  await at.run('a');
  const [{metadata: before} = {}] = await at.slices();
  await at.patch(kinds.services, 'web', {metadata: {labels: {team: 'x'}}});
  t.is((await at.slices())[0]!.metadata!.labels!.team, 'x');
  await at.patch(kinds.services, 'web', {spec: {ports: [{port: 80, targetPort: 9090, protocol: 'TCP'}]}});
  const [{metadata: after} = {}, ...rest] = await at.slices();
  t.deepEqual(rest, []);
  t.is(after!.name, before!.name);
  t.deepEqual(shown(await at.slices()), ['IPv4 10.0.0.1: 9090']);
  const {resourceVersion} = after!;
  await at.patch(kinds.services, 'web', {metadata: {annotations: {a: 'b'}}});
  t.is((await at.slices())[0]!.metadata!.resourceVersion, resourceVersion);
});

test('changes to a slice by others are reverted after a second; slices of others are left alone', async t => {
  const at = await start();
  await using _ = at.plane;
  await at.service('web');
  await at.run('a');
  const nameOf = async () =>
    (await at.slices()).find(({metadata}) => metadata?.labels?.['endpointslice.plat.io/managed-by'] === 'endpointslice-controller.plat.io')!
      .metadata!.name!;
  await at.later(2000);

  await at.patch(kinds.endpointSlices, await nameOf(), {endpoints: []});
  t.deepEqual(shown(await at.slices()), ['IPv4 : 8080']);
  await at.later(1000);
  t.deepEqual(shown(await at.slices()), ['IPv4 10.0.0.1: 8080']);

  await at.remove(kinds.endpointSlices, await nameOf());
  await at.later(1000);
  t.deepEqual(shown(await at.slices()), ['IPv4 10.0.0.1: 8080']);

  const kept = await nameOf();
  await at.patch(kinds.endpointSlices, kept, {metadata: {labels: {'endpointslice.plat.io/managed-by': 'me'}}, endpoints: []});
  await at.later(2000);
  t.not(await nameOf(), kept);
  t.deepEqual(shown(await at.slices()), ['IPv4 10.0.0.1: 8080', 'IPv4 : 8080'].sort());

  const mine = await nameOf();
  await at.patch(kinds.endpointSlices, mine, {metadata: {labels: {'plat.io/service-name': 'elsewhere'}}});
  await at.later(2000);
  t.not(await nameOf(), mine);
});

test('the slices of an earlier service of that name are not taken over', async t => {
  const at = await start();
  await using _ = at.plane;
  await at.service('web');
  await at.run('a');
  const [old] = await at.slices();
  await at.remove(kinds.services, 'web');
  const service = await at.service('web');

  const [now, ...rest] = await at.slices();
  t.deepEqual(rest, []);
  t.not(now!.metadata!.uid, old!.metadata!.uid);
  t.is(now!.metadata!.ownerReferences![0]!.uid, service.metadata!.uid!);
});

test('a service with a traffic distribution gets hints for its ready pods, until the field is removed', async t => {
  const at = await start();
  await using _ = at.plane;
  await at.node('node-2', {zone: 'x'});
  await at.service('web');
  await at.run('a', {node: 'node-2'});
  await at.run('b', {node: 'node-2', ips: ['10.0.0.2'], ready: false});
  const zone = {forZones: [{name: 'x'}]};

  for (const [trafficDistribution, hints] of [
    ['PreferClose', zone],
    ['PreferSameNode', {...zone, forNodes: [{name: 'node-2'}]}],
    ['PreferSameZone', zone],
    [null, undefined],
  ] as const) {
    await at.patch(kinds.services, 'web', {spec: {trafficDistribution}});
    t.deepEqual(
      (await at.slices())[0]!.endpoints.map(each => each.hints),
      [hints, undefined] as never,
      String(trafficDistribution),
    );
  }
});

test('a cache that has not seen the last writes is waited for, and one pod more changes one slice among many', async t => {
  const at = await startEnvironment(['namespace-controller']);
  await using _ = at.plane;
  const service = await at.service('web');
  const pods = Array.from({length: 1000}, (___, i) => ({
    kind: 'Pod',
    metadata: {name: `pod-${i}`, namespace, uid: `${i}`, labels: {app: 'a'}},
    spec: {nodeName: 'node-1', containers: []},
    status: podStatus({ips: [`10.1.${i >> 8}.${i & 255}`]}, at.clock.now()),
  }));
  const keeper = (cached: readonly KubeObject[]) => {
    const context = contextOver(
      at.plane,
      [aNode('node-1'), service, ...cached].map((each, i) => (i === 0 ? {kind: 'Node', ...each} : each)) as readonly Frozen<KubeObject>[],
      {
        concurrentServiceEndpointSyncs: 1,
        endpointsliceUpdatesBatchPeriod: 0,
        maxEndpointsPerSlice: 100,
      },
    );
    return (sliceReconciler(context) as {services: Reconcile}).services;
  };
  const first = keeper(pods.slice(1));
  await first(key, attempt);
  const made = await at.slices();
  t.is(made.length, 10);
  await t.throwsAsync(async () => first(key, attempt), {message: 'EndpointSlice informer cache is out of date'});

  await keeper([...pods, ...made.map(each => ({kind: 'EndpointSlice', ...each}))])(key, attempt);
  const after = await at.slices();
  const version = ({metadata}: Slice) => metadata!.resourceVersion;
  t.is(after.filter(each => !made.some(old => version(old) === version(each))).length, 1);
  t.is(
    after.reduce((sum, {endpoints}) => sum + endpoints.length, 0),
    1000,
  );
});

test('the metrics sum over services, families and sets of ports, and drop forgotten services', t => {
  const values: Record<string, number> = {};
  const gauge = ({name}: {readonly name: string}) => ({
    set() {},
    remove() {},
    add: (labels: Labels = {}, amount = 1) => {
      const series = [name.replace('endpoint_slice_controller_', ''), ...Object.values(labels)].join(' ');
      values[series] = (values[series] ?? 0) + amount;
    },
  });
  const metrics = sliceMetrics({...noMeter, gauge}, 10);
  metrics.packed('a', 'IPv4', [
    {endpoints: 25, slices: 4},
    {endpoints: 1, slices: 1},
  ]);
  metrics.packed('a', 'IPv6', [{endpoints: 0, slices: 1}]);
  metrics.packed('b', 'IPv4', [{endpoints: 5, slices: 1}]);
  metrics.packed('b', 'IPv4', [{endpoints: 6, slices: 1}]);
  metrics.distribute('a', 'PreferClose');
  metrics.distribute('a', 'PreferSameNode');
  const distributions = {'services_count_by_traffic_distribution PreferClose': 0};
  t.deepEqual(values, {
    endpoints_desired: 32,
    num_endpoint_slices: 7,
    desired_endpoint_slices: 6,
    ...distributions,
    'services_count_by_traffic_distribution PreferSameNode': 1,
  });

  metrics.forget('a');
  t.deepEqual(values, {
    endpoints_desired: 6,
    num_endpoint_slices: 1,
    desired_endpoint_slices: 1,
    ...distributions,
    'services_count_by_traffic_distribution PreferSameNode': 0,
  });
});

test('slices of other ports are deleted, and a service without endpoints gets a placeholder once', t => {
  const names = sliceNames(naming('plat'));
  const service = {metadata: {name: 'web', namespace, uid: 'u'}, spec: {clusterIP: '10.96.0.1'}};
  const rules = {names, maxEndpoints: 100};
  const empty = runSteps(planSlices(service, [], new Map(), rules));
  t.deepEqual(
    [empty.creates, empty.deletes, empty.parts],
    [[{existing: undefined, ports: [], endpoints: []}], [], [{endpoints: 0, slices: 1}]],
  );

  const owned = {ownerReferences: [{apiVersion: 'v1', kind: 'Service', name: 'web', uid: 'u'}]};
  const labels = {[names.service]: 'web', [names.managedBy]: names.controllerName};
  const placeholder = {metadata: {name: 'p', labels, ...owned}, addressType: 'IPv4', endpoints: []} as unknown as Frozen<Slice>;
  const again = runSteps(planSlices(service, [placeholder], new Map(), rules));
  t.deepEqual([again.creates, again.deletes], [[], []]);

  const other = {...placeholder, metadata: {...placeholder.metadata, name: 'o'}, ports: [{port: 81}]} as Frozen<Slice>;
  const endpoint: Endpoint = {addresses: ['10.0.0.1'], conditions: {ready: true}};
  const groups = new Map([[':80', {ports: [{port: 80}], wanted: new Map([[endpointText(endpoint), endpoint]])}]]);
  const plan = runSteps(planSlices(service, [other], groups, rules));
  t.deepEqual([plan.creates.map(({endpoints}) => endpoints), plan.deletes, plan.counts], [[[endpoint]], [other], {added: 1, removed: 0}]);
});
