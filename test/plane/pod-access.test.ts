import {get} from 'node:https';
import {resolve} from 'node:path';
import test from 'ava';
import {parseRange} from '#src/base/ip-address.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {bridgeLookup} from '#src/plane/api-server/bridges.js';
import {hostAddress} from '#src/plane/api-server/host-address.js';
import {isLocalPeer, type PeerSources} from '#src/plane/api-server/pod-access.js';
import {startPlane} from '#src/plane/plane.js';
import {wire} from '#test/apiserver/wire.js';
import {isInstalled} from '#test/node/requirements.js';
import {run} from '#test/node/run.js';

const sources: PeerSources = {
  interfaces: () => ({
    lo: [{address: '127.0.0.1', cidr: '127.0.0.1/8'}],
    eth0: [
      {address: '192.0.2.7', cidr: '192.0.2.7/24'},
      {address: '2001:db8::7', cidr: '2001:db8::7/64'},
    ],
    cni0: [{address: '10.88.0.1', cidr: '10.88.0.1/24'}],
  }),
  isBridge: name => name === 'cni0',
};

const peers: readonly [what: string, address: string, isLocal: boolean][] = [
  ['a pod of the cluster', '10.244.3.9', true],
  ['a pod as a socket of both families shows it', '::ffff:10.244.3.9', true],
  ['a pod behind a bridge with a range of its own', '10.88.0.12', true],
  ['this machine', '192.0.2.7', true],
  ['this machine by its other family', '2001:db8::7', true],
  ['a neighbour of this machine', '192.0.2.8', false],
  ['a neighbour of the other family', '2001:db8::8', false],
  ['an address elsewhere', '203.0.113.5', false],
  ['no address', '', false],
];

for (const [what, address, isLocal] of peers)
  test(`${what} ${isLocal ? 'may' : 'may not'} use the port for pods`, t => {
    t.is(isLocalPeer(address, [parseRange('10.244.0.0/16')!], sources), isLocal);
  });

test('bridges are listed again after ten seconds, and not for each peer', async t => {
  const clock = new VirtualClock();
  const lists = [['cni0'], ['cni0', 'docker0']];
  const isBridge = bridgeLookup(clock, () => lists.shift()!);
  t.deepEqual([isBridge('cni0'), isBridge('docker0')], [true, false]);
  await clock.advance(10_000);
  t.true(isBridge('docker0'));
});

const namespacesMissing = process.platform !== 'linux' || process.getuid?.() !== 0 || !isInstalled('ip') || !isInstalled('unshare');
if (namespacesMissing) console.log('skipped: network namespaces need root on Linux, and Debian: apt-get install iproute2 util-linux');

(namespacesMissing ? test.skip : test)('the bridges are those of the network namespace of the process', async t => {
  const file = resolve('dist/src/plane/api-server/bridges.js');
  const script = `console.log(JSON.stringify((await import('${file}')).listBridges()))`;
  const commands = `ip link add br9 type bridge; ip link add d0 type dummy 2>/dev/null; exec '${process.execPath}' --input-type=module -e "${script}"`;
  t.deepEqual(JSON.parse(await run('unshare', '--net', 'sh', '-c', commands)), ['br9']);
});

const statusAt = (host: string, port: string, ca: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    get({host, port, path: '/readyz', ca}, response => {
      response.resume();
      resolve(response.statusCode);
    }).on('error', reject);
  });

const caOf = (kubeconfig: string): string =>
  Buffer.from(/certificate-authority-data: "?([^"\s]+)/.exec(kubeconfig)?.[1] ?? '', 'base64').toString();

const host = hostAddress('IPv4');
if (!host) console.log('skipped: this machine has no address but the loopback one');

(host ? test : test.skip)(
  'a plane on a loopback address is reached by pods at the address of the machine, with a certificate for it',
  async t => {
    await using plane = await startPlane({podAccess: true, controllers: 'none'});
    const {hostname, port} = new URL(plane.url);
    t.is(hostname, '127.0.0.1');
    t.is(await statusAt(host!, port, caOf(plane.kubeconfig)), 200);
    const discovery = await wire(plane.api.handler).get('/.well-known/openid-configuration');
    t.is(discovery.json<{jwks_uri: string}>().jwks_uri, `https://${host}:${port}/openid/v1/jwks`);
    await using closed = await startPlane({controllers: 'none'});
    await t.throwsAsync(statusAt(host!, new URL(closed.url).port, caOf(closed.kubeconfig)), {code: 'ECONNREFUSED'});
  },
);
