import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {createServer, type AddressInfo} from 'node:net';
import {owned, scratch, statisticsOf, type Running} from './programs.js';

/** Returns a port of the loopback address that nobody listens on. */
export const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const {port} = server.address() as AddressInfo;
  server.close();
  return port;
};

/** Starts an etcd that syncs its writes, in a new directory by default; undefined where none is installed. */
export const startEtcd = async (
  directory?: string,
): Promise<(Pick<Running, 'residentMb' | 'cpuMs' | 'stop'> & {readonly url: string}) | undefined> => {
  const [url, peer] = [`http://127.0.0.1:${await freePort()}`, `http://127.0.0.1:${await freePort()}`];
  const child = spawn(
    'etcd',
    [
      `--data-dir=${directory ?? (await scratch())}`,
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
    ],
    {stdio: 'ignore'},
  );
  owned(child);
  const failed = once(child, 'error').catch((error: unknown) => [error]);
  const isStarted = await Promise.race([once(child, 'spawn').then(() => true), failed.then(() => false)]);
  if (!isStarted) return undefined;
  for (;;) {
    const response = await fetch(`${url}/health`).catch(() => undefined);
    if (response?.ok) return {url, ...statisticsOf([child])};
    await new Promise(resolve => setTimeout(resolve, 50));
  }
};
