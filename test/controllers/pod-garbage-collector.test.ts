import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import podGarbageCollector from '#controllers/pod-garbage-collector/controller.js';
import {terminatedBeyond} from '#controllers/pod-garbage-collector/policy.js';
import {startServer} from '#test/fixtures/server.js';
import {alone, aPlaneWith, aTemplate, actionsOn} from './workloads.js';

const startEnvironment = async (args: readonly string[] = [], controllers: readonly string[] = ['pod-garbage-collector-controller']) => {
  const plane = await aPlaneWith(controllers, args);
  const at = actionsOn(plane);
  const pod = async (
    name: string,
    {node, finalizers = [], ...status}: {node?: string; finalizers?: string[]} & NonNullable<Pod['status']> = {},
  ): Promise<Pod> => {
    await at.create(kinds.pods, {
      metadata: {name, labels: {app: 'a'}, finalizers},
      spec: {...aTemplate().spec!, ...(node ? {nodeName: node} : {})},
    });
    return at.patch(kinds.pods, name, {status: {phase: 'Running', ...status}}, 'status');
  };
  const node = async (name: string, ready: boolean, taint?: string) => {
    await at.client.resource(kinds.nodes).create({metadata: {name}, spec: taint ? {taints: [{key: taint, effect: 'NoExecute'}]} : {}});
    await at.client
      .resource(kinds.nodes)
      .patch(name, 'merge', {status: {conditions: [{type: 'Ready', status: ready ? 'True' : 'False'}]}}, {subresource: 'status'});
    await at.clock.drain();
  };
  const names = async () => (await at.list(kinds.pods)).map(({metadata}) => metadata!.name);
  return {plane, ...at, pod, node, names};
};

test('of too many pods that have ended those go that were evicted, and then the oldest', async t => {
  const at = await startEnvironment(['--terminated-pod-gc-threshold=2']);
  await using _ = at.plane;
  for (const [name, status] of [
    ['old', {phase: 'Succeeded'}],
    ['middle', {phase: 'Failed'}],
    ['evicted', {phase: 'Failed', reason: 'Evicted'}],
    ['new', {phase: 'Succeeded'}],
    ['running', {phase: 'Running'}],
  ] as const) {
    await at.pod(name, status);
    await at.clock.advance(1000);
  }
  await at.clock.advance(20_000);

  t.deepEqual(await at.names(), ['middle', 'new', 'running']);
});

test('without a threshold all stay', async t => {
  const at = await startEnvironment(['--terminated-pod-gc-threshold=0']);
  await using _ = at.plane;
  await at.pod('ended', {phase: 'Succeeded'});
  await at.clock.advance(60_000);

  t.deepEqual(await at.names(), ['ended']);
});

test('pods of a node that is gone have failed, and are deleted once it had time to turn up', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.node('there', true);
  await at.pod('kept', {node: 'there'});
  await at.pod('lost', {node: 'gone', finalizers: ['example.com/hold']});
  await at.pod('over', {node: 'gone', phase: 'Succeeded', finalizers: ['example.com/hold']});
  await at.pod('late', {node: 'late'});
  await at.clock.advance(59_000);
  t.is((await at.get(kinds.pods, 'lost')).status!.phase, 'Running');
  await at.node('late', true);

  await at.clock.advance(2000);

  t.deepEqual(await at.names(), ['kept', 'late', 'lost', 'over']);
  const {status, metadata} = await at.get(kinds.pods, 'lost');
  t.is(status!.phase, 'Failed');
  t.like(
    status!.conditions!.find(({type}) => type === 'DisruptionTarget'),
    {
      status: 'True',
      reason: 'DeletionByPodGC',
      message: 'PodGC: node no longer exists',
      lastTransitionTime: '2026-01-01T00:01:00Z',
      observedGeneration: 1,
    },
  );
  t.is(metadata!.deletionGracePeriodSeconds, 0);
  const over = await at.get(kinds.pods, 'over');
  t.deepEqual([over.status!.phase, over.status!.conditions], ['Succeeded', undefined]);
  t.truthy(over.metadata!.deletionTimestamp);
});

for (const [what, ready, taint, stays] of [
  ['is not ready and out of service', false, 'node.plat.io/out-of-service', false],
  ['is out of service, but ready', true, 'node.plat.io/out-of-service', true],
  ['is not ready', false, undefined, true],
] as const) {
  test(`a terminating pod on a node that ${what} ${stays ? 'is left to the node' : 'is deleted at once'}`, async t => {
    const at = await startEnvironment();
    await using _ = at.plane;
    await at.node('n', ready, taint);
    await at.pod('going', {node: 'n'});
    await at.pod('staying', {node: 'n'});
    await at.remove(kinds.pods, 'going', {gracePeriodSeconds: 3600});
    await at.clock.advance(21_000);

    t.deepEqual(await at.names(), stays ? ['going', 'staying'] : ['staying']);
  });
}

test('a terminating pod without a node fails and is removed', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.pod('going', {finalizers: ['example.com/hold']});
  await at.remove(kinds.pods, 'going', {gracePeriodSeconds: 3600});
  await at.clock.advance(21_000);

  const {status} = await at.get(kinds.pods, 'going');
  t.is(status!.phase, 'Failed');
  t.false(status!.conditions?.some(({type}) => type === 'DisruptionTarget') ?? false);
});

test('all pods are looked at and sorted in pieces', async t => {
  const clock = new VirtualClock();
  let looks = 0;
  const monotonic = clock.monotonic.bind(clock);
  clock.monotonic = () => {
    looks++;
    return monotonic();
  };
  const looksAt = async (count: number): Promise<number> => {
    const at = await alone(t, [podGarbageCollector], {terminatedPodGcThreshold: 1000}, startServer({clock}));
    for (let i = 0; i < count; i++) await at.create(kinds.pods, {metadata: {name: `p${i}`}, spec: aTemplate().spec!});
    looks = 0;
    await clock.advance(20_000);
    return looks;
  };

  const without = await looksAt(0);
  const withPods = await looksAt(100);
  t.true(withPods - without >= 3 * 100, `${withPods} looks at the clock, ${without} without pods`);
});

test('pods that have ended are ordered in steps', t => {
  const pods = Array.from({length: 5000}, (_, at) => ({metadata: {name: `p${at}`}, status: {phase: 'Failed'}}));
  const work = terminatedBeyond(pods as never, 4990);
  let steps = 0;
  let step = work.next();
  for (; !step.done; step = work.next()) steps++;

  t.deepEqual(
    step.value.map(({metadata}) => metadata!.name),
    ['p0', 'p1', 'p10', 'p100', 'p1000', 'p1001', 'p1002', 'p1003', 'p1004', 'p1005'],
  );
  t.true(steps > 5000, `${steps} steps`);
});
