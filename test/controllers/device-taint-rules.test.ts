// The scenarios of upstream's pkg/controller/devicetainteviction/device_taint_eviction_test.go about rules: of
// TestController those whose names have rule in them, none-*, multiple-claims-*, evict-many-*, and TestDeviceTaintRule.

import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {aPodWithClaims} from './device-claims.js';
import {cancel, driver, mark, second, startTaintEviction as start} from './device-taints.js';

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
  await at.clock.advance(30 * second);
  t.true((await at.condition('r'))!.startsWith('True PodsPendingEviction'));
  await at.clock.advance(10 * second);

  t.false(await at.isThere('p'));
  t.is(await at.condition('r'), 'False Completed 1 pod evicted since starting the controller.');
});

for (const [effect, expected] of [
  ['NoExecute', /^False NotStarted $/],
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

for (const [effect, one, two] of [
  ['NoExecute', '2 pods need to be evicted in 1 namespace.', '3 pods need to be evicted in 2 different namespaces.'],
  ['None', '2 pods would be evicted in 1 namespace if', '3 pods would be evicted in 2 different namespaces if'],
] as const)
  test(`the status of a rule with the effect ${effect} counts pods and namespaces`, async t => {
    const at = await start(t);
    const tolerations = [{key: 'rule', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300}];
    for (const name of ['p', 'q']) await at.runsWith(name, tolerations);
    await at.rule('one', effect);
    t.true((await at.condition('one'))!.includes(one), await at.condition('one'));

    await at.client.resource(kinds.namespaces).create({metadata: {name: 'other'}});
    await at.runsWith('p', tolerations, 'n', 'other');
    await at.rule('two', effect);
    t.true((await at.condition('two'))!.includes(two), await at.condition('two'));
  });

test('the status of a rule is written at most every ten seconds, and at once for a new generation', async t => {
  const at = await start(t);
  const tolerations = [{key: 'rule', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300}];
  await at.runsWith('p', tolerations);
  await at.rule('r', 'NoExecute');
  await at.clock.advance(5 * second);
  await at.runsWith('q', tolerations);
  t.is(await at.condition('r'), 'True PodsPendingEviction 1 pod needs to be evicted in 1 namespace.');
  await at.clock.advance(10 * second);
  t.is(await at.condition('r'), 'True PodsPendingEviction 2 pods need to be evicted in 1 namespace.');

  await at.client.resource(kinds.deviceTaintRules).patch('r', 'merge', {spec: {taint: {effect: 'NoSchedule'}}});
  await at.clock.drain();
  t.is(await at.condition('r'), 'False OtherEffect Eviction only happens for the NoExecute effect.');
});

test('a pod with two claims of one rule is evicted, and counted, once', async t => {
  const at = await start(t);
  const pod = await at.create(kinds.pods, aPodWithClaims('p', {a: {claim: 'a'}, b: {claim: 'b'}}, {nodeName: 'n'}));
  for (const name of ['a', 'b']) await at.allocate(name, pod);
  await at.rule('r', 'NoExecute');
  await at.clock.advance(20 * second);

  t.deepEqual(await at.eventsOn('p'), [mark]);
  t.is(await at.condition('r'), 'False Completed 1 pod evicted since starting the controller.');
});

for (const [title, tolerationSeconds] of [
  ['at once', 0],
  ['later', 30],
] as const)
  test(`a rule that was tried with the effect None evicts ${title} with NoExecute`, async t => {
    const at = await start(t);
    await at.runsWith('p', [{key: 'rule', operator: 'Exists', effect: 'NoExecute', tolerationSeconds}]);
    await at.rule('r', 'None');
    t.regex(
      (await at.condition('r'))!,
      /^False NoEffect 0 published devices selected. 1 allocated device selected. 1 pod would be evicted/,
    );
    await at.clock.advance(20 * second);

    await at.client.resource(kinds.deviceTaintRules).patch('r', 'merge', {spec: {taint: {effect: 'NoExecute', timeAdded: null}}});
    await at.clock.advance(1);
    t.is(await at.isThere('p'), tolerationSeconds > 0);
    await at.clock.advance((tolerationSeconds + 10) * second);
    t.false(await at.isThere('p'));
    t.is(await at.condition('r'), 'False Completed 1 pod evicted since starting the controller.');
  });
