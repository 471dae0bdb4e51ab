// The scenarios of upstream's pkg/controller/devicetainteviction/device_taint_eviction_test.go: TestController,
// TestEviction, TestParallelPodDeletion, TestRetry and TestEvictionFailure; those about rules are in
// device-taint-rules.test.ts.

import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {aPodWithClaims, consumer} from './device-claims.js';
import {cancel, mark, second, startTaintEviction as start} from './device-taints.js';

const tolerating = (tolerationSeconds?: number, more: object = {}) => [
  {key: 'bad', operator: 'Exists', effect: 'NoExecute', ...(tolerationSeconds === undefined ? {} : {tolerationSeconds}), ...more},
];

/** Tolerations of the claim, and after how many seconds the pod is evicted. */
const cases: readonly [title: string, effect: string, tolerations: readonly object[], seconds: number | undefined][] = [
  ['is not tolerated', 'NoExecute', [], 0],
  ['is tolerated', 'NoExecute', tolerating(), undefined],
  ['is tolerated for a while', 'NoExecute', tolerating(30), 30],
  ['is tolerated for two times', 'NoExecute', [...tolerating(60), ...tolerating(30)], 30],
  ['is tolerated for a negative time', 'NoExecute', tolerating(-1), 0],
  ['is tolerated with another effect', 'NoExecute', tolerating(undefined, {effect: 'NoSchedule'}), 0],
  ['has another key than is tolerated', 'NoExecute', tolerating(undefined, {key: 'other'}), 0],
  ['only prevents scheduling', 'NoSchedule', [], undefined],
  ['has no effect', 'None', [], undefined],
];
for (const [title, effect, tolerations, seconds] of cases) {
  test(`a pod with a device whose taint ${title} ${seconds === undefined ? 'stays' : `is evicted after ${seconds} s`}`, async t => {
    const at = await start(t);
    await at.publish('s');
    await at.runsWith('p', tolerations);
    await at.retaint('s', [at.taint(effect)]);
    if (seconds) {
      await at.clock.advance(seconds * second - 1);
      t.true(await at.isThere('p'));
      await at.clock.advance(1);
    }
    t.is(await at.isThere('p'), seconds === undefined);
    t.deepEqual(await at.eventsOn('p'), seconds === undefined ? [] : [mark]);
  });
}

test('the pod is marked as disrupted before it is deleted, and counted', async t => {
  const at = await start(t);
  await at.publish('s', [at.taint()]);
  const seen: string[] = [];
  at.own.fail('delete pods', new Error('not yet'));
  await at.runsWith('p');
  const {status} = await at.get(kinds.pods, 'p');
  for (const {type, status: is, reason, message} of status?.conditions ?? []) seen.push(`${type} ${is} ${reason} ${message}`);
  t.deepEqual(seen, ['DisruptionTarget True DeletionByDeviceTaintManager Device Taint manager: deleting due to NoExecute taint']);
  await at.clock.advance(second);

  t.false(await at.isThere('p'));
  t.deepEqual(await at.eventsOn('p'), [mark]);
  t.is(at.meter.value('device_taint_eviction_controller_pod_deletions_total'), 1);
});

test('a claim that appears after the tainted slice is evicted as well', async t => {
  const at = await start(t);
  await at.publish('s', [at.taint()]);
  await at.runsWith('p');
  t.false(await at.isThere('p'));
});

test('a pod that is not bound yet stays, and is deleted once it is bound', async t => {
  const at = await start(t);
  await at.publish('s', [at.taint()]);
  await at.runsWith('p', [], '');
  t.true(await at.isThere('p'));
  await at.client
    .resource(kinds.pods)
    .create({apiVersion: 'v1', kind: 'Binding', metadata: {name: 'p', namespace: 'default'}, target: {kind: 'Node', name: 'n'}} as never, {
      subresource: 'binding',
      name: 'p',
    });
  await at.clock.drain();
  t.false(await at.isThere('p'));
});

const removals: readonly [title: string, remove: (at: Awaited<ReturnType<typeof start>>) => Promise<unknown>][] = [
  ['the taint is removed', at => at.retaint('s', [])],
  ['the slice is deleted', at => at.unpublish('s')],
  ['a newer generation of the slice has no taint', at => at.publish('t', [], 2)],
  ['the claim is no longer reserved for it', at => at.patch(kinds.resourceClaims, 'p', {status: {reservedFor: []}}, 'status')],
  ['the claim is deleted', at => at.remove(kinds.resourceClaims, 'p')],
];
for (const [title, remove] of removals) {
  test(`an eviction is cancelled when ${title}`, async t => {
    const at = await start(t);
    await at.publish('s');
    await at.runsWith('p', tolerating(30));
    await at.retaint('s', [at.taint()]);
    await at.clock.advance(10 * second);
    await remove(at);
    await at.clock.advance(60 * second);

    t.true(await at.isThere('p'));
    t.deepEqual(await at.eventsOn('p'), [cancel]);
  });
}

test('a taint that is removed and added again counts from its new time', async t => {
  const at = await start(t);
  await at.publish('s');
  await at.runsWith('p', tolerating(30));
  await at.retaint('s', [at.taint()]);
  await at.clock.advance(20 * second);
  await at.retaint('s', []);
  await at.retaint('s', [at.taint()]);
  await at.clock.advance(29 * second);
  t.true(await at.isThere('p'));
  await at.clock.advance(second);
  t.false(await at.isThere('p'));
});

test('a pod that was replaced under its name stays', async t => {
  const at = await start(t);
  await at.publish('s');
  await at.runsWith('p', tolerating(30));
  await at.retaint('s', [at.taint()]);
  await at.remove(kinds.pods, 'p', {gracePeriodSeconds: 0});
  await at.create(kinds.pods, aPodWithClaims('p', {c: {claim: 'p'}}, {nodeName: 'n'}));
  await at.clock.advance(60 * second);
  t.true(await at.isThere('p'));
  t.deepEqual(await at.eventsOn('p'), []);
});

test('all pods that share a claim are evicted', async t => {
  const at = await start(t);
  await at.publish('s');
  const pod = await at.runsWith('p');
  const other = await at.create(kinds.pods, aPodWithClaims('q', {c: {claim: 'p'}}, {nodeName: 'n'}));
  await at.patch(kinds.resourceClaims, 'p', {status: {reservedFor: [consumer(pod), consumer(other)]}}, 'status');
  await at.retaint('s', [at.taint()]);
  t.deepEqual([await at.isThere('p'), await at.isThere('q')], [false, false]);
});

test('a pod is evicted by the first of its taints that is not tolerated any longer', async t => {
  for (const [tolerations, seconds] of [
    [tolerating(), 0],
    [[...tolerating(60), ...tolerating(30, {key: 'worse'})], 30],
  ] as const) {
    const at = await start(t);
    await at.publish('s');
    await at.runsWith('p', tolerations);
    await at.retaint('s', [at.taint(), at.taint('NoExecute', {key: 'worse'})]);
    if (seconds > 0) {
      await at.clock.advance(seconds * second - 1);
      t.true(await at.isThere('p'));
      await at.clock.advance(1);
    }
    t.false(await at.isThere('p'));
  }
});

test('a claim that was created from a template counts once the status of the pod names it', async t => {
  const at = await start(t);
  await at.publish('s', [at.taint()]);
  const pod = await at.create(kinds.pods, aPodWithClaims('p', undefined, {nodeName: 'n'}));
  const ownerReferences = [{apiVersion: 'v1', kind: 'Pod', name: 'p', uid: pod.metadata!.uid!, controller: true}];
  await at.allocate('made', pod, {ownerReferences});
  t.true(await at.isThere('p'));

  await at.patch(kinds.pods, 'p', {status: {resourceClaimStatuses: [{name: 'devices', resourceClaimName: 'made'}]}}, 'status');
  t.false(await at.isThere('p'));
  t.deepEqual(await at.eventsOn('p'), [mark]);
});

for (const [owner, evicts] of [
  ['the pod', true],
  ['another pod', false],
] as const)
  test(`a claim of extended resources whose owner is ${owner} ${evicts ? 'evicts' : 'does not evict'} its pod`, async t => {
    const at = await start(t);
    await at.publish('s', [at.taint()]);
    const limits = {'example.com/gpu': '1'};
    const containers = [{name: 'c', image: 'i', resources: {limits, requests: limits}}];
    const pod = await at.create(kinds.pods, aPodWithClaims('p', {}, {nodeName: 'n', containers}));
    const uid = evicts ? pod.metadata!.uid! : 'another';
    await at.allocate('extended', pod, {ownerReferences: [{apiVersion: 'v1', kind: 'Pod', name: 'p', uid, controller: true}]});
    const requestMappings = [{containerName: 'c', resourceName: 'example.com/gpu', requestName: 'r'}];
    await at.patch(kinds.pods, 'p', {status: {extendedResourceClaimStatus: {resourceClaimName: 'extended', requestMappings}}}, 'status');
    t.is(await at.isThere('p'), !evicts);
  });
