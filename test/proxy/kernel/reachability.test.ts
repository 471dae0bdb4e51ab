import anyTest, {type TestFn} from 'ava';
import {naming} from '#src/api/naming.js';
import {systemClock} from '#src/base/clock.js';
import {noLog} from '#src/base/log.js';
import {noMeter} from '#src/base/meter.js';
import {nftablesMetrics, proxyMetrics} from '#src/proxy/metrics/proxy-metrics.js';
import {noHooks} from '#src/proxy/mode/hooks.js';
import {NftablesMode} from '#src/proxy/nftables/nftables-mode.js';
import type {IpFamily} from '#src/proxy/state/ip-family.js';
import {Proxier} from '#src/proxy/sync/proxier.js';
import {nodeName, slice} from '#test/proxy/objects.js';
import {both, cases, found, pod1, pod2, serveEndpoints, services, slices, target} from './reachability.js';
import {kernelMissing, nodeIps, World} from './world.js';

interface Context {
  readonly world: World;
  readonly proxiers: readonly Proxier[];
}

const test = (kernelMissing === undefined ? anyTest : anyTest.skip) as TestFn<Context>;
if (kernelMissing !== undefined) anyTest(`rules of the kernel are not tried: ${kernelMissing}`, t => t.pass());

/** A proxier of a family on the node's kernel. */
const proxierOn = (world: World, family: IpFamily): Proxier => {
  const settings = {
    nodeName,
    nodeIps,
    masqueradeAll: false,
    masqueradeBit: 14,
    localDetection: {by: 'ranges', ranges: {IPv4: '10.180.0.0/15', IPv6: 'fd00:10::/64'}},
    nodePortAddresses: ['192.168.0.2/32', '2001:db8::2/128'],
  } as const;
  const mode = new NftablesMode({
    family,
    settings,
    kernel: world.kernel,
    clock: systemClock,
    log: noLog,
    metrics: nftablesMetrics(noMeter),
  });
  return new Proxier({
    mode,
    nodeName,
    periods: {minSyncPeriodMs: 10, syncPeriodMs: 30_000},
    hooks: noHooks,
    naming: naming('kubernetes'),
    clock: systemClock,
    log: noLog,
    metrics: proxyMetrics(noMeter),
  });
};

/** Tells a proxier of everything, and waits until it has synced. */
const begin = async (proxier: Proxier, known = slices): Promise<void> => {
  proxier.serviceCidrsChanged(['172.30.0.0/16', 'fd00:10:96::/112']);
  for (const each of services) proxier.serviceChanged(undefined, each);
  for (const each of known) proxier.sliceChanged(each, false);
  proxier.start();
  proxier.known('services');
  proxier.known('endpointSlices');
  await proxier.synced;
};

test.before(async t => {
  const world = await World.create();
  await serveEndpoints(world);
  const proxiers = (['IPv4', 'IPv6'] as const).map(family => proxierOn(world, family));
  for (const proxier of proxiers) await begin(proxier);
  (t as {context: Context}).context = {world, proxiers};
});

test.after.always(async t => {
  for (const proxier of t.context.proxiers ?? []) await proxier.stop();
  await t.context.world?.end();
});

for (const each of cases)
  test(each.title, async t => {
    const {answers, slowestMs} = await found(t.context.world, each);
    t.deepEqual(answers, [...each.answers].sort());
    if (answers[0] === 'ECONNREFUSED') t.true(slowestMs < 1000, `${slowestMs} ms`);
  });

const backends = async (world: World, to: string, count: number): Promise<string[]> => {
  const answers: string[] = [];
  for (let at = 0; at < count; at++) answers.push((await world.ask('client', {...target(to), timeoutMs: 3000})).answer);
  return [...new Set(answers)];
};

test('a client stays with its endpoint, whatever port it comes from', async t => {
  t.is((await backends(t.context.world, '172.30.0.10:80', 20)).length, 1);
});

test('a client is given any endpoint again when it has been away for long enough', async t => {
  const {world} = t.context;
  const seen = new Set(await backends(world, '172.30.0.11:80', 3));
  t.is(seen.size, 1);
  for (let round = 0; seen.size < 2 && round < 20; round++) {
    await new Promise(resolve => setTimeout(resolve, 1100));
    for (const answer of await backends(world, '172.30.0.11:80', 1)) seen.add(answer);
  }
  t.is(seen.size, 2);
});

test('connections go on when the proxy starts again, also those to endpoints that are gone', async t => {
  const {world} = t.context;
  const say = (text: string) => world.talk('client', '172.30.0.13', 80, text);
  const [name = ''] = (await say('one')).split(' ');
  const again = proxierOn(world, 'IPv4');
  await begin(again);
  await again.stop();
  t.is(await say('two'), `${name} two`);

  const changed = proxierOn(world, 'IPv4');
  const others = slices.filter(({metadata}) => metadata?.name !== 's13-1');
  await begin(changed, [...others, slice('ns/s13', [name === 'pod1' ? pod2 : pod1], both)]);
  await changed.stop();
  t.is(await say('three'), `${name} three`);
});
