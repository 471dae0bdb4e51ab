// Rules of devices that get taints, that have partitions, and that are ready only after a while.

import test, {type ExecutionContext} from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {aDevicePod} from '#test/scheduler/device-plane.js';
import {startDevices} from './device-planes.js';

const driver = 'gpu.example.com';
const gated = (t: ExecutionContext, rules: string, gates: readonly string[], ...controllers: readonly string[]) =>
  startDevices(t, rules, {nodes: 1, gates, controllers});

test('devices get their taints after a while; pods are evicted, and others are not scheduled there', async t => {
  await using at = await gated(
    t,
    `devices: [{driver: ${driver}, count: 2, taintAfter: 60s, taints: [{key: example.com/broken, value: fan, effect: NoExecute}]}]`,
    ['DRADeviceTaints'],
    'device-taint-eviction-controller',
  );
  await at.create(kinds.pods, aDevicePod('first', {template: 'one'}));
  await at.clock.advance(20_000);
  t.is(await at.shown('first'), 'Running: c ready');
  const [before] = await at.slices();
  t.is(before!.spec.devices![0]!.taints, undefined);
  await at.clock.advance(120_000);

  const [after] = await at.slices();
  t.like(after!.spec.devices![1]!.taints![0], {key: 'example.com/broken', value: 'fan', effect: 'NoExecute'});
  t.is(after!.spec.pool.generation, before!.spec.pool.generation + 1);
  t.false((await at.pods.list({namespace: 'default'})).items.some(({metadata}) => metadata?.name === 'first'));
  await at.create(kinds.pods, aDevicePod('second', {template: 'one'}));
  await at.clock.advance(10_000);
  t.is((await at.get(kinds.pods, 'second')).spec?.nodeName, undefined);
});

test('partitions of a device share its counters: two halves fit, and a whole one only alone', async t => {
  await using at = await gated(
    t,
    `devices:
- driver: ${driver}
  name: gpu
  counters: {memory: 40Gi}
  partitions:
  - {name: half, count: 2, counters: {memory: 20Gi}}
  - {name: whole, counters: {memory: 40Gi}}
`,
    ['DRAPartitionableDevices'],
  );
  const slices = await at.slices();
  t.deepEqual(
    slices.flatMap(({spec}) => (spec as {sharedCounters?: {name: string}[]}).sharedCounters ?? []),
    [{name: 'gpu-0', counters: {memory: {value: '40Gi'}}}] as never,
  );
  const names = slices.flatMap(({spec}) => (spec.devices ?? []).map(({name}) => name));
  t.deepEqual(names, ['gpu-0-half-0', 'gpu-0-half-1', 'gpu-0-whole-0']);
  for (const name of ['a', 'b', 'c']) {
    await at.create(kinds.pods, aDevicePod(name, {template: 'one'}));
    await at.clock.advance(10_000);
  }
  const used = async (name: string) =>
    (await at.get(kinds.resourceClaims, await at.claimOf(name))).status?.allocation?.devices?.results?.map(({device}) => device);
  t.deepEqual([await used('a'), await used('b'), await used('c')], [['gpu-0-half-0'], ['gpu-0-half-1'], undefined]);
  t.is((await at.get(kinds.pods, 'c')).spec?.nodeName, undefined);
});

const binding = `driver: ${driver}, bindingConditions: [Attached], bindingFailureConditions: [Broken]`;
const bindingGates = ['DRADeviceBindingConditions'];

test('a pod is bound once the binding conditions of its device are true', async t => {
  await using at = await gated(t, `devices: [{${binding}, bindAfter: 30s}]`, bindingGates);
  await at.create(kinds.pods, aDevicePod('p', {template: 'one'}));
  await at.clock.advance(25_000);
  t.is((await at.get(kinds.pods, 'p')).spec?.nodeName, undefined);
  const claim = await at.claimOf('p');
  t.is((await at.get(kinds.resourceClaims, claim)).status?.devices, undefined);
  await at.clock.advance(20_000);

  t.is(await at.shown('p'), 'Running: c ready');
  const [status] = (await at.get(kinds.resourceClaims, claim)).status!.devices!;
  t.true(status!.conditions!.some(({type, status: value}) => type === 'Attached' && value === 'True'));
});

test('a pod whose device fails to become ready is tried again', async t => {
  await using at = await gated(t, `devices: [{${binding}, bindAfter: 10s, bindError: the cable is loose}]`, bindingGates);
  await at.create(kinds.pods, aDevicePod('p', {template: 'one'}));
  await at.clock.advance(15_000);

  t.is((await at.get(kinds.pods, 'p')).spec?.nodeName, undefined);
  const texts = await at.eventsOn('p');
  t.true(
    texts.some(text => text.includes('the cable is loose')),
    texts.join('\n'),
  );
});
