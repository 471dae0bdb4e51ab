import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {isNotFound} from '#src/api/status.js';
import {wireTime} from '#src/api/time.js';
import type {DeviceClaim} from '#src/model/devices/pod-claims.js';
import {aClaim, device, devices, driver, request, slice} from './device-objects.js';
import {aDevicePlane, aDevicePod} from './device-plane.js';

const spec = {devices: {requests: [{name: 'r', exactly: {deviceClassName: 'any'}}]}};
const template = {metadata: {name: 'one'}, spec: {spec}};
/** A claim as users create it. */
const made = ({spec: of, metadata}: DeviceClaim): DeviceClaim => ({metadata: {name: metadata!.name!}, spec: of});
const finalizer = 'resource.plat.io/delete-protection';

test('a pod gets a device for the claim that is generated for it; the next pod waits for it', async t => {
  await using at = await aDevicePlane();
  await at.client.resource(kinds.resourceSlices).create(slice('b', devices('gpu')));
  await at.create(kinds.resourceClaimTemplates, template);
  await at.create(kinds.pods, aDevicePod('first', {template: 'one'}));
  await at.create(kinds.pods, aDevicePod('second', {template: 'one'}));

  t.is(await at.nodeOf('first'), 'b');
  const [status] = (await at.get(kinds.pods, 'first')).status!.resourceClaimStatuses!;
  const name = status!.resourceClaimName!;
  t.deepEqual(await at.state(name), ['r=gpu', ['first']]);
  t.deepEqual((await at.get(kinds.resourceClaims, name)).metadata!.finalizers, [finalizer]);
  const text =
    '0/2 nodes are available: 2 cannot allocate all claims. still not schedulable, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.';
  t.is(await at.condition('second'), text);

  await at.runs('first', {phase: 'Succeeded', ready: false});
  t.true(isNotFound(await t.throwsAsync(at.get(kinds.resourceClaims, name))));
  await at.clock.advance(10_000);
  t.is(await at.nodeOf('second'), 'b');
});

test('a slice, a class or a claim that a pod waits for lets it be scheduled', async t => {
  await using at = await aDevicePlane();
  const classes = at.client.resource(kinds.deviceClasses);
  await classes.delete('any');
  await at.create(kinds.pods, aDevicePod('p', {claim: 'own'}));
  t.is(await at.condition('p'), undefined, 'a pod is not tried before its claims exist');
  await at.create(kinds.resourceClaims, made(aClaim('own', [request('r')])));
  t.is((await at.condition('p'))?.split('. ')[0], '0/2 nodes are available: request r: device class any does not exist');
  await classes.create({metadata: {name: 'any'}, spec: {}});
  await at.clock.advance(10_000);
  t.is((await at.condition('p'))?.split('. ')[0], '0/2 nodes are available: 2 cannot allocate all claims');
  await at.client.resource(kinds.resourceSlices).create(slice('a', devices('d')));
  await at.clock.advance(10_000);

  t.is(await at.nodeOf('p'), 'a');
});

test('a pod is not tried while its claim is missing, is not named in its status, or is of another pod, and is once that is mended', async t => {
  await using at = await aDevicePlane();
  await at.client.resource(kinds.resourceSlices).create(slice('a', devices('d1', 'd2', 'd3')));
  // No template: its claim is not created until there is one.
  await at.create(kinds.pods, aDevicePod('generated', {template: 'late'}));
  await at.create(kinds.pods, aDevicePod('direct', {claim: 'own'}));
  await at.clock.advance(600_000);
  t.deepEqual([await at.condition('generated'), await at.condition('direct')], [undefined, undefined]);
  t.deepEqual(await at.eventsOn('direct'), []);

  await at.create(kinds.resourceClaimTemplates, {metadata: {name: 'late'}, spec: {spec}});
  await at.create(kinds.resourceClaims, made(aClaim('own', [request('r')])));
  await at.clock.advance(1_200_000);
  t.deepEqual([await at.nodeOf('generated'), await at.nodeOf('direct')], ['a', 'a']);
});

test('a pod whose claim is being deleted is not tried until there is another of its name', async t => {
  await using at = await aDevicePlane();
  const held = {...made(aClaim('own', [request('r')])), metadata: {name: 'own', finalizers: ['example.com/held']}};
  await at.create(kinds.resourceClaims, held);
  await at.remove(kinds.resourceClaims, 'own');
  await at.create(kinds.pods, aDevicePod('p', {claim: 'own'}));
  t.is(await at.condition('p'), undefined);
  await at.client.resource(kinds.resourceClaims).patch('own', 'merge', {metadata: {finalizers: null}}, {namespace: 'default'});
  await at.clock.advance(60_000);
  t.is(await at.condition('p'), undefined);
  await at.client.resource(kinds.resourceSlices).create(slice('b', devices('d')));
  await at.create(kinds.resourceClaims, made(aClaim('own', [request('r')])));
  await at.clock.advance(10_000);

  t.is(await at.nodeOf('p'), 'b');
});

test('pods share a claim on the node of its device', async t => {
  await using at = await aDevicePlane();
  await at.client.resource(kinds.resourceSlices).create(slice('b', devices('d')));
  await at.create(kinds.resourceClaims, made(aClaim('shared', [request('r')])));
  for (const name of ['one', 'two']) await at.pods.create({...aDevicePod(name, {claim: 'shared'}), metadata: {name, namespace: 'default'}});
  await at.clock.advance(10_000);

  t.deepEqual([await at.nodeOf('one'), await at.nodeOf('two')], ['b', 'b']);
  const [result, users] = await at.state('shared');
  t.deepEqual([result, [...users].sort()], ['r=d', ['one', 'two']]);
});

test('a selector that fails ends the attempt with an error', async t => {
  await using at = await aDevicePlane();
  await at.client.resource(kinds.resourceSlices).create(slice('a', devices('d')));
  await at.create(kinds.resourceClaims, made(aClaim('own', [request('r', {select: [`device.attributes["${driver}"].nope`]})])));
  await at.create(kinds.pods, aDevicePod('p', {claim: 'own'}));

  const text = 'running "DynamicResources" filter plugin: claim default/own: selector #0: CEL runtime error: no such key: nope';
  t.is(await at.condition('p'), text);
});

test('devices of a claim that no pod uses are taken from it if they are on another node', async t => {
  await using at = await aDevicePlane();
  await at.client.resource(kinds.resourceSlices).create(slice('a', devices('d'), {pool: 'a'}));
  await at.client.resource(kinds.resourceSlices).create(slice('b', devices('d'), {pool: 'b'}));
  await at.create(kinds.resourceClaims, {
    ...(aClaim('own', [request('r')]) as object),
    metadata: {name: 'own', finalizers: [finalizer]},
  } as never);
  const nodeSelector = {nodeSelectorTerms: [{matchFields: [{key: 'metadata.name', operator: 'In', values: ['a']}]}]};
  const results = [{request: 'r', driver, pool: 'a', device: 'd'}];
  await at.patch(kinds.resourceClaims, 'own', {status: {allocation: {devices: {results}, nodeSelector}}}, 'status');
  const affinity = {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{matchFields: [{key: 'metadata.name', operator: 'In', values: ['b']}]}],
      },
    },
  };
  await at.create(kinds.pods, aDevicePod('p', {claim: 'own'}, {affinity}));
  await at.clock.advance(10_000);

  t.is(await at.nodeOf('p'), 'b');
  t.deepEqual(
    (await at.get(kinds.resourceClaims, 'own')).status?.allocation?.devices?.results?.map(({pool}) => pool),
    ['b'],
  );
});

const conditional = slice('a', [device('d', {bindingConditions: ['ready'], bindingFailureConditions: ['failed']})]);
const conditionalName = (conditional as {metadata: {name: string}}).metadata.name;
const report = (type: string, now: number) => ({
  status: {
    devices: [
      {
        driver,
        pool: 'a',
        device: 'd',
        conditions: [{type, status: 'True', reason: 'Said', message: 'so', lastTransitionTime: wireTime(now)}],
      },
    ],
  },
});

test('a pod is bound once the conditions of its devices are true', async t => {
  await using at = await aDevicePlane();
  await at.client.resource(kinds.resourceSlices).create(conditional);
  await at.create(kinds.resourceClaims, made(aClaim('own', [request('r')])));
  await at.create(kinds.pods, aDevicePod('p', {claim: 'own'}));
  await at.clock.advance(20_000);
  t.is(await at.nodeOf('p'), undefined);
  t.deepEqual(await at.state('own'), ['r=d', ['p']]);
  t.true((await at.eventsOn('p')).includes('Normal BindingConditionsPending waiting for binding conditions for device on node a'));

  await at.patch(kinds.resourceClaims, 'own', report('ready', at.clock.now()), 'status');
  await at.clock.advance(5_000);
  t.is(await at.nodeOf('p'), 'a');
});

test('a device that fails to get ready is taken from the claim, and the pod is scheduled again', async t => {
  await using at = await aDevicePlane();
  await at.client.resource(kinds.resourceSlices).create(conditional);
  await at.create(kinds.resourceClaims, made(aClaim('own', [request('r')])));
  await at.create(kinds.pods, aDevicePod('p', {claim: 'own'}));
  await at.patch(kinds.resourceClaims, 'own', report('failed', at.clock.now()), 'status');
  await at.clock.advance(5_000);
  t.is(await at.condition('p'), 'running PreBind plugin "DynamicResources": claim own binding failed: reason=Said, message="so"');
  const slices = at.client.resource(kinds.resourceSlices);
  await slices.delete(conditionalName);
  await slices.create(slice('b', devices('good')));
  await at.clock.advance(30_000);

  t.is(await at.nodeOf('p'), 'b');
  t.deepEqual(await at.state('own'), ['r=good', ['p']]);
});

test('a device that does not get ready in ten minutes is given up', async t => {
  await using at = await aDevicePlane();
  await at.client.resource(kinds.resourceSlices).create(conditional);
  await at.create(kinds.resourceClaims, made(aClaim('own', [request('r')])));
  await at.create(kinds.pods, aDevicePod('p', {claim: 'own'}));
  await at.clock.advance(605_000);

  t.true((await at.eventsOn('p')).some(each => /running PreBind plugin "DynamicResources": .* ?binding timeout$/.test(each)));
});

test('extended resources are provided by devices where the class says so', async t => {
  await using at = await aDevicePlane();
  await at.client
    .resource(kinds.deviceClasses)
    .create({metadata: {name: 'gpus'}, spec: {extendedResourceName: 'example.com/gpu'}} as never);
  await at.client.resource(kinds.resourceSlices).create(slice('b', devices('x', 'y', 'z')));
  const amount = {'example.com/gpu': '2'};
  const containers = [{name: 'c', image: 'i', resources: {requests: amount, limits: amount}}];
  for (const name of ['p', 'q']) await at.create(kinds.pods, {metadata: {name}, spec: {containers}});

  t.is(await at.nodeOf('p'), 'b');
  const {resourceClaimName: name, requestMappings} = (await at.get(kinds.pods, 'p')).status!.extendedResourceClaimStatus!;
  t.regex(name, /^p-extended-resources-[a-z0-9]{5}$/);
  t.deepEqual(requestMappings, [{containerName: 'c', resourceName: 'example.com/gpu', requestName: 'container-0-request-0'}]);
  t.deepEqual(await at.state(name), ['container-0-request-0=x container-0-request-0=y', ['p']]);
  t.is((await at.condition('q'))?.split('. ')[0], '0/2 nodes are available: 2 cannot allocate all claims');

  await at.runs('p', {phase: 'Succeeded', ready: false});
  await at.clock.advance(10_000);
  t.is(await at.nodeOf('q'), 'b');
  t.deepEqual((await at.list(kinds.resourceClaims)).length, 1);
});
