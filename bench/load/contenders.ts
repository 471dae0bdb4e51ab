// The servers that are measured beside each other: plat, and the original where its programs are on the PATH.

import {ApiClient} from './api-client.js';
import {hasOriginal, startOriginal} from './original.js';
import {startPlane, type Running} from './programs.js';

/** A server by its name, `undefined` for plat, and how it is started in a directory, a new one by default. */
export interface Startable {
  readonly server?: 'original';
  start(directory?: string): Promise<Running>;
}

/**
 * Waits until the controllers work: a new namespace gets its service account. The time from the start of the first
 * program until then is that of a server that is ready.
 */
const untilWorking = async (running: Running): Promise<Running> => {
  using client = new ApiClient(running, 1);
  const startedAt = performance.now();
  const name = `ready-${Date.now()}`;
  await client.call('POST', '/api/v1/namespaces', {body: {apiVersion: 'v1', kind: 'Namespace', metadata: {name}}});
  while ((await client.send('GET', `/api/v1/namespaces/${name}/serviceaccounts/default`)).status !== 200)
    await new Promise(resolve => setTimeout(resolve, 10));
  return {...running, readyMs: running.readyMs + performance.now() - startedAt};
};

/** Plat, and the original if its programs are on the PATH. */
export const startables = (): readonly Startable[] => [
  {start: async directory => untilWorking(await startPlane(directory))},
  ...(hasOriginal()
    ? [{server: 'original' as const, start: async (directory?: string) => untilWorking(await startOriginal(directory))}]
    : []),
];
