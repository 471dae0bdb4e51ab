// Looks at this machine for `plat doctor`.

import {spawnSync} from 'node:child_process';
import {accessSync, closeSync, constants, existsSync, fsyncSync, openSync, readdirSync, readFileSync, rmSync, writeSync} from 'node:fs';
import {connect, createServer} from 'node:net';
import {freemem} from 'node:os';
import {dirname, join, resolve} from 'node:path';
import {confineErrors} from '#src/base/emitters/confined.js';
import {messageOf} from '#src/base/message.js';
import {loadAddon} from '#src/storage/embedded/addon.js';
import {planesFolder} from '#src/cli/planes/home.js';
import type {Machine} from './checks.js';

/** What is looked at. */
export interface Looked {
  readonly dataDir: string;
  readonly bindAddress: string;
  readonly port: number;
  readonly runtimeSocket: string;
  readonly networkFolder: string;
}

/** How long a socket may take to accept a connection, and a program to print its version. */
const [connectMs, programMs] = [1_000, 5_000];

const problemOf = async (run: () => unknown): Promise<string | undefined> => {
  try {
    await run();
    return undefined;
  } catch (error) {
    return messageOf(error).split('\n')[0];
  }
};

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

const trySocket = (path: string): Promise<void> =>
  new Promise((done, failed) => {
    const socket = confineErrors(connect(path));
    socket.once('connect', () => {
      socket.destroy();
      done();
    });
    socket.setTimeout(connectMs, () => socket.destroy(new Error(`${path} does not accept a connection`)));
    socket.once('error', failed);
  });

/** How each program prints its version. */
const versions: Readonly<Record<string, readonly string[]>> = {kubectl: ['version', '--client'], containerd: ['--version']};

const programsHere = (): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(versions).flatMap(([name, args]) => {
      const {status, stdout} = spawnSync(name, args, {encoding: 'utf8', timeout: programMs, stdio: ['ignore', 'pipe', 'ignore']});
      return status === 0 ? [[name, stdout.split('\n')[0]!.trim()]] : [];
    }),
  );

const entriesOf = (folder: string): readonly string[] => {
  try {
    return readdirSync(folder).filter(name => /\.(conf|conflist|json)$/.test(name));
  } catch {
    return [];
  }
};

const textOf = (file: string): string => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
};

const cgroupVersion = (): 1 | 2 | undefined => {
  if (existsSync('/sys/fs/cgroup/cgroup.controllers')) return 2;
  return existsSync('/sys/fs/cgroup/memory') ? 1 : undefined;
};

/** Memory that programs can have, with what caches give back. */
const freeMemory = (): number => {
  const [, kilobytes] = /^MemAvailable:\s+(\d+) kB$/m.exec(textOf('/proc/meminfo')) ?? [];
  return kilobytes === undefined ? freemem() : Number(kilobytes) * 1024;
};

/** Looks at this machine. Leaves nothing behind. */
export const lookAtMachine = async ({dataDir, bindAddress, port, runtimeSocket, networkFolder}: Looked): Promise<Machine> => ({
  platform: process.platform,
  nodeVersion: process.versions.node,
  freeMemoryBytes: freeMemory(),
  isRoot: process.getuid?.() === 0,
  storeProblem: await problemOf(loadAddon),
  directory: resolve(dataDir),
  directoryProblem: await problemOf(() => tryFile(existingFolder(resolve(dataDir)))),
  homeProblem: await problemOf(() => accessSync(existingFolder(planesFolder()), constants.W_OK)),
  port,
  portProblem: port === 0 ? undefined : await problemOf(() => tryPort(bindAddress, port)),
  programs: programsHere(),
  runtimeSocket,
  runtimeProblem: await problemOf(() => trySocket(runtimeSocket)),
  networkConfigurations: entriesOf(networkFolder),
  networkFolder,
  cgroupVersion: cgroupVersion(),
  kernelFeatures: {
    overlay: /\boverlay$/m.test(textOf('/proc/filesystems')),
    br_netfilter: existsSync('/proc/sys/net/bridge'),
  },
});
