// Proxies on a plane, each in a network namespace of its own: ours, which runs in this process, and the original's
// program where it is on the path.

import {spawn} from 'node:child_process';
import {existsSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {connect, createServer, type AddressInfo, type Server, type Socket} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {InformerFactory} from '#informers/factory.js';
import {proxyTable} from '#src/api/naming.js';
import {systemClock} from '#src/base/clock.js';
import {noLog} from '#src/base/log.js';
import {noMeter, type Meter} from '#src/base/meter.js';
import {systemRandom} from '#src/base/random.js';
import {Undo} from '#src/base/undo.js';
import type {Plane} from '#src/plane/index.js';
import {systemKernel} from '#src/proxy/kernel/system-kernel.js';
import {nftablesMetrics, proxyMetrics} from '#src/proxy/metrics/proxy-metrics.js';
import {noHooks} from '#src/proxy/mode/hooks.js';
import {NftablesMode} from '#src/proxy/nftables/nftables-mode.js';
import {ProxyNode} from '#src/proxy/node/proxy-node.js';
import {resolveSettings} from '#src/proxy/node/rule-settings.js';
import {startProxy} from '#src/proxy/start.js';
import {Namespaces} from '#test/node/namespaces.js';
import {connectNetwork} from '#test/node/network.js';
import {run} from '#test/node/run.js';
import {nodeName} from '#test/proxy/objects.js';

const folderOfOriginal = (process.env['PATH'] ?? '').split(':').find(place => existsSync(join(place, proxyTable.name)));

/** Why the original does not run here; undefined where it does. */
export const originalMissing = folderOfOriginal === undefined ? `no ${proxyTable.name} on the path` : undefined;

/** Forwards connections from an address that the namespaces reach to the plane. */
const relay = async (host: string, url: string, undo: Undo): Promise<Server> => {
  const sockets = new Set<Socket>();
  const server = createServer(socket => {
    const inner = connect(Number(new URL(url).port), '127.0.0.1');
    sockets.add(socket).add(inner);
    socket.on('error', () => inner.destroy()).pipe(inner);
    inner.on('error', () => socket.destroy()).pipe(socket);
  });
  undo.defer(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  await new Promise<void>(resolve => server.listen(0, host, resolve));
  return server;
};

const addNodeIp = async (namespaces: Namespaces): Promise<void> => {
  const [enter = '', ...flags] = namespaces.enter;
  await run(enter, ...flags, 'ip', 'link', 'set', 'lo', 'up');
  await run(enter, ...flags, 'ip', 'address', 'add', '192.168.0.2/32', 'dev', 'lo');
};

/** Starts the original in namespaces of its own. */
export const startOriginal = async (plane: Plane, undo: Undo): Promise<Namespaces> => {
  const folder = mkdtempSync(join(tmpdir(), 'plat-proxy-'));
  undo.defer(() => rmSync(folder, {recursive: true}));
  const namespaces = await Namespaces.create();
  undo.defer(() => namespaces.end());
  const network = await connectNetwork(namespaces.pid, folder);
  await addNodeIp(namespaces);
  const server = await relay(network.host, plane.url, undo);
  const url = `https://${network.host}:${(server.address() as AddressInfo).port}`;
  const settings = join(folder, 'kubeconfig');
  writeFileSync(settings, plane.kubeconfig.replace(/^(\s*)server: .*$/m, `$1server: ${url}\n$1tls-server-name: localhost`));
  const flags = [
    `--kubeconfig=${settings}`,
    '--proxy-mode=nftables',
    `--hostname-override=${nodeName}`,
    '--cluster-cidr=10.244.0.0/16',
    '--nodeport-addresses=primary',
    '--conntrack-max-per-core=0',
    '--conntrack-tcp-timeout-established=0',
    '--conntrack-tcp-timeout-close-wait=0',
  ];
  const [enter = '', ...into] = namespaces.enter;
  const child = spawn(enter, [...into, join(folderOfOriginal!, proxyTable.name), ...flags], {stdio: 'ignore'});
  undo.defer(() => child.kill('SIGKILL'));
  return namespaces;
};

/** Starts ours, and resolves once it has synced. */
export const startOurs = async (plane: Plane, undo: Undo, meter: Meter = noMeter): Promise<Namespaces> => {
  const {naming} = plane;
  const client = plane.client();
  const namespaces = await Namespaces.create();
  undo.defer(() => namespaces.end());
  await addNodeIp(namespaces);
  const life = new AbortController();
  undo.defer(() => life.abort());
  const common = {naming, clock: systemClock, log: noLog, signal: life.signal};
  const informers = new InformerFactory({...common, client, random: systemRandom, meter: noMeter, minResyncMs: 0});
  const node = new ProxyNode({...common, informers, nodeName, needsPodRanges: false});
  const [enter = '', ...flags] = namespaces.enter;
  const kernel = {
    run: ({program: name, args, ...command}: Parameters<typeof systemKernel.run>[0]) =>
      systemKernel.run({...command, program: enter, args: [...flags, name, ...args]}),
    addresses: () => ['127.0.0.1', '192.168.0.2'],
  };
  informers.start();
  await node.open();
  const configuration = {
    nodeName,
    bindAddress: '0.0.0.0',
    masqueradeAll: false,
    masqueradeBit: 14,
    detectLocalMode: 'ClusterCIDR',
    clusterCidrs: ['10.244.0.0/16'],
    bridgeInterface: '',
    interfaceNamePrefix: '',
    nodePortAddresses: ['primary'],
    healthzBindAddress: '',
    metricsBindAddress: '',
  } as const;
  const proxy = startProxy({
    ...common,
    informers,
    node,
    settings: resolveSettings(configuration, node, ['IPv4', 'IPv6'], noLog),
    periods: {minSyncPeriodMs: 1000, syncPeriodMs: 30_000},
    createMode: (family, settings) =>
      new NftablesMode({family, settings, kernel, clock: systemClock, log: noLog, metrics: nftablesMetrics(meter)}),
    hooks: noHooks,
    podRangesChanged: () => {},
    metrics: proxyMetrics(meter),
  });
  undo.defer(() => proxy.stop());
  await proxy.synced;
  return namespaces;
};
