// How long the search for devices of a node may take, and what one evaluation of a selector may cost.

import test from 'ava';
import {noLog} from '#src/base/log.js';
import type {Steps} from '#src/base/steps.js';
import {dynamicResourcesWith} from '#src/scheduler/filters/dynamic-resources.js';
import type {Cluster, PreparedFilter, Rejection} from '#src/scheduler/framework/plugin.js';
import {WorkingClock} from '#test/fixtures/working-clock.js';
import {aClaim, allocations, device, devices, request, scheduled, slice} from './device-objects.js';

const defaults = {filterTimeoutMs: 10_000, bindingTimeoutMs: 600_000};

/**
 * A claim and devices that fit in very many ways, none of which will do: the constraint fails with the last device
 * only.
 */
const hopeless = () => ({
  claims: [aClaim('c', [request('r', {count: 8})], {constraints: [{requests: ['r'], matchAttribute: 'driver.example.com/numa'}]})],
  slices: ['a', 'b'].map(node =>
    slice(
      node,
      Array.from({length: 40}, (_, index) => device(`d${index}`, {attributes: {numa: {int: index % 6}}})),
    ),
  ),
});

const timeLimit = 'DRASchedulerFilterTimeout';

/**
 * Prepares a search that fits no node. Returns a function that searches a node with steps of a second, and returns the
 * outcome and how long it took.
 */
const slowSearch = async (options: Partial<typeof defaults>, gates: readonly string[] = []) => {
  const {cluster: fast, pod} = await scheduled({...hopeless(), gates});
  const clock = new WorkingClock();
  const features = {...fast.devices.features, filterTimeout: gates.includes('DRASchedulerFilterTimeout')};
  const known = Object.create(fast.devices, {features: {value: features}, found: {value: new Map()}}) as Cluster['devices'];
  const cluster: Cluster = {...fast, clock, log: noLog, devices: known};
  const prepared = (await dynamicResourcesWith({...defaults, ...options}).prepare(pod, cluster)) as PreparedFilter;
  return (name: string, stepMs = 1_000) => {
    const startedAt = clock.monotonic();
    const seconds = () => (clock.monotonic() - startedAt) / 1000;
    const work: Steps<Rejection | undefined> = prepared.evaluate!(fast.node(name)!);
    for (let steps = 0; steps < 100_000; steps++) {
      const {done, value} = work.next();
      if (done) return {reasons: value?.reasons, seconds: seconds()};
      clock.work(stepMs);
    }
    return {reasons: undefined, seconds: seconds()};
  };
};
const searchedSlowly = async (options: Partial<typeof defaults>, gates: readonly string[] = []) => (await slowSearch(options, gates))('a');

const timedOut = ['timed out trying to allocate devices'];

test('a search for devices ends after ten seconds', async t => {
  t.deepEqual(await searchedSlowly({}, ['DRASchedulerFilterTimeout']), {reasons: timedOut, seconds: 10});
});

test('the searches of all nodes for a pod share ten seconds, and each has a tenth of one at least', async t => {
  const search = await slowSearch({}, [timeLimit]);
  t.deepEqual(search('a'), {reasons: timedOut, seconds: 10});
  t.deepEqual(search('b', 50), {reasons: timedOut, seconds: 0.1});
});

test('the time of a search is an argument of the plugin, and zero is no limit', async t => {
  t.deepEqual(await searchedSlowly({filterTimeoutMs: 3_000}, ['DRASchedulerFilterTimeout']), {reasons: timedOut, seconds: 3});
  const {reasons, seconds} = await searchedSlowly({filterTimeoutMs: 0}, ['DRASchedulerFilterTimeout']);
  t.deepEqual(reasons, ['cannot allocate all claims']);
  t.true(seconds > 10);
});

test('without DRASchedulerFilterTimeout a search takes as long as it takes', async t => {
  const {reasons, seconds} = await searchedSlowly({});
  t.deepEqual(reasons, ['cannot allocate all claims']);
  t.true(seconds > 10);
});

const numbers = `[${Array.from({length: 60}, (_, index) => index).join(',')}]`;
const all = (depth: number): string => (depth === 0 ? 'true' : `${numbers}.all(x${depth}, ${all(depth - 1)})`);

test('an evaluation of a selector that costs more than a million is an error, one that costs less is not', async t => {
  const of = (expression: string) => ({
    claims: [aClaim('c', [request('r', {select: [expression]})])],
    slices: [slice('a', devices('d'))],
  });
  t.deepEqual(await allocations(of(all(2))), {a: 'r=d', b: 'cannot allocate all claims'});

  await t.throwsAsync(allocations(of(all(4))), {
    message:
      'running "DynamicResources" filter plugin: claim default/c: selector #0: CEL runtime error: operation cancelled: actual cost limit exceeded',
  });
});
