import {resultOf} from '#bench/load/child.js';
import {clusterCredentials, servingFlags} from '#bench/load/credentials.js';
import {startEtcd} from '#bench/load/etcd-server.js';
import type {Load, Loaded} from '#bench/load/load.js';
import {caller, scratch, start, type Running} from '#bench/load/programs.js';
import type {Row} from '#bench/run/row.js';
import type {Run} from '#bench/run/subject.js';
import {Points, type Curves} from './steps.js';

const clients = 64;
const configMaps = '/api/v1/namespaces/default/configmaps';
const headers = {accept: 'application/json', 'content-type': 'application/json', 'user-agent': 'bench'};
const body = JSON.stringify({apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'NAME'}, data: {filler: 'x'.repeat(1200)}});

export const processCurves = {
  'processes-create': {name: 'create, 64 clients together', unit: '/s'},
  'processes-get': {name: 'GET, 64 clients together', unit: '/s'},
} satisfies Curves<string>;

/** Loads all servers at once, each by its own client process, and returns the requests a second of all together. */
const together = async (servers: readonly Running[], what: Pick<Load, 'path' | 'method' | 'body'>): Promise<number> => {
  const rates = await Promise.all(
    servers.map(({url, pki}) =>
      resultOf<Loaded>('load.js', {
        ...pki,
        url,
        ...what,
        version: 'HTTP/1.1',
        headers,
        clients: clients / servers.length,
        warmupMs: 1500,
        measureMs: 3000,
      } satisfies Load),
    ),
  );
  return rates.reduce((sum, {perSecond}) => sum + perSecond, 0);
};

/** Starts servers with the same keys on one etcd. */
const startServers = async (count: number, etcd: string): Promise<Running[]> => {
  const directory = await scratch();
  const credentials = await clusterCredentials(directory);
  const servers: Running[] = [];
  for (let index = 0; index < count; index++)
    servers.push(await start('plat-apiserver', [...servingFlags(credentials, 0), `--kvstore-servers=${etcd}`], directory));
  return servers;
};

/** Creates and reads with 1, 2 and 4 API servers on one etcd, on the cores of this machine, which the clients share. */
export async function* processGrowth(run: Run): AsyncGenerator<Row> {
  const points = new Points('API servers', processCurves);
  const etcd = await startEtcd();
  if (!etcd) {
    console.log('skipped: etcd is not installed (Debian: apt-get install etcd-server)');
    return;
  }
  for (const count of [1, 2, 4]) {
    run.step(`${count} API servers`);
    const servers = await startServers(count, etcd.url);
    const one = `read-${count}`;
    await caller(servers[0]!)('POST', configMaps, {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: one}});
    points.add(count, {
      'processes-create': await together(servers, {path: configMaps, method: 'POST', body}),
      'processes-get': await together(servers, {path: `${configMaps}/${one}`}),
    });
    for (const server of servers) await server.stop();
  }
  await etcd.stop();
  yield* points.rows();
}
