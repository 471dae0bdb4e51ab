import {execFile, spawn, type ChildProcess} from 'node:child_process';
import {once} from 'node:events';
import {createServer, type AddressInfo} from 'node:net';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';
import type {EtcdLoad} from './etcd-load.js';
import {scratch, startPlane} from './programs.js';
import {collection, configMap, measured} from './requests.js';
import {row, type Row} from './row.js';

const clients = 64;
/** The size of the stored object. */
const valueBytes = 1500;
const rounds = 3;

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const {port} = server.address() as AddressInfo;
  server.close();
  return port;
};

/** Starts an etcd that syncs its writes; undefined where none is installed. */
const startEtcd = async (): Promise<{readonly url: string; readonly child: ChildProcess} | undefined> => {
  const [url, peer] = [`http://127.0.0.1:${await freePort()}`, `http://127.0.0.1:${await freePort()}`];
  const child = spawn(
    'etcd',
    [
      `--data-dir=${await scratch()}`,
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
    ],
    {stdio: 'ignore'},
  );
  const failed = once(child, 'error').catch((error: unknown) => [error]);
  const isStarted = await Promise.race([once(child, 'spawn').then(() => true), failed.then(() => false)]);
  if (!isStarted) return undefined;
  for (;;) {
    const response = await fetch(`${url}/health`).catch(() => undefined);
    if (response?.ok) return {url, child};
    await new Promise(resolve => setTimeout(resolve, 50));
  }
};

const rawRate = async (url: string): Promise<number> => {
  const load: EtcdLoad = {url, clients, valueBytes, warmupMs: 1500, measureMs: 4000};
  const program = fileURLToPath(new URL('etcd-load.js', import.meta.url));
  const {stdout} = await promisify(execFile)(process.execPath, [program, JSON.stringify(load)]);
  return JSON.parse(stdout) as number;
};

/** Creates through a server on etcd, beside transactions of the same kind and size that its gRPC client makes without a server, in turns. */
export const etcdRows = async (): Promise<Row[]> => {
  const etcd = await startEtcd();
  if (!etcd) {
    console.log('skipped: etcd is not installed (Debian: apt-get install etcd-server)');
    return [];
  }
  try {
    const plane = await startPlane(undefined, [`--apiserver-arg=--kvstore-servers=${etcd.url}`]);
    const body = JSON.stringify(configMap('NAME'));
    let [raw, created] = [0, 0];
    for (let round = 0; round < rounds; round++) {
      raw += (await rawRate(etcd.url)) / rounds;
      created += (await measured({...plane.pki, url: plane.url, path: collection, clients, method: 'POST', body})) / rounds;
    }
    await plane.stop();
    return [
      row('create through a server on etcd', created, '/s', {
        baseline: raw,
        note: `RBAC on, ${clients} clients; raw limit: transactions with values of ${valueBytes} bytes over plat's gRPC client alone, ${rounds} turns each`,
      }),
    ];
  } finally {
    etcd.child.kill();
  }
};
