// The service proxy beside that of the original, each in namespaces of its own, for the same services of the same
// plane: what their own metrics say of a sync, and how long a connection takes through their rules.

import {kinds} from '#src/api/kinds/index.js';
import {Undo} from '#src/base/undo.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {startPlane, type Plane} from '#src/plane/plane.js';
import {setting} from '#bench/load/each.js';
import {row, type Row} from '#bench/run/row.js';
import type {Namespaces} from '#test/node/namespaces.js';
import {run} from '#test/node/run.js';
import {nodeName, service, slice} from '#test/proxy/objects.js';
import {originalMissing, startOriginal, startOurs} from '#test/proxy/kernel/proxies.js';
import {kernelMissing} from '#test/proxy/kernel/world.js';

const endpointsEach = 5;
const changes = 10;
const connections = 3000;
/** Longer than the proxies wait between two syncs. */
const betweenMs = 1500;
const patienceMs = 60_000;
/** An address of the node, so that an endpoint is there. */
const [reachedIp, endpointIp] = ['10.96.250.1', '192.168.0.2'];

const addressOf = (start: string, number: number): string => `${start}.${number >> 8}.${number & 255}`;
const endpointsOf = (index: number): string[] =>
  Array.from({length: endpointsEach}, (_, at) => addressOf('10.244', index * endpointsEach + at));

const fill = async (plane: Plane, services: number): Promise<void> => {
  const client = plane.client();
  const [ofServices, ofSlices] = [client.resource(kinds.services), client.resource(kinds.endpointSlices)];
  await client.resource(kinds.namespaces).create({metadata: {name: 'ns'}});
  const status = {addresses: [{type: 'InternalIP', address: endpointIp}]};
  await client.resource(kinds.nodes).create({metadata: {name: nodeName}, status});
  const create = async (key: string, clusterIP: string, endpoints: readonly string[], port: number): Promise<void> => {
    await ofServices.create(service(key, {clusterIP}) as never);
    await ofSlices.create(slice(key, endpoints, [{name: 'p80', port}]) as never);
  };
  for (let index = 0; index < services; index++) await create(`ns/svc${index}`, addressOf('10.97', index + 1), endpointsOf(index), 80);
  await create('ns/reached', reachedIp, [endpointIp], 8080);
};

/** A proxy that runs, and its metrics in the text format. */
interface Proxy {
  readonly server?: 'original';
  readonly namespaces: Namespaces;
  metrics(): Promise<string>;
}

const within = ({enter: [enter = '', ...flags]}: Namespaces, ...command: readonly string[]): Promise<string> =>
  run(enter, ...flags, ...command);

const ours = async (plane: Plane, undo: Undo): Promise<Proxy> => {
  const registry = new MetricsRegistry();
  const namespaces = await startOurs(plane, undo, registry);
  return {namespaces, metrics: async () => (await registry.encoded()).bytes.toString()};
};

const fetching = 'fetch("http://127.0.0.1:10249/metrics").then(r => r.text()).then(t => process.stdout.write(t))';

const original = async (plane: Plane, undo: Undo): Promise<Proxy> => {
  const namespaces = await startOriginal(plane, undo);
  return {server: 'original', namespaces, metrics: () => within(namespaces, process.execPath, '-e', fetching).catch(() => '')};
};

/** The sum and the number of the syncs of a kind, in seconds, from metrics. */
const syncs = async (proxy: Proxy, kind: 'full' | 'partial'): Promise<{readonly sum: number; readonly count: number}> => {
  const text = await proxy.metrics();
  const value = (part: string): number =>
    Number(
      new RegExp(`^kubeproxy_sync_${kind}_proxy_rules_duration_seconds_${part}\\{ip_family="IPv4"\\} (\\S+)$`, 'm').exec(text)?.[1] ?? 0,
    );
  return {sum: value('sum'), count: value('count')};
};

const wait = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms));

/** Connects one after the other, and prints how long a connection takes, in µs. */
const connecting = `
const net = require('node:net');
net.createServer(s => s.destroy()).listen(8080, '${endpointIp}', async () => {
  const once = () => new Promise((done, failed) => { const s = net.connect(80, '${reachedIp}', () => { s.destroy(); done(); }); s.on('error', failed); });
  for (let at = 0; at < 300; at++) await once();
  const started = performance.now();
  for (let at = 0; at < ${connections}; at++) await once();
  console.log(((performance.now() - started) * 1000) / ${connections});
  process.exit();
});`;

const measured = async (proxy: Proxy, plane: Plane, services: number): Promise<Row[]> => {
  const end = Date.now() + patienceMs;
  for (;;) {
    const {stdout = ''} = {stdout: await within(proxy.namespaces, 'nft', 'list', 'table', 'ip', 'kube-proxy').catch(() => '')};
    if (stdout.includes('ns/reached') && (await syncs(proxy, 'full')).count > 0) break;
    if (Date.now() > end) throw new Error(`${proxy.server ?? 'plat'}: the services are not synced`);
    await wait(200);
  }
  const full = await syncs(proxy, 'full');
  const before = await syncs(proxy, 'partial');
  const slices = plane.client().resource(kinds.endpointSlices);
  for (let at = 0; at < changes; at++) {
    await wait(betweenMs);
    const found = await slices.get(`svc${at}-1`, {namespace: 'ns'});
    await slices.update({
      ...found,
      endpoints: [...(found.endpoints ?? []), {addresses: [`10.250.${proxy.server ? 1 : 0}.${at}`]}],
    } as never);
  }
  await wait(betweenMs);
  const after = await syncs(proxy, 'partial');
  await within(proxy.namespaces, 'ip', 'route', 'replace', '10.96.0.0/12', 'dev', 'lo');
  const connection = Number(await within(proxy.namespaces, process.execPath, '-e', connecting));
  const server = proxy.server ? {server: proxy.server} : {};
  const note = `${services} Services with ${services * endpointsEach} endpoints, by kubeproxy_sync_*_proxy_rules_duration_seconds`;
  return [
    {...row('first sync of services, by metrics', full.sum / full.count, 's', {key: 'proxy-first-sync', note}), ...server},
    {
      ...row('one endpoint more, by metrics', ((after.sum - before.sum) * 1000) / (after.count - before.count), 'ms', {
        key: 'proxy-next-sync',
        note: `mean of ${after.count - before.count} syncs`,
      }),
      ...server,
    },
    {...row('a connection to a service', connection, 'µs', {key: 'proxy-connection', note: `mean of ${connections}`}), ...server},
  ];
};

/** The rows of plat, and of the original where its program is on the PATH. */
export async function* proxyProgramRows(): AsyncGenerator<Row> {
  if (kernelMissing !== undefined) {
    console.log(`skipped: ${kernelMissing}`);
    return;
  }
  const services = setting('BENCH_PROXY_SERVICES', 1000);
  for (const start of originalMissing === undefined ? [ours, original] : [ours]) {
    await using undo = new Undo();
    const plane = await startPlane({
      naming: 'kubernetes',
      controllers: 'none',
      securePort: 0,
      apiserverArgs: ['--service-cluster-ip-range=10.96.0.0/12'],
    });
    undo.defer(() => plane.stop());
    await fill(plane, services);
    yield* await measured(await start(plane, undo), plane, services);
  }
}
