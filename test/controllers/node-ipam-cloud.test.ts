// The scenarios of the original's cloud_cidr_allocator_test.go (TestBoundedRetries aside: retries are the queue's), and
// of its start with and without a provider.

import test, {type ExecutionContext} from 'ava';
import {nodeIpamReconciler} from '#controllers/node-ipam/reconcile.js';
import type {IpamOptions} from '#controllers/node-ipam/plan.js';
import type {SimulatedInstance} from '#controllers/shared/cloud/simulated/state.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Node} from '#src/api/types.js';
import {eventsOf} from '#test/simulation/environment.js';
import {aCloud} from './clouds.js';
import {contextOver} from './context.js';
import {aPlane} from './plane.js';

const allocating = ['--allocate-node-cidrs', '--cluster-cidr=10.244.0.0/16', '--cidr-allocator-type=CloudAllocator'];
const controllers = ['node-ipam-controller'];

interface Case {
  readonly title: string;
  readonly instance?: SimulatedInstance;
  readonly node?: Node;
  readonly ranges: readonly string[];
  /** The reason of an event of the node. */
  readonly reason?: 'CIDRNotAvailable' | 'CIDRAssignmentFailed';
}
const at = (...podRanges: string[]): SimulatedInstance => ({state: 'running', podRanges});
const cases: readonly Case[] = [
  {title: 'gets the range of its machine, from outside of the cluster range too', instance: at('10.60.0.0/24'), ranges: ['10.60.0.0/24']},
  {title: 'gets two ranges, of different families', instance: at('10.60.0.0/24', 'fd00:60::/64'), ranges: ['10.60.0.0/24', 'fd00:60::/64']},
  {
    title: 'gets the first two of three ranges',
    instance: at('10.60.0.0/24', 'fd00:60::/64', '10.61.0.0/24'),
    ranges: ['10.60.0.0/24', 'fd00:60::/64'],
  },
  {title: 'gets none of two ranges of one family', instance: at('10.60.0.0/24', '10.61.0.0/24'), ranges: []},
  {title: 'gets no range that cannot be parsed', instance: at('10.60.0.0'), ranges: []},
  {title: 'gets none where the machine has none', instance: at(), ranges: [], reason: 'CIDRNotAvailable'},
  {title: 'gets none where there is no machine', instance: {state: 'gone'}, ranges: [], reason: 'CIDRNotAvailable'},
  {
    title: 'is found by its provider ID',
    instance: {...at('10.62.0.0/24'), providerID: 'simulated:///n'},
    node: {metadata: {name: 'other'}, spec: {providerID: 'simulated:///n'}},
    ranges: ['10.62.0.0/24'],
  },
  {
    title: 'keeps the range that it has',
    instance: at('10.60.0.0/24'),
    node: {metadata: {name: 'n'}, spec: {podCIDR: '10.60.0.0/24', podCIDRs: ['10.60.0.0/24']}},
    ranges: ['10.60.0.0/24'],
  },
  {
    title: 'keeps the range that it has where the cloud has another, since ranges cannot be changed',
    instance: at('10.61.0.0/24'),
    node: {metadata: {name: 'n'}, spec: {podCIDR: '10.60.0.0/24', podCIDRs: ['10.60.0.0/24']}},
    ranges: ['10.60.0.0/24'],
    reason: 'CIDRAssignmentFailed',
  },
];

const outcomeOf = async (t: ExecutionContext, {instance, node = {metadata: {name: 'n'}}}: Case) => {
  const cloud = aCloud({}, {instances: instance ? {n: instance} : {}});
  await using plane = await aPlane({controllers, controllerManagerArgs: [...cloud.args, ...allocating]});
  const nodes = plane.client().resource(kinds.nodes);
  const {metadata} = await nodes.create(node);
  await plane.clock.advance(1);
  const name = metadata?.name ?? '';
  const {spec, status} = await nodes.get(name);
  t.is(spec?.podCIDR, spec?.podCIDRs?.[0]);
  return {spec, condition: status?.conditions?.find(({type}) => type === 'NetworkUnavailable'), events: await eventsOf(plane, name)};
};

for (const each of cases) {
  test(`a node ${each.title}`, async t => {
    const {spec, condition, events} = await outcomeOf(t, each);

    t.deepEqual(spec?.podCIDRs ?? [], [...each.ranges]);
    const isReported = each.ranges.length > 0 && each.reason === undefined;
    t.is(condition?.status, isReported ? 'False' : undefined);
    t.is(condition?.reason, isReported ? 'RouteCreated' : undefined);
    const name = each.node?.metadata?.name ?? 'n';
    t.is(events[0], each.reason && `${each.reason}: Node ${name} status is now: ${each.reason}`);
  });
}

test('a machine that gets its range later is asked again', async t => {
  const cloud = aCloud({}, {instances: {n: at()}});
  await using plane = await aPlane({controllers, controllerManagerArgs: [...cloud.args, ...allocating]});
  const nodes = plane.client().resource(kinds.nodes);
  await nodes.create({metadata: {name: 'n'}});
  await plane.clock.advance(10);
  t.is((await nodes.get('n')).spec?.podCIDR, undefined);
  cloud.set({instances: {n: at('10.60.7.0/24')}});
  await plane.clock.advance(60_000);

  t.is((await nodes.get('n')).spec?.podCIDR, '10.60.7.0/24');
});

test('with an external provider the one of --external-cloud-volume-plugin has the ranges', async t => {
  const cloud = aCloud({}, {instances: {n: at('10.60.0.0/24')}});
  const args = ['--cloud-provider=external', `--cloud-config=${cloud.config}`, ...allocating];
  await t.throwsAsync(aPlane({controllers, controllerManagerArgs: args}), {
    message: /--cidr-allocator-type is set to 'CloudAllocator' but cloud provider is not configured$/,
  });
  await using plane = await aPlane({controllers, controllerManagerArgs: [...args, '--external-cloud-volume-plugin=simulated']});
  const nodes = plane.client().resource(kinds.nodes);
  await nodes.create({metadata: {name: 'n'}});
  await plane.clock.drain();

  t.is((await nodes.get('n')).spec?.podCIDR, '10.60.0.0/24');
});

test('a provider that does not know the ranges of machines ends the start', async t => {
  await using plane = await aPlane({controllers: ['ttl-controller']});
  const options = {cidrAllocatorType: 'CloudAllocator'} as IpamOptions;
  const context = {...contextOver<IpamOptions>(plane, [], options), cloud: {provider: {name: 'acme'}, isExternal: false}};

  await t.throwsAsync(nodeIpamReconciler(context), {
    message: '--cidr-allocator-type: cloudCIDRAllocator does not support acme provider',
  });
});
