import test, {type ExecutionContext} from 'ava';
import {InformerFactory} from '#informers/factory.js';
import {kinds} from '#src/api/kinds/index.js';
import {naming} from '#src/api/naming.js';
import type {Node} from '#src/api/types.js';
import {noMeter} from '#src/base/meter.js';
import {seededRandom} from '#src/base/random.js';
import type {Command, Finished} from '#src/proxy/kernel/kernel.js';
import {PodRoutes, removePodRoutes} from '#src/proxy/pod-routes/pod-routes.js';
import {wantedRoutes} from '#src/proxy/pod-routes/wanted-routes.js';
import {startServer} from '#test/fixtures/server.js';
import {recordingLog} from '#test/runtime/environment.js';
import {FakeIptables} from './fake-iptables.js';

const aNode = (name: string, podCIDRs: readonly string[], ...addresses: readonly string[]): Node => ({
  metadata: {name},
  ...(podCIDRs.length > 0 ? {spec: {podCIDR: podCIDRs[0]!, podCIDRs: [...podCIDRs]}} : {}),
  status: {addresses: addresses.map(address => ({type: 'InternalIP', address}))},
});

const here = aNode('here', ['10.244.0.0/24', 'fd00:0:0:0::/64'], '192.168.0.1', '2001:db8::1');
const there = aNode('there', ['10.244.1.0/24', 'fd00:0:0:1::/64'], '192.168.0.2', '2001:db8::2');

/** A kernel that keeps routes beside its tables. */
class FakeRoutes extends FakeIptables {
  /** Gateways by ranges, with whether the route is ours. */
  readonly routes = new Map<string, {readonly via: string; readonly isOurs: boolean}>();
  readonly unreachable = new Set<string>();
  isInstalled = true;

  async hasIpv6(): Promise<boolean> {
    return false;
  }

  override async run(command: Command): Promise<Finished> {
    if (!this.isInstalled) throw Object.assign(new Error(`spawn ${command.program} ENOENT`), {code: 'ENOENT'});
    return command.program === 'ip' ? this.#ip(command.args) : super.run(command);
  }

  #ip(args: readonly string[]): Finished {
    this.commands.push(['ip', ...args].join(' '));
    const [operation, range = '', , via = ''] = args.slice(args.indexOf('route') + 1);
    const finished = (exitCode: number, stdout = '', stderr = ''): Finished => ({exitCode, stdout, stderr});
    if (operation === 'show') {
      const ours = [...this.routes].filter(([, {isOurs}]) => isOurs);
      return finished(0, JSON.stringify(ours.map(([dst, {via: gateway}]) => ({dst, gateway}))));
    }
    if (operation === 'del') return finished(this.routes.delete(range) ? 0 : 2);
    if (this.routes.has(range)) return finished(2, '', 'RTNETLINK answers: File exists');
    if (this.unreachable.has(via)) return finished(2, '', 'Error: Nexthop has invalid gateway.');
    this.routes.set(range, {via, isOurs: true});
    return finished(0);
  }
}

const world = async (t: ExecutionContext, ...nodes: readonly Node[]) => {
  const {clock, clientOf} = startServer({naming: naming('kubernetes')});
  const client = clientOf().resource(kinds.nodes);
  for (const node of nodes) await client.create(node);
  const life = new AbortController();
  const {log, fields} = recordingLog();
  const informers = new InformerFactory({
    client: clientOf(),
    clock,
    random: seededRandom(1),
    log,
    meter: noMeter,
    minResyncMs: 0,
    freeze: true,
    signal: life.signal,
  });
  const kernel = new FakeRoutes();
  const routes = new PodRoutes({informers, nodeName: 'here', kernel, clock, log, signal: life.signal});
  t.teardown(async () => {
    life.abort();
    await routes.stop();
  });
  const start = async () => {
    informers.start();
    const starting = routes.start();
    await clock.advance(1000);
    await starting;
  };
  return {clock, client, kernel, start, fields};
};

const routesOf = ({routes}: FakeRoutes) => [...routes].map(([range, {via}]) => `${range} via ${via}`);

const cases: readonly (readonly [title: string, nodes: readonly Node[], family: 'IPv4' | 'IPv6', routes: readonly string[]])[] = [
  ['the ranges of other nodes are behind their addresses', [here, there], 'IPv4', ['10.244.1.0/24 via 192.168.0.2']],
  ['each family has routes of its own', [here, there], 'IPv6', ['fd00:0:0:1::/64 via 2001:db8::2']],
  [
    'routes are in one order',
    [aNode('z', ['10.244.2.0/24'], '192.168.0.3'), there, here],
    'IPv4',
    ['10.244.1.0/24 via 192.168.0.2', '10.244.2.0/24 via 192.168.0.3'],
  ],
  ['a node without a range has no route', [here, aNode('there', [], '192.168.0.2')], 'IPv4', []],
  ['a node without an address of the family has no route', [here, aNode('there', ['10.244.1.0/24'], '2001:db8::2')], 'IPv4', []],
  ['a node that has the address of this one has no route', [here, aNode('there', ['10.244.1.0/24'], '192.168.0.1')], 'IPv4', []],
];

for (const [title, nodes, family, routes] of cases)
  test(title, t => {
    t.deepEqual(
      wantedRoutes(nodes, 'here', family).routes.map(({range, via}) => `${range} via ${via}`),
      routes,
    );
  });

test('routes follow the nodes, and pods keep their addresses among them', async t => {
  const {clock, client, kernel, start} = await world(t, here);
  await start();
  t.deepEqual([routesOf(kernel), kernel.rules('nat', 'PLAT-POD-SOURCES')], [[], undefined]);

  await client.create(there);
  await clock.advance(2000);
  t.deepEqual(routesOf(kernel), ['10.244.1.0/24 via 192.168.0.2']);
  t.deepEqual(kernel.rules('nat', 'PLAT-POD-SOURCES'), ['-s 10.244.0.0/24 -d 10.244.1.0/24 -m mark ! --mark 0x4000/0x4000 -j ACCEPT']);
  t.deepEqual(kernel.rules('nat', 'POSTROUTING'), ['-m comment --comment traffic between pods of nodes -j PLAT-POD-SOURCES']);

  await client.delete('there');
  await clock.advance(2000);
  t.deepEqual([routesOf(kernel), kernel.rules('nat', 'PLAT-POD-SOURCES'), kernel.rules('nat', 'POSTROUTING')], [[], undefined, []]);
});

test('a node that moves takes its route along, and routes that were lost are back within a minute', async t => {
  const {clock, client, kernel, start} = await world(t, here, there);
  await start();
  const node = await client.get('there');
  await client.update({...node, status: {addresses: [{type: 'InternalIP', address: '192.168.0.9'}]}}, {subresource: 'status'});
  await clock.advance(2000);
  t.deepEqual(routesOf(kernel), ['10.244.1.0/24 via 192.168.0.9']);

  kernel.routes.clear();
  kernel.flush();
  await clock.advance(61_000);
  t.deepEqual(routesOf(kernel), ['10.244.1.0/24 via 192.168.0.9']);
  t.is(kernel.rules('nat', 'PLAT-POD-SOURCES')?.length, 1);
});

test('a route of somebody else stays', async t => {
  const {clock, client, kernel, start} = await world(t, here, there);
  kernel.routes.set('10.244.1.0/24', {via: '192.168.0.77', isOurs: false});
  await start();
  await client.delete('there');
  await clock.advance(2000);
  t.deepEqual(routesOf(kernel), ['10.244.1.0/24 via 192.168.0.77']);
});

test('a node on another network is reported once, tried again, and no hindrance to others', async t => {
  const {clock, kernel, start, fields} = await world(t, here, there, aNode('near', ['10.244.2.0/24'], '192.168.0.3'));
  kernel.unreachable.add('192.168.0.2');
  await start();
  await clock.advance(60_000);
  t.deepEqual(routesOf(kernel), ['10.244.2.0/24 via 192.168.0.3']);
  t.is(fields.filter(({problem}) => String(problem).includes('Nexthop has invalid gateway')).length, 1);

  kernel.unreachable.clear();
  await clock.advance(12_000);
  t.is(kernel.routes.get('10.244.1.0/24')?.via, '192.168.0.2');
});

test('a machine with one node runs nothing after its start, and needs no programs', async t => {
  const {clock, kernel, start, fields} = await world(t, here);
  kernel.isInstalled = false;
  await start();
  kernel.isInstalled = true;
  kernel.commands.length = 0;
  await clock.advance(600_000);
  t.deepEqual(kernel.commands, []);
  t.deepEqual(
    fields.filter(({problem}) => problem !== undefined),
    [],
  );
});

test('all of it is removed on request', async t => {
  const {kernel, start} = await world(t, here, there);
  await start();
  await removePodRoutes(kernel, recordingLog().log);
  t.deepEqual([routesOf(kernel), kernel.rules('nat', 'PLAT-POD-SOURCES'), kernel.rules('nat', 'POSTROUTING')], [[], undefined, []]);
});
