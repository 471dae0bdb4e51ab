// The cases of reachability through the original's program, on the same kernel: it has to pass them as ours does.

import {writeFileSync} from 'node:fs';
import {connect, createServer, type Socket} from 'node:net';
import {join} from 'node:path';
import anyTest, {type TestFn} from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {proxyTable} from '#src/api/naming.js';
import {Undo} from '#src/base/undo.js';
import {startPlane, type Plane} from '#src/plane/index.js';
import {aDirectory} from '#test/cli/programs.js';
import {eventually} from '#test/cli/eventually.js';
import {nodeName} from '#test/proxy/objects.js';
import {originalProgram} from './machine.js';
import {cases, found, serveEndpoints, services, slices} from './reachability.js';
import {kernelMissing, nodeIps, World} from './world.js';

const missing = kernelMissing ?? (originalProgram === undefined ? "the original's program is not on the path" : undefined);
const test = anyTest as TestFn<{readonly world: World; readonly undo: Undo}>;
const withOriginal = missing === undefined ? test.serial : test.skip;
if (missing !== undefined) anyTest(`the original's program does not show what it reaches: ${missing}`, t => t.pass());

/** Listens in the node's namespace at a port of the loopback, and passes on to a socket. */
const relayProgram = (socket: string): string =>
  `const n = require('node:net'); const s = n.createServer(c => { const u = n.connect('${socket}'); c.pipe(u).pipe(c); c.on('error', () => u.destroy()); u.on('error', () => c.destroy()); }); s.listen(6443, '127.0.0.1');`;

/** Lets the node's namespace reach a plane of this process. Returns a file of connection settings for there. */
const connectPlane = async (plane: Plane, world: World, undo: Undo): Promise<string> => {
  const folder = aDirectory();
  const [path, settings] = [join(folder, 'relay.sock'), join(folder, 'kubeconfig')];
  const sockets = new Set<Socket>();
  const server = createServer(socket => {
    const inner = connect(Number(new URL(plane.url).port), '127.0.0.1');
    sockets.add(socket).add(inner);
    socket.on('error', () => inner.destroy()).pipe(inner);
    inner.on('error', () => socket.destroy()).pipe(socket);
  });
  undo.defer(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  await new Promise<void>(resolve => server.listen(path, resolve));
  world.start(process.execPath, ['-e', relayProgram(path)]);
  writeFileSync(settings, plane.kubeconfig.replace(/server: .*$/m, 'server: https://127.0.0.1:6443'));
  return settings;
};

const fill = async (plane: Plane): Promise<void> => {
  const client = plane.client();
  await client.resource(kinds.namespaces).create({metadata: {name: 'ns'}});
  const addresses = Object.values(nodeIps).map(address => ({type: 'InternalIP', address}));
  await client.resource(kinds.nodes).create({metadata: {name: nodeName}, status: {addresses}});
  for (const {metadata, spec, status} of services) {
    const made = await client.resource(kinds.services).create({metadata: {...metadata}, spec: {...spec}} as never);
    if (status?.loadBalancer?.ingress?.length)
      await client.resource(kinds.services).update({...made, status: {...status}} as never, {subresource: 'status'});
  }
  for (const each of slices) await client.resource(kinds.endpointSlices).create(each as never);
};

const originalFlags = (settings: string): readonly string[] => [
  `--kubeconfig=${settings}`,
  `--hostname-override=${nodeName}`,
  '--proxy-mode=nftables',
  '--cluster-cidr=10.180.0.0/15,fd00:10::/64',
  '--nodeport-addresses=primary',
  '--conntrack-max-per-core=0',
  '--conntrack-tcp-timeout-established=0',
  '--conntrack-tcp-timeout-close-wait=0',
];

test.before(async t => {
  if (missing !== undefined) return;
  const undo = new Undo();
  const world = await World.create();
  undo.defer(() => world.end());
  (t as {context: object}).context = {world, undo};
  await serveEndpoints(world);
  const ranges = '--service-cluster-ip-range=172.16.0.0/12,fd00:10:96::/112';
  const plane = await startPlane({naming: 'kubernetes', controllers: 'none', securePort: 0, apiserverArgs: [ranges]});
  undo.defer(() => plane.stop());
  await fill(plane);
  world.start(originalProgram!, originalFlags(await connectPlane(plane, world, undo)));
  for (const family of ['ip', 'ip6'])
    await eventually(async () => {
      const {stdout} = await world.kernel.run({program: 'nft', args: ['list', 'table', family, proxyTable.name]});
      return stdout.includes(family === 'ip' ? 'ns/s13' : 'ns/dual') ? true : undefined;
    });
});

test.after.always(async t => {
  await t.context.undo?.[Symbol.asyncDispose]();
});

for (const each of cases)
  withOriginal(`through the original: ${each.title}`, async t => {
    t.deepEqual((await found(t.context.world, each)).answers, [...each.answers].sort());
  });
