import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {aDevicePod} from '#test/scheduler/device-plane.js';
import {root} from '#test/sources.js';
import {startDevices} from './device-planes.js';
import {aPlaneWithNodes, describePod, eventsOf, podNamed, podsOf, run, type BoundPod, type NodesPlane} from './environment.js';

const gpu = 'example.com/gpu';
const gates = ['--feature-gates=ResourceHealthStatus=true'];

/** Writes a file of rules. */
const rulesFile = (t: ExecutionContext, rules: string): string => {
  const folder = mkdtempSync(join(tmpdir(), 'plat-health-'));
  t.teardown(() => rmSync(folder, {recursive: true}));
  const file = join(folder, 'rules.yaml');
  writeFileSync(file, rules);
  return file;
};

const threeGpus = `devices: [{resource: ${gpu}, name: gpu, count: 3}]`;

const container = (name: string, count: number) => {
  const amounts = {[gpu]: String(count)};
  return {name, image: 'nginx', resources: {requests: amounts, limits: amounts}};
};

const wanting = (name: string, count: number): BoundPod => ({name, containers: [container('app', count)]});

const nodeOf = async (plane: NodesPlane) => (await plane.client().resource(kinds.nodes).get('plat-node-0')).status;

/** `capacity, allocatable` of the resource. */
const countedOn = async (plane: NodesPlane): Promise<string> => {
  const status = await nodeOf(plane);
  return `${status?.capacity?.[gpu]}, ${status?.allocatable?.[gpu]}`;
};

/** Sets the annotation by which devices fail. */
const fail = async (plane: NodesPlane, devices: string | null): Promise<void> => {
  const annotations = {[plane.naming.subKey('simulation', 'unhealthy-devices')]: devices};
  await plane.client().resource(kinds.nodes).patch('plat-node-0', 'merge', {metadata: {annotations}});
  await plane.clock.advance(1_000);
};

/** The devices of a container as its status shows them: `example.com/gpu: gpu-0 Healthy`. */
const healthOf = async (plane: NodesPlane, pod: string, name = 'app'): Promise<string> => {
  const status = (await podNamed(plane, pod)).status?.containerStatuses?.find(one => one.name === name);
  return (status?.allocatedResourcesStatus ?? [])
    .map(
      ({name: resource, resources = []}) => `${resource}: ${resources.map(({resourceID, health}) => `${resourceID} ${health}`).join(', ')}`,
    )
    .join('; ');
};

test('a node offers devices as an extended resource, and gives containers devices of their own', async t => {
  await using plane = await aPlaneWithNodes({simulationFile: rulesFile(t, threeGpus), apiserverArgs: gates});
  t.is(await countedOn(plane), '3, 3');
  await run(plane, {name: 'two', containers: [container('app', 1), container('side', 1), {name: 'none', image: 'nginx'}]});
  await run(plane, wanting('one', 1));
  await plane.clock.advance(1_000);
  t.is(await healthOf(plane, 'two'), `${gpu}: gpu-0 Healthy`);
  t.is(await healthOf(plane, 'two', 'side'), `${gpu}: gpu-1 Healthy`);
  t.is(await healthOf(plane, 'two', 'none'), '');
  t.is(await healthOf(plane, 'one'), `${gpu}: gpu-2 Healthy`);

  await run(plane, wanting('late', 1));
  await plane.clock.advance(1_000);
  const message = `Allocate failed due to requested number of devices unavailable for ${gpu}. Requested: 1, Available: 0, which is unexpected`;
  t.like((await podNamed(plane, 'late')).status, {
    phase: 'Failed',
    reason: 'UnexpectedAdmissionError',
    message: `Pod was rejected: ${message}`,
  });
  t.is((await eventsOf(plane, 'late')).at(-1), `UnexpectedAdmissionError: ${message}`);

  await podsOf(plane).delete('two', {namespace: 'default', gracePeriodSeconds: 0});
  await plane.clock.advance(1_000);
  await run(plane, wanting('next', 2));
  await plane.clock.advance(1_000);
  t.is(await healthOf(plane, 'next'), `${gpu}: gpu-0 Healthy, gpu-1 Healthy`);
});

test('a device that fails is no longer allocatable, and its pod shows that until it is well again', async t => {
  await using plane = await aPlaneWithNodes({simulationFile: rulesFile(t, threeGpus), apiserverArgs: gates});
  await run(plane, wanting('user', 1));
  await plane.clock.advance(1_000);
  await fail(plane, `${gpu}/gpu-0, ${gpu}/gpu-1`);
  t.is(await countedOn(plane), '3, 1');
  t.is(await healthOf(plane, 'user'), `${gpu}: gpu-0 Unhealthy`);
  t.is(describePod(await podNamed(plane, 'user')), 'Running: app ready');

  // The device of a pod counts beside the one that is left.
  await run(plane, wanting('other', 1));
  await run(plane, wanting('late', 1));
  await plane.clock.advance(1_000);
  t.is(await healthOf(plane, 'other'), `${gpu}: gpu-2 Healthy`);
  t.is((await podNamed(plane, 'late')).status?.reason, 'UnexpectedAdmissionError');

  await fail(plane, `${gpu}/*`);
  t.is(await countedOn(plane), '3, 0');
  await run(plane, wanting('last', 1));
  await plane.clock.advance(1_000);
  t.is(
    (await podNamed(plane, 'last')).status?.message,
    `Pod was rejected: Allocate failed due to no healthy devices present; cannot allocate unhealthy devices ${gpu}, which is unexpected`,
  );

  await fail(plane, null);
  t.is(await countedOn(plane), '3, 3');
  t.is(await healthOf(plane, 'user'), `${gpu}: gpu-0 Healthy`);
});

test('a rule has devices fail and recover, which the annotation overrides', async t => {
  const rules = `devices:
- {resource: ${gpu}, name: gpu, count: 2}
- {resource: ${gpu}, name: gpu, unhealthyAfter: 1m, unhealthyFor: 30s}
- {resource: ${gpu}, name: other, nodes: "*-1"}`;
  await using plane = await aPlaneWithNodes({simulationFile: rulesFile(t, rules), apiserverArgs: gates});
  await run(plane, wanting('user', 3));
  await plane.clock.advance(58_000);
  t.is(await countedOn(plane), '3, 3');
  await plane.clock.advance(5_000);
  t.is(await countedOn(plane), '3, 2');
  t.is(await healthOf(plane, 'user'), `${gpu}: gpu-0 Healthy, gpu-1 Healthy, gpu-2 Unhealthy`);
  await fail(plane, `${gpu}/gpu-2=Healthy, ${gpu}/gpu-0=Unknown`);
  t.is(await healthOf(plane, 'user'), `${gpu}: gpu-0 Unhealthy, gpu-1 Healthy, gpu-2 Healthy`);
  await fail(plane, null);
  await plane.clock.advance(30_000);
  t.is(await countedOn(plane), '3, 3');
});

test('init containers leave their devices to the containers after them', async t => {
  await using plane = await aPlaneWithNodes({simulationFile: rulesFile(t, threeGpus), apiserverArgs: gates});
  await run(plane, {
    ...wanting('pod', 2),
    initContainers: [container('first', 3), {...container('side', 1), restartPolicy: 'Always'}],
  });
  await plane.clock.advance(5_000);
  t.is(describePod(await podNamed(plane, 'pod')).startsWith('Running'), true);
  t.is(await healthOf(plane, 'pod'), `${gpu}: gpu-1 Healthy, gpu-2 Healthy`);
});

test('without the gate of the server no pod shows the health of devices, and its status is not written for that', async t => {
  await using plane = await aPlaneWithNodes({simulationFile: rulesFile(t, threeGpus)});
  await run(plane, wanting('user', 1));
  await plane.clock.advance(1_000);
  t.is(await healthOf(plane, 'user'), '');
  const before = (await podNamed(plane, 'user')).metadata?.resourceVersion;
  await fail(plane, `${gpu}/gpu-0`);
  t.is(await countedOn(plane), '3, 2');
  t.is((await podNamed(plane, 'user')).metadata?.resourceVersion, before);
});

test('pods have their devices again after a restart of the nodes', async t => {
  const dataDir = mkdtempSync(join(tmpdir(), 'plat-nodes-'));
  t.teardown(() => rmSync(dataDir, {recursive: true}));
  const clock = new VirtualClock();
  const options = {dataDir, clock, simulationFile: rulesFile(t, threeGpus), apiserverArgs: gates};
  const first = await aPlaneWithNodes(options);
  await run(first, wanting('gone', 1));
  await run(first, wanting('kept', 1));
  await clock.advance(1_000);
  await podsOf(first).delete('gone', {namespace: 'default', gracePeriodSeconds: 0});
  await clock.advance(1_000);
  t.is(await healthOf(first, 'kept'), `${gpu}: gpu-1 Healthy`);
  await first.stop();

  await using plane = await aPlaneWithNodes(options);
  await clock.advance(1_000);
  await run(plane, wanting('next', 2));
  await clock.advance(1_000);
  t.is(await healthOf(plane, 'kept'), `${gpu}: gpu-1 Healthy`);
  t.is(await healthOf(plane, 'next'), `${gpu}: gpu-0 Healthy, gpu-2 Healthy`);
});

test('the devices of claims fail by the annotation, and their pods show it by claim, also after a restart of the nodes', async t => {
  const driver = 'gpu.example.com';
  const dataDir = mkdtempSync(join(tmpdir(), 'plat-nodes-'));
  t.teardown(() => rmSync(dataDir, {recursive: true}));
  const options = {nodes: 1, gates: ['ResourceHealthStatus'], lasting: {dataDir, clock: new VirtualClock()}};
  const start = () => startDevices(t, `devices: [{driver: ${driver}}]`, options);
  const shows = async (at: Awaited<ReturnType<typeof start>>, health: string): Promise<void> => {
    const {status} = await at.get(kinds.pods, 'first');
    const resources = [{resourceID: `${driver}/plat-node-0/device-0`, health}];
    t.deepEqual(status?.containerStatuses?.[0]?.allocatedResourcesStatus, [{name: 'claim:devices/r', resources}]);
  };
  const annotate = async (at: Awaited<ReturnType<typeof start>>, value: string): Promise<void> => {
    const annotations = {'simulation.plat.io/unhealthy-devices': value};
    await at.client.resource(kinds.nodes).patch('plat-node-0', 'merge', {metadata: {annotations}});
    await at.clock.advance(1_000);
  };
  {
    await using at = await start();
    const using = {name: 'c', image: 'i', resources: {claims: [{name: 'devices', request: 'r'}]}};
    await at.create(kinds.pods, aDevicePod('first', {template: 'one'}, {containers: [using]}));
    await at.clock.advance(5_000);
    await shows(at, 'Healthy');
    await annotate(at, `${driver}/device-*`);
    await shows(at, 'Unhealthy');
  }
  await using at = await start();
  await at.clock.advance(5_000);
  await shows(at, 'Unhealthy');
  await annotate(at, `${driver}/device-0=Unknown`);
  await shows(at, 'Unknown');
});

test('the example of failing devices in the documentation does what it says', async t => {
  const page = readFileSync(join(root, 'docs/simulation.md'), 'utf8');
  const [, rules = ''] = /### Failing devices[^]*?```yaml\n([^]*?)```/.exec(page) ?? [];
  await using plane = await aPlaneWithNodes({simulationFile: rulesFile(t, rules), apiserverArgs: gates});
  await run(plane, wanting('user', 4));
  await plane.clock.advance(5_000);
  t.is(await countedOn(plane), '4, 4');
  await plane.clock.advance(60_000);
  t.is(await countedOn(plane), '4, 3');
  t.regex(await healthOf(plane, 'user'), /gpu-3 Unhealthy$/);
  await plane.clock.advance(600_000);
  t.is(await countedOn(plane), '4, 4');
});
