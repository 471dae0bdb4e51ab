// Scenarios of upstream's pkg/controller/devicetainteviction/device_taint_eviction_test.go.

import test, {type ExecutionContext} from 'ava';
import deviceTaintEviction from '#controllers/device-taint-eviction/controller.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {isNotFound} from '#src/api/status.js';
import {wireTime} from '#src/api/time.js';
import {aPodWithClaims, aClaim, consumer} from './device-claims.js';
import {startServer} from '#test/fixtures/server.js';
import {alone} from './workloads.js';

const driver = 'driver.example.com';
const mark = 'Normal DeviceTaintManagerEviction Marking for deletion';
const cancel = 'Normal DeviceTaintManagerEviction Cancelling deletion';
const second = 1000;

const start = async (t: ExecutionContext) => {
  const gates = ['DRADeviceTaints', 'DRADeviceTaintRules'];
  const server = startServer({gate: name => gates.includes(name)});
  const at = await alone(t, [deviceTaintEviction], {concurrentDeviceTaintEvictionSyncs: 8}, server);
  const slices = at.client.resource(kinds.resourceSlices);
  const rules = at.client.resource(kinds.deviceTaintRules);
  const settle = async <T>(done: Promise<T>) => {
    const value = await done;
    await at.clock.drain();
    return value;
  };
  return {
    ...at,
    taint: (effect = 'NoExecute', more: object = {}) => ({key: 'bad', effect, timeAdded: wireTime(at.clock.now()), ...more}),
    /** Publishes the device `d` of pool `p`. */
    publish: (name: string, taints: readonly object[] = [], generation = 1) =>
      settle(
        slices.create({
          metadata: {name},
          spec: {driver, nodeName: 'n', pool: {name: 'p', generation, resourceSliceCount: 1}, devices: [{name: 'd', taints}]},
        } as never),
      ),
    retaint: (name: string, taints: readonly object[]) => settle(slices.patch(name, 'merge', {spec: {devices: [{name: 'd', taints}]}})),
    unpublish: (name: string) => settle(slices.delete(name)),
    rule: (name: string, effect: string, deviceSelector: object | undefined = {driver}) =>
      settle(rules.create({metadata: {name}, spec: {taint: {key: 'rule', effect}, ...(deviceSelector ? {deviceSelector} : {})}} as never)),
    unrule: (name: string) => settle(rules.delete(name)),
    async condition(name: string) {
      const condition = (await rules.get(name)).status?.conditions?.find(({type}) => type === 'EvictionInProgress');
      return condition && `${condition.status} ${condition.reason} ${condition.message}`;
    },
    /** A running pod with a claim of its name for the device. */
    async runsWith(name: string, tolerations: readonly object[] = [], on = 'n'): Promise<Pod> {
      const pod = await at.create(kinds.pods, aPodWithClaims(name, {c: {claim: name}}, on ? {nodeName: on} : {}));
      await at.create(kinds.resourceClaims, aClaim(name));
      const results = [{request: 'r', driver, pool: 'p', device: 'd', ...(tolerations.length > 0 ? {tolerations} : {})}];
      await at.patch(kinds.resourceClaims, name, {status: {allocation: {devices: {results}}, reservedFor: [consumer(pod)]}}, 'status');
      return pod;
    },
    isThere: (name: string) =>
      at.get(kinds.pods, name).then(
        // Its node would remove it.
        ({metadata}) => !metadata?.deletionTimestamp,
        (error: unknown) => !isNotFound(error),
      ),
  };
};

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

for (const [title, selector, evicts] of [
  ['of the driver', {driver}, true],
  ['of the pool', {pool: 'p'}, true],
  ['of the device', {driver, pool: 'p', device: 'd'}, true],
  ['of another device', {driver, pool: 'p', device: 'e'}, false],
  ['without fields', {}, true],
  ['without a selector', undefined, false],
] as const) {
  test(`a rule with a selector ${title} ${evicts ? 'evicts' : 'evicts nothing'}`, async t => {
    const at = await start(t);
    await at.publish('s');
    await at.runsWith('p');
    await (selector
      ? at.rule('r', 'NoExecute', selector)
      : at.client
          .resource(kinds.deviceTaintRules)
          .create({metadata: {name: 'r'}, spec: {taint: {key: 'rule', effect: 'NoExecute'}}} as never));
    await at.clock.advance(second);
    t.is(await at.isThere('p'), !evicts);
  });
}

test('the status of a rule follows its evictions', async t => {
  const at = await start(t);
  await at.publish('s');
  await at.runsWith('p', [{key: 'rule', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 30}]);
  await at.rule('r', 'NoExecute');
  t.is(await at.condition('r'), 'True PodsPendingEviction 1 pod needs to be evicted in 1 namespace.');
  await at.clock.advance(45 * second);

  t.false(await at.isThere('p'));
  t.is(await at.condition('r'), 'False Completed No pods need to be evicted. 1 pod evicted since starting the controller.');
});

for (const [effect, expected] of [
  ['NoExecute', /^False NotStarted /],
  ['NoSchedule', /^False OtherEffect /],
  ['None', /^False NoEffect 1 published device selected\. 1 allocated device selected\. 1 pod would be evicted in 1 namespace /],
] as const) {
  test(`the status of a rule with the effect ${effect} says so`, async t => {
    const at = await start(t);
    await at.publish('s');
    if (effect !== 'NoExecute') await at.runsWith('p');
    await at.rule('r', effect);
    t.regex((await at.condition('r')) ?? '', expected);
    t.is(await at.isThere('p'), effect !== 'NoExecute');
  });
}

test('an eviction is cancelled when its rule is deleted', async t => {
  const at = await start(t);
  await at.publish('s');
  await at.runsWith('p', [{key: 'rule', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 30}]);
  await at.rule('r', 'NoExecute');
  await at.unrule('r');
  await at.clock.advance(60 * second);
  t.true(await at.isThere('p'));
  t.deepEqual(await at.eventsOn('p'), [cancel]);
});
