// The scenarios of upstream's pkg/controller/resourceclaim/controller_test.go, one row or test each: TestSyncHandler,
// TestResourceClaimEventHandler, TestGenerateName and TestGetAdminAccessMetricLabel.

import test, {type ExecutionContext} from 'ava';
import resourceClaim from '#controllers/resourceclaim/controller.js';
import {generateName} from '#controllers/resourceclaim/generated-claims.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {conflict} from '#src/api/status.js';
import {aClaim, aClaimTemplate, allocation, aPodWithClaims, consumer, finalizer, podClaimKey} from './device-claims.js';
import {startManager} from '#test/runtime/environment.js';
import {startServer, type ServerOptions} from '#test/fixtures/server.js';
import {actionsOn, alone, namespace} from './workloads.js';

const start = async (t: ExecutionContext, options: ServerOptions = {}) => {
  const at = await alone(t, [resourceClaim], {}, startServer(options));
  const claims = () => at.list(kinds.resourceClaims);
  return {
    ...at,
    claims,
    names: async () => (await claims()).map(({metadata}) => metadata!.name!),
    statuses: async (pod = 'p') => (await at.get(kinds.pods, pod)).status?.resourceClaimStatuses,
    status: (name: string, status: object) => at.patch(kinds.resourceClaims, name, {status}, 'status'),
    /** A claim that is allocated by the scheduler and reserved for pods. */
    async reserved(name: string, ...pods: readonly Pod[]) {
      await at.create(kinds.resourceClaims, aClaim(name, {finalizers: [finalizer]}));
      await at.patch(kinds.resourceClaims, name, {status: {allocation, reservedFor: pods.map(consumer)}}, 'status');
    },
    /** The consumers of a claim, whether it is allocated, and its finalizers. */
    async state(name: string) {
      const {metadata, status} = await at.get(kinds.resourceClaims, name);
      return [status?.reservedFor?.map(each => each.name) ?? [], Boolean(status?.allocation), metadata?.finalizers ?? []] as const;
    },
  };
};

for (const [pod, entry, base] of [
  ['pod', 'claim', 'pod-claim-'],
  ['a'.repeat(60), 'b'.repeat(20), `${'a'.repeat(41)}-${'b'.repeat(13)}`],
  ['a'.repeat(200), 'gpu', `${'a'.repeat(55)}-`],
] as const)
  test(`the claim ${entry} of a pod with a name of ${pod.length} characters begins with ${base}`, t =>
    t.is(generateName(pod, entry), base));

test('a claim is created from a template, once, and its name is in the status of the pod', async t => {
  const at = await start(t);
  await at.create(kinds.resourceClaimTemplates, aClaimTemplate());
  const pod = await at.create(kinds.pods, aPodWithClaims('p'));

  const [claim, ...others] = await at.claims();
  t.regex(claim!.metadata!.name!, /^p-devices-[a-z0-9]{5}$/);
  t.deepEqual(others, []);
  t.deepEqual(claim!.metadata!.labels, {from: 'template'});
  t.deepEqual(claim!.metadata!.annotations, {made: 'here', [podClaimKey]: 'devices'});
  t.deepEqual(claim!.metadata!.ownerReferences, [
    {apiVersion: 'v1', kind: 'Pod', name: 'p', uid: pod.metadata!.uid!, controller: true, blockOwnerDeletion: true},
  ]);
  t.is(claim!.spec.devices!.requests![0]!.exactly!.deviceClassName, 'c');
  t.deepEqual(await at.statuses(), [{name: 'devices', resourceClaimName: claim!.metadata!.name!}]);
  const fields = (await at.get(kinds.pods, 'p')).metadata!.managedFields!.find(({manager}) => manager === 'ResourceClaimController');
  t.deepEqual([fields?.operation, fields?.subresource], ['Apply', 'status']);
  const {body} = await at.meter.exposition();
  t.regex(body, /resourceclaim_controller_creates_total\{status="success",admin_access="false"\} 1/);
  t.regex(body, /resourceclaim_controller_resource_claims\{allocated="false",admin_access="false",source="resource_claim_template"\} 1/);
});

test('a pod with several claims gets all, and keeps those that it has when one is created again', async t => {
  const at = await start(t);
  for (const name of ['one', 'two']) await at.create(kinds.resourceClaimTemplates, aClaimTemplate(name));
  await at.create(kinds.pods, aPodWithClaims('p', {a: {template: 'one'}, b: {template: 'two'}, c: {claim: 'own'}}));
  const before = await at.statuses();
  t.deepEqual(
    before?.map(({name}) => name),
    ['a', 'b'],
  );

  await at.remove(kinds.resourceClaims, before![1]!.resourceClaimName!);

  const after = await at.statuses();
  t.deepEqual(after![0], before![0]);
  t.not(after![1]!.resourceClaimName, before![1]!.resourceClaimName);
  t.deepEqual((await at.names()).sort(), after!.map(each => each.resourceClaimName!).sort());
});

test('a missing template is an event, and no hindrance once it exists', async t => {
  const at = await start(t);
  await at.create(kinds.pods, aPodWithClaims('p'));
  t.is(
    (await at.eventsOn('p'))[0],
    'Warning FailedResourceClaimCreation PodResourceClaim devices: resource claim template "template": resourceclaimtemplate.resource.plat.io "template" not found',
  );
  t.is(await at.statuses(), undefined);

  await at.create(kinds.resourceClaimTemplates, aClaimTemplate());
  await at.clock.advance(60_000);
  t.is((await at.names()).length, 1);
});

test('a claim that was created before the status could be written is used', async t => {
  const at = await start(t);
  at.own.fail('patch pods', new Error('the first'), new Error('the second'));
  await at.create(kinds.resourceClaimTemplates, aClaimTemplate());
  await at.create(kinds.pods, aPodWithClaims('p'));
  await at.clock.advance(60_000);

  t.deepEqual(
    (await at.statuses())?.map(each => each.resourceClaimName),
    await at.names(),
  );
  t.is((await at.names()).length, 1);
});

test('a claim that could not be created is counted, and created later', async t => {
  const at = await start(t);
  at.own.fail('create resourceclaims', new Error('not now'));
  await at.create(kinds.resourceClaimTemplates, aClaimTemplate());
  await at.create(kinds.pods, aPodWithClaims('p'));
  t.is((await at.eventsOn('p'))[0], 'Warning FailedResourceClaimCreation PodResourceClaim devices: create ResourceClaim : not now');
  await at.clock.advance(60_000);

  t.is((await at.names()).length, 1);
  t.regex((await at.meter.exposition()).body, /creates_total\{status="failure",admin_access="false"\} 1/);
});

test("a claim of that name which is another's is left alone, and another is created", async t => {
  const at = await start(t);
  await at.create(kinds.resourceClaimTemplates, aClaimTemplate());
  const unlike = {apiVersion: 'v1', kind: 'Pod', name: 'q', uid: 'another', controller: true};
  await at.create(kinds.resourceClaims, aClaim('taken', {ownerReferences: [unlike]}));
  const pod = aPodWithClaims('p');
  await at.create(kinds.pods, pod);
  const [made] = (await at.names()).filter(name => name !== 'taken');
  t.is((await at.statuses())![0]!.resourceClaimName, made);
  t.deepEqual((await at.get(kinds.resourceClaims, 'taken')).metadata!.ownerReferences, [unlike]);
});

for (const isOn of [false, true]) {
  test(`a template with admin access is ${isOn ? 'used' : 'refused'} when the gate is ${isOn ? 'on' : 'off'}`, async t => {
    const server = startServer({gate: name => name === 'DRAAdminAccess'});
    const env = startManager(t, [resourceClaim], {gates: {enabled: name => isOn && name === 'DRAAdminAccess'}}, server);
    await env.start();
    const at = actionsOn({client: () => env.client, clock: env.clock});
    await at.create(kinds.namespaces, {metadata: {name: namespace, labels: {'resource.plat.io/admin-access': 'true'}}});
    const spec = {devices: {requests: [{name: 'r', exactly: {deviceClassName: 'c', adminAccess: true}}]}};
    await at.create(kinds.resourceClaimTemplates, aClaimTemplate('template', spec));
    await at.create(kinds.pods, aPodWithClaims('p'));

    const reasons = (await at.eventsOn('p')).slice(0, 1);
    const claims = await at.list(kinds.resourceClaims);
    if (isOn) {
      t.deepEqual(reasons, []);
      t.is(claims[0]!.spec.devices!.requests![0]!.exactly!.adminAccess, true);
      t.regex((await env.meter.exposition()).body, /creates_total\{status="success",admin_access="true"\} 1/);
    } else {
      const message = 'PodResourceClaim devices: admin access is requested, but the feature is disabled';
      t.deepEqual([reasons, claims], [[`Warning FailedResourceClaimCreation ${message}`], []]);
    }
  });
}

test('a pod that was bound without the scheduler gets its allocated claims reserved', async t => {
  const at = await start(t);
  await at.create(kinds.resourceClaims, aClaim('shared'));
  await at.create(kinds.pods, aPodWithClaims('bound', {c: {claim: 'shared'}}, {nodeName: 'n'}));
  await at.create(kinds.pods, aPodWithClaims('waiting', {c: {claim: 'shared'}}));
  t.deepEqual(await at.state('shared'), [[], false, []]);

  await at.status('shared', {allocation});

  t.deepEqual(await at.state('shared'), [['bound'], true, []]);
});

const ends: readonly [title: string, end: (at: Awaited<ReturnType<typeof start>>) => Promise<unknown>, isReleased: boolean][] = [
  ['is deleted', at => at.remove(kinds.pods, 'p', {gracePeriodSeconds: 0}), true],
  ['has succeeded', at => at.runs('p', {phase: 'Succeeded', ready: false}), true],
  ['has failed', at => at.runs('p', {phase: 'Failed', ready: false}), true],
  ['is running', at => at.runs('p'), false],
  ['is about to be deleted on its node', at => at.remove(kinds.pods, 'p', {gracePeriodSeconds: 30}), false],
];
for (const [title, end, isReleased] of ends) {
  test(`a claim is ${isReleased ? 'released and deallocated' : 'kept'} when its only pod ${title}`, async t => {
    const at = await start(t);
    const pod = await at.create(kinds.pods, aPodWithClaims('p', {c: {claim: 'own'}}, {nodeName: 'n'}));
    await at.reserved('own', pod);
    t.deepEqual(await at.state('own'), [['p'], true, [finalizer]]);

    await end(at);

    t.deepEqual(await at.state('own'), isReleased ? [[], false, []] : [['p'], true, [finalizer]]);
  });

  test(`a generated claim is ${isReleased ? 'deleted' : 'kept'} when its pod ${title}`, async t => {
    const at = await start(t, {garbageCollector: true});
    await at.create(kinds.resourceClaimTemplates, aClaimTemplate());
    const pod = await at.create(kinds.pods, aPodWithClaims('p', undefined, {nodeName: 'n'}));
    const [name] = await at.names();
    await at.patch(kinds.resourceClaims, name!, {metadata: {finalizers: [finalizer]}});
    await at.status(name!, {allocation, reservedFor: [consumer(pod)]});

    await end(at);

    // The garbage collector deletes claims of pods that are gone.
    const isGone = (await at.names()).length === 0;
    t.is(isGone, isReleased && !title.includes('deleted'));
    if (title === 'is deleted') t.deepEqual(await at.state(name!), [[], false, []]);
  });
}

test('a claim that is shared stays allocated until the last of its pods is done', async t => {
  const at = await start(t);
  const pods = [];
  for (const name of ['one', 'two']) pods.push(await at.create(kinds.pods, aPodWithClaims(name, {c: {claim: 'shared'}}, {nodeName: 'n'})));
  await at.reserved('shared', ...pods);

  await at.runs('one', {phase: 'Succeeded', ready: false});
  t.deepEqual(await at.state('shared'), [['two'], true, [finalizer]]);
  await at.runs('two', {phase: 'Failed', ready: false});
  t.deepEqual(await at.state('shared'), [[], false, []]);
});

test('a claim that was allocated for no pod yet stays so, and is deallocated when it is deleted', async t => {
  const at = await start(t);
  await at.create(kinds.resourceClaims, aClaim('own', {finalizers: [finalizer]}));
  await at.status('own', {allocation});
  t.deepEqual(await at.state('own'), [[], true, [finalizer]]);

  await at.remove(kinds.resourceClaims, 'own');

  t.deepEqual(await at.names(), []);
});

test('a claim that is deleted while in use is removed with its last pod', async t => {
  const at = await start(t);
  const pod = await at.create(kinds.pods, aPodWithClaims('p', {c: {claim: 'own'}}, {nodeName: 'n'}));
  await at.reserved('own', pod);
  await at.remove(kinds.resourceClaims, 'own');
  t.deepEqual(await at.names(), ['own']);

  await at.remove(kinds.pods, 'p', {gracePeriodSeconds: 0});

  t.deepEqual(await at.names(), []);
});

test('a reservation for a pod that never existed, or was replaced, is removed', async t => {
  const at = await start(t);
  const ghost = {metadata: {name: 'ghost', uid: 'ghost'}};
  const pod = await at.create(kinds.pods, aPodWithClaims('p', {c: {claim: 'own'}}));
  await at.reserved('own', ghost, {metadata: {name: 'p', uid: 'before'}}, pod);

  t.deepEqual(await at.state('own'), [['p'], true, [finalizer]]);
});

test('a reservation for something that is no pod is left alone', async t => {
  const at = await start(t);
  await at.create(kinds.resourceClaims, aClaim('own', {finalizers: [finalizer]}));
  await at.status('own', {allocation, reservedFor: [{apiGroup: 'example.com', resource: 'things', name: 't', uid: 'u'}]});

  t.deepEqual(await at.state('own'), [['t'], true, [finalizer]]);
});

test('a change of the claim between reading and writing is no loss', async t => {
  const at = await start(t);
  const pod = await at.create(kinds.pods, aPodWithClaims('p', {c: {claim: 'own'}}, {nodeName: 'n'}));
  await at.reserved('own', pod);
  at.own.fail('update resourceclaims', conflict({group: 'resource.plat.io', resource: 'resourceclaims'}, 'own'));

  await at.runs('p', {phase: 'Succeeded', ready: false});
  await at.clock.advance(1_000);

  t.deepEqual(await at.state('own'), [[], false, []]);
});

test('the claim of extended resources is released and deleted with its pod', async t => {
  const at = await start(t, {gate: name => name === 'DRAExtendedResource'});
  const limits = {'example.com/gpu': '1'};
  const containers = [{name: 'c', image: 'i', resources: {limits, requests: limits}}];
  const pod = await at.create(kinds.pods, aPodWithClaims('p', {}, {nodeName: 'n', containers}));
  const ownerReferences = [{apiVersion: 'v1', kind: 'Pod', name: 'p', uid: pod.metadata!.uid!, controller: true}];
  const annotations = {'resource.plat.io/extended-resource-claim': 'true'};
  await at.create(kinds.resourceClaims, aClaim('extended', {finalizers: [finalizer], ownerReferences, annotations}));
  await at.status('extended', {allocation, reservedFor: [consumer(pod)]});
  const requestMappings = [{containerName: 'c', resourceName: 'example.com/gpu', requestName: 'r'}];
  await at.patch(kinds.pods, 'p', {status: {extendedResourceClaimStatus: {resourceClaimName: 'extended', requestMappings}}}, 'status');
  t.regex((await at.meter.exposition()).body, /resource_claims\{allocated="true",admin_access="false",source="extended_resource"\} 1/);

  await at.runs('p', {phase: 'Succeeded', ready: false});

  t.deepEqual(await at.names(), []);
});
