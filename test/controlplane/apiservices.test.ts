import test from 'ava';
import {builtInPriority} from '#src/resources/apiregistration/priorities.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {naming} from '#src/api/naming.js';
import {noLog} from '#src/base/log.js';
import {seededRandom} from '#src/base/random.js';
import {autoregisterLoop, builtInRegistrations} from '#src/controlplane/apiservices/autoregister.js';
import {completionOf} from '#src/controlplane/apiservices/completion.js';
import {localAvailabilityLoop} from '#src/controlplane/apiservices/local-availability.js';
import {serverLoops} from '#src/controlplane/loops.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {aPlane} from '#test/controllers/plane.js';
import {startServer} from '#test/fixtures/server.js';

type ApiService = ObjectOf<typeof kinds.apiServices>;

type Served = Parameters<typeof builtInRegistrations>[0][number];

const words = naming('plat');
const label = 'plat-aggregator.plat.io/automanaged';
const usual: readonly Served[] = [
  {group: 'apps', version: 'v1'},
  {group: 'batch', version: 'v1'},
  {group: 'batch', version: 'v9'},
  {group: 'apiregistration', version: 'v1'},
];

const start = async (before: readonly ApiService[] = [], served = usual) => {
  const env = startServer();
  const {clock} = env;
  const client = env.clientOf();
  const objects = client.resource(kinds.apiServices);
  for (const object of before) await objects.create(object);
  const stop = new AbortController();
  const metrics = new MetricsRegistry();
  const loops = serverLoops(
    {client, clock, random: seededRandom(1), log: noLog, meter: metrics, gate: () => false, watchSeconds: 86_400},
    stop.signal,
  );
  await loops.run(localAvailabilityLoop);
  await loops.run(autoregisterLoop({builtIn: builtInRegistrations(served, words), withDefinitions: false, naming: words}));
  await clock.drain();
  const names = async () => (await objects.list()).items.map(({metadata}) => metadata?.name);
  return {...env, objects, names, loops, metrics, [Symbol.dispose]: () => stop.abort()};
};

const anApiService = (version: string, group: string, managed?: string, spec: object = {}): ApiService => ({
  metadata: {name: `${version}.${group}`, ...(managed ? {labels: {[label]: managed}} : {})},
  spec: {group, version, groupPriorityMinimum: 5, versionPriority: 5, ...spec},
});

for (const [group, version, expected] of [
  ['resource', 'v1', 21],
  ['scheduling', 'v1alpha1', 1],
] as const) {
  test(`${version} of the group ${group} has the original's place among its versions`, t => {
    t.is(builtInPriority(group, version)?.version, expected);
  });
}

test('a served group version is registered with its priority and available at once; registering itself needs none', async t => {
  using env = await start();

  t.deepEqual(await env.names(), ['v1.apps', 'v1.batch']);
  t.like(await env.objects.get('v1.apps'), {
    metadata: {labels: {[label]: 'onstart'}},
    spec: {group: 'apps', version: 'v1', groupPriorityMinimum: 17_800, versionPriority: 15},
    status: {conditions: [{type: 'Available', status: 'True', reason: 'Local', message: 'Local APIServices are always available'}]},
  });
});

for (const [title, object, left] of [
  ['of another, that the server looked after when it started, goes', anApiService('v1', 'old', 'onstart'), undefined],
  ['of another, that the server looks after always, goes', anApiService('v1', 'old', 'true'), undefined],
  ['of another without the label stays', anApiService('v1', 'old'), 5],
  ['of another with an invalid label stays', anApiService('v1', 'old', 'perhaps'), 5],
  ['of an old release gets its new place', anApiService('v1', 'apps', 'onstart'), 17_800],
  ['that is to be looked after always gets its place', anApiService('v1', 'apps', 'true'), 17_800],
  ['that an administrator took over is left to him', anApiService('v1', 'apps'), 5],
] as const) {
  test(`a registration from before the start ${title}`, async t => {
    using env = await start([object]);
    const found = (await env.objects.list()).items.find(({metadata}) => metadata?.name === object.metadata?.name);

    t.is(found?.spec?.groupPriorityMinimum, left);
  });
}

test('changes of users to a registration after the start are kept', async t => {
  using env = await start();
  await env.objects.delete('v1.batch');
  await env.objects.patch('v1.apps', 'merge', {spec: {groupPriorityMinimum: 7}});
  await env.objects.create(anApiService('v1', 'new', 'onstart'));
  await env.clock.drain();

  t.deepEqual(await env.names(), ['v1.apps', 'v1.new']);
  t.is((await env.objects.get('v1.apps')).spec?.groupPriorityMinimum, 7);
});

for (const [title, before, service] of [
  ['is made where it is missing', [], undefined],
  [
    'is left alone where another serves it',
    [anApiService('v1beta1', 'metrics.plat.io', undefined, {service: {namespace: 'n', name: 's', port: 443}})],
    's',
  ],
] as const) {
  test(`the registration of metrics ${title}, and is not managed`, async t => {
    using env = await start(before, [{group: 'metrics', version: 'v1beta1'}]);
    const {metadata, spec} = await env.objects.get('v1beta1.metrics.plat.io');
    t.is(metadata?.labels, undefined);
    t.is(spec?.service?.name, service);
    await env.objects.delete('v1beta1.metrics.plat.io');
    await env.clock.drain();
    t.deepEqual(await env.names(), []);
  });
}

test('a registration that is managed on start is removed when nothing is served there', async t => {
  using env = await start();
  await env.objects.create(anApiService('v1', 'new', 'true'));
  await env.clock.drain();

  t.deepEqual(await env.names(), ['v1.apps', 'v1.batch']);
});

test('an APIService that loses its service becomes local, and keeps its available time', async t => {
  using env = await start();
  const made = await env.objects.create(anApiService('v1', 'far', undefined, {service: {namespace: 'n', name: 's'}}));
  t.deepEqual(made.status, {});
  const was = {
    type: 'Available',
    status: 'True',
    reason: 'Passed',
    message: 'all checks passed',
    lastTransitionTime: '2020-01-01T00:00:00Z',
  };
  await env.objects.update({...made, status: {conditions: [{type: 'Other', status: 'True'}, was]}}, {subresource: 'status'});
  await env.objects.patch('v1.far', 'merge', {spec: {service: null}});
  await env.clock.drain();

  t.deepEqual((await env.objects.get('v1.far')).status?.conditions, [
    {type: 'Other', status: 'True', lastTransitionTime: null},
    {...was, reason: 'Local', message: 'Local APIServices are always available'},
  ]);
  const unavailable = () => env.metrics.value('aggregator_unavailable_apiservice', {name: 'v1.far'});
  t.is(unavailable(), 0);

  await env.objects.delete('v1.far');
  await env.clock.drain();
  t.is(unavailable(), undefined);
});

test('a missing APIService is reported until each was seen once', async t => {
  using env = await start();
  const {informers} = env.loops;
  const completion = completionOf(informers, ['v1.apps', 'v1.late', 'v1.batch', 'v2.late']);
  t.throws(() => completion.check(), {message: 'missing APIService: [v1.late v2.late]'});
  await env.objects.create(anApiService('v1', 'late'));
  await env.objects.delete('v1.late');
  await env.objects.create(anApiService('v2', 'late'));
  await env.clock.drain();

  t.notThrows(() => completion.check());
  await completion.reached(new AbortController().signal);
});

test('a plane registers all that it serves', async t => {
  await using plane = await aPlane({controllers: [], apiserverArgs: ['--runtime-config=api/all=true']});
  const {items} = await plane.client().resource(kinds.apiServices).list();
  const groups = plane.api.server.discovery.groups.filter(({group}) => group !== 'apiregistration');

  t.deepEqual(
    items.map(({metadata}) => metadata!.name!).sort(),
    groups.flatMap(({group, versions}) => versions.map(({version}) => `${version}.${plane.naming.group(group)}`)).sort(),
  );
  t.true(items.every(({status}) => status?.conditions?.[0]?.reason === 'Local'));
  const {body} = await plane.api.health.readyz.all('readyz', {verbose: true});
  for (const name of [
    'autoregister-completion',
    'poststarthook/plat-apiserver-autoregistration',
    'poststarthook/apiservice-status-local-available-controller',
  ])
    t.true(body.includes(`[+]${name} ok\n`), name);
});

test('the versions of custom resources are registered for as long as their definitions serve them', async t => {
  await using plane = await aPlane({controllers: []});
  const client = plane.client();
  const objects = client.resource(kinds.apiServices);
  const definitions = client.resource(kinds.customResourceDefinitions);
  const custom = async () =>
    (await objects.list()).items.map(({metadata}) => metadata?.name).filter(name => name?.endsWith('.stable.example.com'));
  const aVersion = (name: string, served = true) => ({name, served, storage: name === 'v1', schema: {openAPIV3Schema: {type: 'object'}}});
  const made = await definitions.create({
    metadata: {name: 'crontabs.stable.example.com'},
    spec: {
      group: 'stable.example.com',
      scope: 'Namespaced',
      names: {plural: 'crontabs', kind: 'CronTab'},
      versions: [aVersion('v1'), aVersion('v1beta1'), aVersion('v1alpha1', false)],
    },
  });
  await plane.clock.drain();
  t.deepEqual(await custom(), ['v1.stable.example.com', 'v1beta1.stable.example.com']);
  t.like(await objects.get('v1.stable.example.com'), {
    metadata: {labels: {[label]: 'true'}},
    spec: {group: 'stable.example.com', version: 'v1', groupPriorityMinimum: 1000, versionPriority: 100},
    status: {conditions: [{reason: 'Local'}]},
  });

  await objects.delete('v1.stable.example.com');
  await objects.patch('v1beta1.stable.example.com', 'merge', {spec: {versionPriority: 7}});
  await plane.clock.drain();
  t.deepEqual(await custom(), ['v1.stable.example.com', 'v1beta1.stable.example.com']);
  t.is((await objects.get('v1beta1.stable.example.com')).spec?.versionPriority, 100);

  const {spec} = await definitions.get(made.metadata!.name!);
  await definitions.patch(made.metadata!.name!, 'merge', {spec: {versions: [spec.versions[0], {...spec.versions[1], served: false}]}});
  await plane.clock.drain();
  t.deepEqual(await custom(), ['v1.stable.example.com']);

  await definitions.delete(made.metadata!.name!);
  await plane.clock.drain();
  t.deepEqual(await custom(), []);
});
