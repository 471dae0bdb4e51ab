import test, {type ExecutionContext} from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {isNotFound} from '#src/api/status.js';
import {aDevicePod} from '#test/scheduler/device-plane.js';
import {startDevices} from './device-planes.js';

const driver = 'gpu.example.com';

const start = (t: ExecutionContext, rules: string, nodes = 2) => startDevices(t, rules, {nodes});

test('nodes publish the devices of their rules, with a class for each driver', async t => {
  await using at = await start(
    t,
    `devices:
- {driver: ${driver}, name: gpu, count: 130, attributes: {model: large, cores: 64, virtual: false, firmware: {version: 1.2.0}}, capacity: {memory: 40Gi}}
- {driver: nic.example.com, nodes: "*-1", count: 2}
- {driver: nic.example.com, nodes: "*-1"}
`,
  );
  const slices = await at.slices();
  const shown = slices.map(({spec: {driver: of, nodeName, pool, devices = []}}) =>
    [of, nodeName, pool.name, pool.resourceSliceCount, devices.length].join(' '),
  );
  t.deepEqual(shown.sort(), [
    'gpu.example.com plat-node-0 plat-node-0 2 128',
    'gpu.example.com plat-node-0 plat-node-0 2 2',
    'gpu.example.com plat-node-1 plat-node-1 2 128',
    'gpu.example.com plat-node-1 plat-node-1 2 2',
    'nic.example.com plat-node-1 plat-node-1 1 3',
  ]);
  const [first] = slices.find(({spec}) => spec.devices?.[0]?.name === 'gpu-0')!.spec.devices!;
  t.deepEqual(first, {
    name: 'gpu-0',
    attributes: {model: {string: 'large'}, cores: {int: 64}, virtual: {bool: false}, firmware: {version: '1.2.0'}},
    capacity: {memory: {value: '40Gi'}},
  } as never);
  const classes = await at.client.resource(kinds.deviceClasses).list();
  t.deepEqual(
    classes.items.map(({metadata}) => metadata!.name),
    [driver, 'nic.example.com'],
  );
});

test('a pod runs once its device is allocated and prepared; the claim goes with it, and the next pod runs', async t => {
  await using at = await start(t, `devices: [{driver: ${driver}, nodes: "*-1", prepareAfter: 10s}]`);
  await at.create(kinds.pods, aDevicePod('first', {template: 'one'}));
  await at.create(kinds.pods, aDevicePod('second', {template: 'one'}));
  await at.clock.advance(5_000);
  t.is(await at.shown('first'), 'Pending: c ContainerCreating');
  await at.clock.advance(10_000);

  t.is(await at.shown('first'), 'Running: c ready');
  const name = await at.claimOf('first');
  const {status} = await at.get(kinds.resourceClaims, name);
  t.deepEqual(
    status?.devices?.map(({device, conditions}) => [device, conditions?.[0]?.type, conditions?.[0]?.status]),
    [['device-0', 'Ready', 'True']],
  );
  t.is((await at.get(kinds.pods, 'second')).status?.phase, 'Pending');
  const message = (await at.get(kinds.pods, 'second')).status!.conditions!.find(({type}) => type === 'PodScheduled')!.message!;
  t.is(message.split('. ')[0], '0/2 nodes are available: 2 cannot allocate all claims');

  await at.remove(kinds.pods, 'first');
  await at.clock.advance(120_000);
  t.true(isNotFound(await t.throwsAsync(at.get(kinds.resourceClaims, name))));
  t.is(await at.shown('second'), 'Running: c ready');
});

test('a device that cannot be prepared is an event, and the pod waits', async t => {
  await using at = await start(t, `devices: [{driver: ${driver}, prepareError: the fan is off}]`, 1);
  await at.create(kinds.pods, aDevicePod('p', {template: 'one'}));
  await at.clock.advance(12_000);

  t.is(await at.shown('p'), 'Pending: c ContainerCreating');
  const name = await at.claimOf('p');
  const text = `Warning FailedPrepareDynamicResources Failed to prepare dynamic resources: NodePrepareResources failed for ResourceClaim ${name}: the fan is off`;
  t.true((await at.eventsOn('p')).includes(text));
});

test('a pod that was bound without the scheduler waits for its claim', async t => {
  await using at = await start(t, `devices: [{driver: ${driver}}]`, 1);
  await at.create(kinds.resourceClaims, {
    metadata: {name: 'own'},
    spec: {devices: {requests: [{name: 'r', exactly: {deviceClassName: driver}}]}},
  });
  const pod = await at.create(kinds.pods, aDevicePod('p', {claim: 'own'}, {nodeName: 'plat-node-0'}));
  await at.clock.advance(2_000);
  const {uid} = (await at.get(kinds.resourceClaims, 'own')).metadata!;
  t.true(
    (await at.eventsOn('p')).includes(
      `Warning FailedPrepareDynamicResources Failed to prepare dynamic resources: pod p(${pod.metadata!.uid}) is not allowed to use resource claim own(${uid})`,
    ),
  );
  const results = [{request: 'r', driver, pool: 'plat-node-0', device: 'device-0'}];
  await at.patch(kinds.resourceClaims, 'own', {status: {allocation: {devices: {results}}}}, 'status');
  await at.clock.advance(20_000);

  t.is(await at.shown('p'), 'Running: c ready');
});
