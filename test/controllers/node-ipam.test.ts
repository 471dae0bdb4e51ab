import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {allocator} from '#controllers/node-ipam/allocator.js';
import {cidrSet} from '#controllers/node-ipam/cidr-set.js';
import {cidrSets, type IpamOptions} from '#controllers/node-ipam/plan.js';
import {kinds} from '#src/api/kinds/index.js';
import {parseRange} from '#src/base/ip-address.js';
import {noLog} from '#src/base/log.js';
import {noMeter} from '#src/base/meter.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import type {Plane} from '#src/plane/plane.js';
import {eventsOf} from '#test/simulation/environment.js';
import {aPlane} from './plane.js';

const aSet = (range: string, bits: number, meter = noMeter) => cidrSet(parseRange(range)!, bits, meter);

for (const [range, bits, first, last, size] of [
  ['10.0.0.0/16', 24, '10.0.0.0/24', '10.0.255.0/24', 256],
  ['127.123.3.0/30', 30, '127.123.3.0/30', '127.123.3.0/30', 1],
  ['127.123.0.0/16', 31, '127.123.0.0/31', '127.123.255.254/31', 32768],
  ['192.168.0.0/28', 32, '192.168.0.0/32', '192.168.0.15/32', 16],
  ['10.1.2.3/22', 24, '10.1.0.0/24', '10.1.3.0/24', 4],
  ['beef:1234::/48', 64, 'beef:1234::/64', 'beef:1234:0:ffff::/64', 65536],
  ['beef:1234::/64', 80, 'beef:1234::/80', 'beef:1234:0:0:ffff::/80', 65536],
  ['beef::/60', 62, 'beef::/62', 'beef:0:0:c::/62', 4],
  ['beef::/126', 128, 'beef::/128', 'beef::3/128', 4],
] as const) {
  test(`${range} holds ${size} blocks of /${bits}, each given once`, t => {
    const set = aSet(range, bits);
    const blocks = Array.from({length: set.size}, () => set.allocateNext());

    t.is(set.size, size);
    t.deepEqual([blocks[0], blocks.at(-1)], [first, last]);
    t.is(new Set(blocks).size, size);
    t.is(set.allocateNext(), undefined);
    set.release(last);
    t.is(set.allocateNext(), last);
  });
}

test('blocks are given in turn, so that one that was given back rests', t => {
  const set = aSet('10.0.0.0/22', 24);
  t.is(set.allocateNext(), '10.0.0.0/24');
  set.release('10.0.0.0/24');

  t.is(set.allocateNext(), '10.0.1.0/24');
});

for (const [what, left] of [
  ['10.0.1.0/24', ['10.0.0.0/24', '10.0.2.0/24', '10.0.3.0/24']],
  ['10.0.2.7/32', ['10.0.0.0/24', '10.0.1.0/24', '10.0.3.0/24']],
  ['10.0.0.0/23', ['10.0.2.0/24', '10.0.3.0/24']],
  ['10.0.0.0/22', []],
  ['10.0.0.0/8', []],
] as const) {
  test(`${what} occupies every block it touches, and counts each once`, t => {
    const meter = new MetricsRegistry();
    const set = aSet('10.0.0.0/22', 24, meter);
    set.occupy(what);
    set.occupy(what);
    const labels = {clusterCIDR: '10.0.0.0/22'};

    t.is(meter.value('node_ipam_controller_cidrset_cidrs_allocations_total', labels), 4 - left.length);
    t.is(meter.value('node_ipam_controller_cidrset_usage_cidrs', labels), (4 - left.length) / 4);
    t.is(meter.value('node_ipam_controller_cirdset_max_cidrs', labels), 4);
    t.deepEqual(
      left.map(() => set.allocateNext()),
      [...left],
    );
    t.is(set.allocateNext(), undefined);
    set.release(what);
    t.is(meter.value('node_ipam_controller_cidrset_cidrs_releases_total', labels), 4 - left.length);
  });
}

test('addresses outside of a range are neither occupied nor released', t => {
  const set = aSet('10.0.0.0/22', 24);

  for (const cidr of ['10.0.4.0/24', 'fd00::/64', 'nothing']) {
    t.throws(() => set.occupy(cidr));
    t.throws(() => set.release(cidr));
  }
});

const options = (given: Partial<IpamOptions>): IpamOptions => ({
  allocateNodeCidrs: true,
  clusterCidr: ['10.0.0.0/22'],
  serviceClusterIpRange: [],
  cidrAllocatorType: 'RangeAllocator',
  nodeCidrMaskSize: 0,
  nodeCidrMaskSizeIpv4: 24,
  nodeCidrMaskSizeIpv6: 64,
  ...given,
});
const planned = (given: Partial<IpamOptions>) => cidrSets(options(given), {log: noLog, meter: noMeter}).map(set => set.allocateNext());

for (const [title, given, first] of [
  ['an IPv4 range is cut into /24', {}, ['10.0.0.0/24']],
  ['an IPv6 range is cut into /64', {clusterCidr: ['fd00::/56']}, ['fd00::/64']],
  ['the one mask counts for either family', {clusterCidr: ['fd00::/100'], nodeCidrMaskSize: 112}, ['fd00::/112']],
  [
    'two ranges are cut by their families, in their order',
    {clusterCidr: ['fd00::/56', '10.0.0.0/16'], nodeCidrMaskSizeIpv4: 26, nodeCidrMaskSizeIpv6: 60},
    ['fd00::/60', '10.0.0.0/26'],
  ],
  ['services inside of the range keep theirs', {serviceClusterIpRange: ['10.0.0.0/23']}, ['10.0.2.0/24']],
  ['services around the range leave nothing', {serviceClusterIpRange: ['10.0.0.0/16']}, [undefined]],
  ['services outside of the range, and words, do not matter', {serviceClusterIpRange: ['10.96.0.0/16', 'words']}, ['10.0.0.0/24']],
] as const) {
  test(title, t => t.deepEqual(planned(given), [...first]));
}

for (const [title, given, message] of [
  ["a mask shorter than the range's is refused", {nodeCidrMaskSize: 21}, /must be less than or equal to --node-cidr-mask-size/],
  ['an IPv6 range of too many blocks is refused', {clusterCidr: ['fd00::/47']}, /CIDR size is too big/],
] as const) {
  test(title, t => void t.throws(() => planned(given), {message}));
}

test('nothing is taken where one family is used up, and a proposal stays until it is given back', t => {
  const [wide, narrow] = [aSet('10.0.0.0/22', 24), aSet('fd00::/63', 64)];
  const ranges = allocator([wide, narrow]);
  const first = ranges.propose('a');
  t.deepEqual(first, ['10.0.0.0/24', 'fd00::/64']);
  t.is(ranges.propose('a'), first);
  ranges.propose('b');

  t.is(ranges.propose('c'), undefined);
  t.is(ranges.propose('c'), undefined);
  ranges.release('a');
  ranges.release('a');
  t.deepEqual(ranges.propose('c'), ['10.0.0.0/24', 'fd00::/64']);
});

test('a range that two nodes have is free once both are gone', t => {
  const ranges = allocator([aSet('10.0.0.0/24', 24)]);
  ranges.occupy('a', ['10.0.0.0/24']);
  ranges.occupy('b', ['10.0.0.0/24']);
  ranges.release('a');
  t.is(ranges.propose('c'), undefined);
  ranges.release('b');

  t.deepEqual(ranges.propose('c'), ['10.0.0.0/24']);
});

const args = (cidrs: string, ...more: string[]) => ({
  controllers: ['node-ipam-controller'],
  controllerManagerArgs: [`--cluster-cidr=${cidrs}`, ...more],
});
const nodesOf = (plane: Plane) => plane.client().resource(kinds.nodes);
const rangesOf = async (plane: Plane) =>
  Object.fromEntries((await nodesOf(plane).list()).items.map(({metadata, spec}) => [metadata?.name ?? '', spec?.podCIDRs?.join() ?? '']));

test('every node gets a range, and a waiting node gets the range of a deleted one', async t => {
  await using plane = await aPlane(args('10.0.0.0/23'));
  const nodes = nodesOf(plane);
  for (const name of ['a', 'b', 'c']) await nodes.create({metadata: {name}});
  await plane.clock.drain();
  t.deepEqual(await rangesOf(plane), {a: '10.0.0.0/24', b: '10.0.1.0/24', c: ''});
  t.is((await nodes.get('a')).spec?.podCIDR, '10.0.0.0/24');
  t.deepEqual((await eventsOf(plane, 'c')).slice(0, 1), ['CIDRNotAvailable: Node c status is now: CIDRNotAvailable']);
  await nodes.delete('a');
  await plane.clock.advance(60_000);

  t.deepEqual(await rangesOf(plane), {b: '10.0.1.0/24', c: '10.0.0.0/24'});
});

test('nodes keep the ranges that they are created with, and a range is released once when its node is deleted', async t => {
  await using plane = await aPlane(args('10.0.0.0/22'));
  const nodes = nodesOf(plane);
  await nodes.create({metadata: {name: 'a'}, spec: {podCIDR: '10.0.1.0/24', podCIDRs: ['10.0.1.0/24']}});
  await nodes.create({metadata: {name: 'held', finalizers: ['example.com/mine']}});
  await plane.clock.drain();
  t.deepEqual(await rangesOf(plane), {a: '10.0.1.0/24', held: '10.0.0.0/24'});
  await nodes.delete('held');
  for (const name of ['b', 'c', 'd']) await nodes.create({metadata: {name}});
  await plane.clock.drain();
  await nodes.patch('held', 'merge', {metadata: {finalizers: null}});
  await nodes.create({metadata: {name: 'e'}});
  await plane.clock.drain();

  t.deepEqual(await rangesOf(plane), {a: '10.0.1.0/24', b: '10.0.2.0/24', c: '10.0.3.0/24', d: '10.0.0.0/24', e: ''});
});

test('a node gets a range of each family', async t => {
  await using plane = await aPlane(args('10.0.0.0/16,fd00::/56', '--node-cidr-mask-size-ipv4=25'));
  await nodesOf(plane).create({metadata: {name: 'a'}});
  await plane.clock.drain();

  t.deepEqual(await rangesOf(plane), {a: '10.0.0.0/25,fd00::/64'});
});

test('a range that cannot be written is free again', async t => {
  await using plane = await aPlane(args('10.0.0.0/24'));
  const roles = plane.client().resource(kinds.clusterRoles);
  const found = await roles.get('system:controller:node-controller');
  await roles.update({...found, rules: found.rules!.filter(({resources}) => !resources?.includes('nodes'))});
  await nodesOf(plane).create({metadata: {name: 'a'}});
  await plane.clock.advance(20);
  t.true((await eventsOf(plane, 'a')).includes('CIDRAssignmentFailed: Node a status is now: CIDRAssignmentFailed'));
  await roles.update({...(await roles.get('system:controller:node-controller')), rules: found.rules!});
  await nodesOf(plane).delete('a');
  await nodesOf(plane).create({metadata: {name: 'b'}});
  await plane.clock.advance(60_000);

  t.deepEqual(await rangesOf(plane), {b: '10.0.0.0/24'});
});

test('after a restart every node keeps its range, and new nodes get others', async t => {
  const dataDir = mkdtempSync(join(tmpdir(), 'plat-ranges-'));
  t.teardown(() => rmSync(dataDir, {recursive: true, force: true}));
  {
    await using plane = await aPlane({dataDir, ...args('10.0.0.0/22')});
    for (const name of ['a', 'b', 'c']) await nodesOf(plane).create({metadata: {name}});
    await plane.clock.drain();
    await nodesOf(plane).delete('b');
    await plane.clock.drain();
  }
  await using plane = await aPlane({dataDir, ...args('10.0.0.0/22')});
  for (const name of ['d', 'e', 'f']) await nodesOf(plane).create({metadata: {name}});
  await plane.clock.drain();

  t.deepEqual(await rangesOf(plane), {a: '10.0.0.0/24', c: '10.0.2.0/24', d: '10.0.1.0/24', e: '10.0.3.0/24', f: ''});
  await plane.stop();
  await t.throwsAsync(aPlane({dataDir, ...args('10.1.0.0/22')}), {message: /--cluster-cidr: the range of node a does not fit/});
});

test('a node that is found without ranges is still to be given some', t => {
  const taken = allocator([aSet('10.0.0.0/22', 24)]);
  taken.occupy('n', []);

  t.deepEqual(taken.propose('n'), ['10.0.0.0/24']);
});
