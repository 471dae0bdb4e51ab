// Looks at this machine for `plat doctor`.

import {accessSync, closeSync, constants, existsSync, fsyncSync, openSync, rmSync, writeSync} from 'node:fs';
import {createServer} from 'node:net';
import {freemem} from 'node:os';
import {dirname, join, resolve} from 'node:path';
import {confineErrors} from '#src/base/emitters/confined.js';
import {loadAddon} from '#src/storage/embedded/addon.js';
import {planesFolder} from '#src/cli/planes/home.js';
import type {Machine} from './checks.js';
import {lookAtNode, problemOf, textOf, type LookedAsNode} from './node-machine.js';

/** What is looked at. */
export interface Looked extends LookedAsNode {
  readonly dataDir: string;
  readonly bindAddress: string;
  readonly port: number;
}

/** The nearest folder of a path that exists. */
const existingFolder = (path: string): string => (existsSync(path) || dirname(path) === path ? path : existingFolder(dirname(path)));

/** Writes a file durably, and removes it. */
const tryFile = (folder: string): void => {
  const path = join(folder, `.plat-doctor-${process.pid}`);
  const file = openSync(path, 'wx', 0o600);
  try {
    writeSync(file, 'x');
    fsyncSync(file);
  } finally {
    closeSync(file);
    rmSync(path, {force: true});
  }
};

const tryPort = (host: string, port: number): Promise<void> =>
  new Promise((done, failed) => {
    const server = confineErrors(createServer()).once('error', failed);
    server.listen(port, host, () => server.close(() => done()));
  });

/** Memory that programs can have, with what caches give back. */
const freeMemory = (): number => {
  const [, kilobytes] = /^MemAvailable:\s+(\d+) kB$/m.exec(textOf('/proc/meminfo')) ?? [];
  return kilobytes === undefined ? freemem() : Number(kilobytes) * 1024;
};

/** Looks at this machine. Leaves nothing behind. */
export const lookAtMachine = async ({dataDir, bindAddress, port, ...looked}: Looked): Promise<Machine> => ({
  ...(await lookAtNode(looked)),
  freeMemoryBytes: freeMemory(),
  storeProblem: await problemOf(loadAddon),
  directory: resolve(dataDir),
  directoryProblem: await problemOf(() => tryFile(existingFolder(resolve(dataDir)))),
  homeProblem: await problemOf(() => accessSync(existingFolder(planesFolder()), constants.W_OK)),
  port,
  portProblem: port === 0 ? undefined : await problemOf(() => tryPort(bindAddress, port)),
});
