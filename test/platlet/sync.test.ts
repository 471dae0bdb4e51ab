import test from 'ava';
import {WaitingError, type Images, type PodConfigs} from '#src/platlet/pod/ports.js';
import {oneOfEachFamily} from '#src/platlet/worker/observation.js';
import {anAgent, aPlaneWithNode, describePod, nodeName, podNamed, run} from './agent.js';
import {MemoryRuntime} from './memory-runtime.js';
import {configs, noCgroups, noVolumes, presentImages} from './ports.js';

test('a pod without changes is looked at again after the sync frequency, and up to half of it more', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = new MemoryRuntime(plane.clock);
  const calls: string[] = [];
  await using _ = await anAgent(plane, runtime, {resyncMs: 20_000, volumes: noVolumes(calls)});
  await run(plane);
  await plane.clock.advance(5_000);
  const before = calls.length;
  await plane.clock.advance(14_000);
  t.is(calls.length, before);
  await plane.clock.advance(16_000);
  t.is(calls.length, before + 1);
});

test('containers that run outside of the cgroup of their pod are started again in it, once', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = new MemoryRuntime(plane.clock);
  {
    await using _ = await anAgent(plane, runtime);
    await run(plane);
    await plane.clock.advance(1_000);
  }
  runtime.calls.length = 0;
  let isThere = false;
  const cgroups = {
    ...noCgroups(),
    exists: async () => isThere,
    async ensure() {
      isThere = true;
      return '/pods';
    },
  };
  await using _ = await anAgent(plane, runtime, {cgroups});
  await plane.clock.advance(60_000);
  t.is(runtime.calls.filter(call => call.startsWith('stop app')).length, 1);
  t.is(runtime.calls.filter(call => call.startsWith('start app')).length, 1);
  t.is(describePod(await podNamed(plane)), 'Running: app ready after 1');
});

test('the status of a container has the resources that it was given', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = new MemoryRuntime(plane.clock);
  await using _ = await anAgent(plane, runtime);
  const resources = {requests: {cpu: '100m'}, limits: {memory: '1Mi'}};
  await run(plane, 'pod', {containers: [{name: 'app', image: 'app', resources}]});
  await plane.clock.advance(1_000);
  const [status] = (await podNamed(plane)).status!.containerStatuses!;
  t.deepEqual(status!.resources, {requests: {cpu: '100m', memory: '1Mi'}, limits: {memory: '1Mi'}});
  t.deepEqual(status!.allocatedResources, {cpu: '100m', memory: '1Mi'});
});

test('a pod that does not match the node as it is known is admitted if it matches the one that the server has', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = new MemoryRuntime(plane.clock);
  const allocatable = {cpu: '2', memory: '1Gi', pods: '10'};
  await using _ = await anAgent(plane, runtime, {known: {metadata: {name: nodeName, labels: {}}, status: {allocatable}}});
  await run(plane, 'right', {nodeSelector: {[plane.naming.labels.os]: 'linux'}});
  await run(plane, 'wrong', {nodeSelector: {zone: 'a'}});
  await plane.clock.advance(2_000);
  t.is(describePod(await podNamed(plane, 'right')), 'Running: app ready');
  t.is((await podNamed(plane, 'wrong')).status?.reason, 'NodeAffinity');
});

test('a pod has one address of each family, first of that of the node', t => {
  t.deepEqual(oneOfEachFamily(['10.0.0.1'], ['fd00::1', '10.1.0.1', '10.1.0.2']), ['10.1.0.1', 'fd00::1']);
  t.deepEqual(oneOfEachFamily(['fd00::9'], ['10.1.0.1', 'fd00::1']), ['fd00::1', '10.1.0.1']);
  t.deepEqual(oneOfEachFamily(['fd00::9'], ['10.1.0.1']), ['10.1.0.1']);
  t.deepEqual(oneOfEachFamily([], ['10.1.0.1']), ['10.1.0.1']);
});

test('containers wait for the images of their volumes, each pulled once per sync', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = new MemoryRuntime(plane.clock);
  const pulled: string[] = [];
  const mounted: string[] = [];
  let isThere = false;
  const images: Images = {
    ...presentImages,
    async ensureVolume(_, {name, image}) {
      pulled.push(name);
      if (!isThere) throw new WaitingError('ErrImagePull', `no ${image?.reference}`);
      return {image: 'id'};
    },
  };
  const noting: PodConfigs = {
    ...configs,
    container(request) {
      mounted.push(`${request.container.name}: ${[...(request.imageVolumes ?? [])].map(([name, {image}]) => `${name} ${image}`).join()}`);
      return configs.container(request);
    },
  };
  await using _ = await anAgent(plane, runtime, {images, configs: noting});
  const volumeMounts = [{name: 'v', mountPath: '/v'}];
  await run(plane, 'pod', {
    automountServiceAccountToken: false,
    volumes: [{name: 'v', image: {reference: 'files'}}],
    containers: [
      {name: 'a', image: 'a', volumeMounts},
      {name: 'b', image: 'b', volumeMounts},
      {name: 'c', image: 'c'},
    ],
  });
  await plane.clock.advance(500);
  // There is another sync after the start of a container.
  t.deepEqual(pulled, ['v', 'v']);
  t.deepEqual(mounted, ['c: ']);
  const {containerStatuses = []} = (await podNamed(plane)).status ?? {};
  t.deepEqual(containerStatuses[0]?.state?.waiting, {reason: 'ErrImagePull', message: 'no files'});
  isThere = true;
  await plane.clock.advance(60_000);
  t.deepEqual(mounted, ['c: ', 'a: v id', 'b: v id']);
});
