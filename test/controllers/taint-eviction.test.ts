import test from 'ava';
import {decideEviction} from '#controllers/taint-eviction/decide.js';
import {toleratedSeconds} from '#controllers/taint-eviction/toleration.js';
import {taintEviction} from '#controllers/taint-eviction/run.js';
import {timers} from '#controllers/taint-eviction/timers.js';
import {Cache} from '#informers/cache.js';
import type {Change} from '#informers/change.js';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {Pod, Toleration} from '#src/api/pod.js';
import {isNotFound} from '#src/api/status.js';
import type {Taint} from '#src/model/taints.js';
import type {ControllerContext} from '#src/runtime/controller.js';
import {runSteps} from '#src/base/steps.js';
import {WorkingClock} from '#test/fixtures/working-clock.js';
import {eventsOf, podNamed, podsOf, run, type BoundPod, type NodesPlane} from '#test/simulation/environment.js';
import {contextOver} from './context.js';
import {aPlane} from './plane.js';

const taint = (key: string, value?: string): Taint => ({key, effect: 'NoExecute', ...(value === undefined ? {} : {value})});
const forSeconds = (key: string, tolerationSeconds?: number): Toleration => ({
  key,
  operator: 'Exists',
  effect: 'NoExecute',
  ...(tolerationSeconds === undefined ? {} : {tolerationSeconds}),
});

for (const [title, taints, tolerations, seconds] of [
  ['no tolerations', [taint('a')], [], 0],
  ['one of two taints tolerated', [taint('a'), taint('b')], [forSeconds('a')], 0],
  ['a toleration for ever', [taint('a')], [forSeconds('a')], Infinity],
  ['a toleration for ever and one for a time', [taint('a'), taint('b')], [forSeconds('a'), forSeconds('b', 60)], 60],
  ['two for a time', [taint('a'), taint('b')], [forSeconds('a', 30), forSeconds('b', 60)], 30],
  ['a negative time', [taint('a')], [forSeconds('a', -5)], 0],
  ['another value', [taint('a', 'x')], [{key: 'a', operator: 'Equal', value: 'y'}], 0],
  ['another effect', [taint('a')], [{key: 'a', operator: 'Exists', effect: 'NoSchedule'}], 0],
  ['any key', [taint('a')], [{operator: 'Exists', tolerationSeconds: 7}], 7],
  ['the first that matches', [taint('a')], [forSeconds('a', 9), forSeconds('a', 3)], 9],
] as const) {
  test(`a pod with ${title} stays for ${seconds} seconds`, t => t.is(toleratedSeconds(taints, tolerations), seconds));
}

for (const [title, tolerations, isPending, plan] of [
  ['a taint that is tolerated for ever cancels', [forSeconds('a')], true, {isCancelled: true}],
  ['a taint that is tolerated for a time schedules', [forSeconds('a', 60)], false, {isCancelled: false, delayMs: 60_000}],
  ['a taint that is tolerated for a time keeps a scheduled time', [forSeconds('a', 60)], true, {isCancelled: false}],
  ['a taint that is not tolerated evicts at once', [], false, {isCancelled: false, delayMs: 0}],
  ['a taint that is not tolerated replaces a scheduled time', [], true, {isCancelled: true, delayMs: 0}],
] as const) {
  test(`the decision on an eviction: ${title}`, t => t.deepEqual(decideEviction([taint('a')], tolerations, isPending), plan));
}

const startEnvironment = () => aPlane({nodes: 2, controllers: ['taint-eviction-controller', 'serviceaccount-controller']});
const put = (plane: NodesPlane, taints: readonly object[], name = 'plat-node-0') =>
  plane.client().resource(kinds.nodes).patch(name, 'merge', {spec: {taints}});
const isThere = (plane: NodesPlane, name: string) =>
  podNamed(plane, name).then(
    () => true,
    error => !isNotFound(error),
  );
const still = async (plane: NodesPlane, ...names: string[]) =>
  (await Promise.all(names.map(async name => ((await isThere(plane, name)) ? [name] : [])))).flat();
const tolerant = (name: string, seconds?: number, more: Partial<BoundPod> = {}): BoundPod => ({
  name,
  terminationGracePeriodSeconds: 0,
  tolerations: [forSeconds('example.com/bad', seconds)],
  ...more,
});
const bad = {key: 'example.com/bad', effect: 'NoExecute'};

test('a taint evicts pods at once, after their time, or never; with an event', async t => {
  await using plane = await startEnvironment();
  const {clock} = plane;
  await run(plane, {name: 'none', terminationGracePeriodSeconds: 30});
  await run(plane, tolerant('some', 60));
  await run(plane, tolerant('ever'));
  await run(plane, tolerant('elsewhere', 1, {node: 'plat-node-1'}));
  await clock.advance(5_000);
  await put(plane, [bad]);
  await clock.drain();
  const {metadata, status} = await podNamed(plane, 'none');
  t.truthy(metadata?.deletionTimestamp);
  t.like(
    status?.conditions?.find(({type}) => type === 'DisruptionTarget'),
    {status: 'True', reason: 'DeletionByTaintManager', message: 'Taint manager: deleting due to NoExecute taint'},
  );
  t.true((await eventsOf(plane, 'none')).includes('TaintManagerEviction: Marking for deletion Pod default/none'));
  await clock.advance(59_000);
  t.deepEqual(await still(plane, 'some', 'ever', 'elsewhere'), ['some', 'ever', 'elsewhere']);
  await clock.advance(2_000);

  t.deepEqual(await still(plane, 'some', 'ever', 'elsewhere'), ['ever', 'elsewhere']);
});

test('a taint that is removed in time changes nothing, and one that stays evicts the pod once', async t => {
  await using plane = await startEnvironment();
  const {clock} = plane;
  await run(plane, tolerant('pod', 60, {tolerations: [forSeconds('example.com/bad', 60), forSeconds('example.com/worse', 60)]}));
  await clock.advance(5_000);
  await put(plane, [bad]);
  await clock.advance(50_000);
  await put(plane, []);
  await clock.advance(50_000);
  t.true(await isThere(plane, 'pod'));
  t.true((await eventsOf(plane, 'pod')).includes('TaintManagerEviction: Cancelling deletion of Pod default/pod'));

  await put(plane, [bad]);
  await clock.advance(40_000);
  await put(plane, [{...bad, key: 'example.com/worse'}]);
  await clock.advance(19_000);
  t.true(await isThere(plane, 'pod'));
  await clock.advance(2_000);
  t.false(await isThere(plane, 'pod'));
});

test('a pod that is bound to a tainted node is evicted too, and another pod of the same name gets its full time', async t => {
  await using plane = await startEnvironment();
  const {clock} = plane;
  await put(plane, [bad]);
  await run(plane, tolerant('pod', 60));
  await clock.advance(50_000);
  await podsOf(plane).delete('pod', {namespace: 'default', gracePeriodSeconds: 0});
  await run(plane, tolerant('pod', 60));
  await run(plane, {name: 'none', terminationGracePeriodSeconds: 0});
  await clock.drain();
  t.deepEqual(await still(plane, 'pod', 'none'), ['pod']);
  await clock.advance(50_000);
  t.true(await isThere(plane, 'pod'));
  await clock.advance(12_000);

  t.false(await isThere(plane, 'pod'));
});

test('a pod that takes the name of one that was to go, before the controller looks, gets its whole time', async t => {
  await using plane = await aPlane({nodes: 1, controllers: ['serviceaccount-controller']});
  const {clock} = plane;
  const old = await run(plane, tolerant('pod', 60));
  const node = await put(plane, [bad]);
  const cache = new Cache<Pod>();
  const reported: string[] = [];
  let receive: (change: Change<Pod>) => void = () => {};
  const context: ControllerContext = {
    ...contextOver(plane, [node], {}),
    lister: ((kind: Kind) =>
      kind === kinds.pods ? cache : contextOver(plane, [node], {}).lister(kinds.nodes)) as unknown as ControllerContext['lister'],
    listen: ((kind: Kind, received: typeof receive) =>
      kind === kinds.pods && (receive = received)) as unknown as ControllerContext['listen'],
    events: {normal: (_, __, message) => void reported.push(message), warning() {}},
  };
  const stop = new AbortController();
  const running = taintEviction(context)(stop.signal);
  runSteps(cache.replacing([old]));
  receive({type: 'added', object: old, initial: false});
  await clock.advance(50_000);
  await podsOf(plane).delete('pod', {namespace: 'default', gracePeriodSeconds: 0});
  const next = await run(plane, tolerant('pod', 60));
  runSteps(cache.replacing([next]));
  receive({type: 'deleted', object: old, tombstone: false});
  receive({type: 'added', object: next, initial: false});
  await clock.advance(59_000);
  t.true(await isThere(plane, 'pod'));
  await clock.advance(2_000);

  t.false(await isThere(plane, 'pod'));
  t.deepEqual(reported, ['Cancelling deletion of Pod default/pod', 'Marking for deletion Pod default/pod']);
  stop.abort();
  await running;
});

for (const [title, seconds] of [
  ['at once', undefined],
  ['after its time', 5],
] as const) {
  test(`a pod that goes ${title} is marked once, and nothing is cancelled`, async t => {
    await using plane = await startEnvironment();
    const {clock} = plane;
    const pod = tolerant('pod', seconds ?? 0);
    const nodes = plane.client().resource(kinds.nodes);
    // The node's taint and the pod arrive in the same turn.
    await Promise.all([nodes.patch('plat-node-0', 'merge', {spec: {taints: [bad]}}), run(plane, pod)]);
    await put(plane, [{...bad, value: 'worse'}]);
    await clock.advance(20_000);

    t.false(await isThere(plane, 'pod'));
    t.deepEqual(
      (await eventsOf(plane, 'pod')).filter(text => text.startsWith('TaintManagerEviction')),
      ['TaintManagerEviction: Marking for deletion Pod default/pod'],
    );
  });
}

test('a pod that begins to tolerate the taint without limit stays', async t => {
  await using plane = await startEnvironment();
  const {clock} = plane;
  await put(plane, [bad]);
  const {spec} = await run(plane, tolerant('pod', 60));
  await clock.advance(10_000);
  await podsOf(plane).patch(
    'pod',
    'merge',
    {spec: {tolerations: [{key: 'example.com/bad', operator: 'Exists', effect: 'NoExecute'}, ...spec!.tolerations!]}},
    {namespace: 'default'},
  );
  await clock.advance(100_000);

  t.true(await isThere(plane, 'pod'));
});

test('a pod that cannot be deleted is tried again a few times, and again when its node changes', async t => {
  await using plane = await startEnvironment();
  const {clock} = plane;
  const roles = plane.client().resource(kinds.clusterRoles);
  const role = await roles.get('system:controller:node-controller');
  await roles.update({...role, rules: role.rules!.filter(({resources}) => !resources?.includes('pods'))});
  await run(plane, {name: 'pod', terminationGracePeriodSeconds: 0});
  await put(plane, [bad]);
  await clock.advance(1_000);
  t.true(await isThere(plane, 'pod'));
  await roles.update({...(await roles.get('system:controller:node-controller')), rules: role.rules!});
  await put(plane, [bad, {...bad, key: 'example.com/more'}]);
  await clock.advance(1_000);

  t.false(await isThere(plane, 'pod'));
});

test('the pods of a lost node are evicted after five minutes and started elsewhere', async t => {
  await using plane = await aPlane({
    nodes: 3,
    controllers: ['node-lifecycle-controller', 'taint-eviction-controller', 'serviceaccount-controller', 'replicaset-controller'],
  });
  const {clock, naming} = plane;
  const client = plane.client();
  const labels = {app: 'web'};
  await clock.advance(10_000);
  await client.resource(kinds.replicaSets).create({
    metadata: {name: 'web', namespace: 'default'},
    spec: {replicas: 3, selector: {matchLabels: labels}, template: {metadata: {labels}, spec: {containers: [{name: 'c', image: 'nginx'}]}}},
  });
  await clock.advance(5_000);
  const [lost] = (await podsOf(plane).list({namespace: 'default'})).items;
  const node = lost?.spec?.nodeName ?? '';
  const here = async () =>
    (await podsOf(plane).list({namespace: 'default'})).items.filter(
      ({spec, metadata}) => spec?.nodeName === node && !metadata?.deletionTimestamp,
    ).length;
  t.true((await here()) > 0);
  await client.resource(kinds.nodes).patch(node, 'merge', {metadata: {annotations: {[naming.subKey('simulation', 'state')]: 'stopped'}}});
  await clock.advance(340_000);
  t.true((await here()) > 0);
  await clock.advance(40_000);

  t.is(await here(), 0);
  t.is((await client.resource(kinds.replicaSets).get('web', {namespace: 'default'})).status?.readyReplicas, 3);
});

test('evictions that are due at one instant begin in pieces, and one that is cancelled meanwhile does not begin', async t => {
  const clock = new WorkingClock();
  const appointments = timers(clock);
  const begun: string[] = [];
  const fireAt = clock.now() + 1_000;
  for (let index = 0; index < 100; index++) {
    appointments.add(`pod-${index}`, {uid: 'u', fireAt}, async () => {
      clock.work(1);
      begun.push(`pod-${index}`);
      if (index === 5) appointments.cancel('pod-60');
    });
  }

  await clock.advance(2_000);

  t.is(begun.length, 99);
  t.false(begun.includes('pod-60'));
  t.true(clock.longestMs <= 10, `${clock.longestMs} ms in one turn`);
});
