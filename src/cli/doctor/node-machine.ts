// Looks at this machine as a node, for `plat doctor` and `plat node init`.

import {spawnSync} from 'node:child_process';
import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {connect} from 'node:net';
import {join} from 'node:path';
import {confineErrors} from '#src/base/emitters/confined.js';
import {messageOf} from '#src/base/message.js';
import {networkPlugins, nodeParameters, type NodeMachine} from './node-checks.js';

/** How long a socket may take to accept a connection, and a program to print its version. */
const [connectMs, programMs] = [1_000, 5_000];

/** Runs something, and returns why it failed, if it did. */
export const problemOf = async (run: () => unknown): Promise<string | undefined> => {
  try {
    await run();
    return undefined;
  } catch (error) {
    return messageOf(error).split('\n')[0];
  }
};

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
const versions: Readonly<Record<string, readonly string[]>> = {
  kubectl: ['version', '--client'],
  containerd: ['--version'],
  iptables: ['--version'],
  nft: ['--version'],
  conntrack: ['--version'],
};

const programsHere = (): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(versions).flatMap(([name, args]) => {
      const {status, stdout} = spawnSync(name, args, {encoding: 'utf8', timeout: programMs, stdio: ['ignore', 'pipe', 'ignore']});
      return status === 0 ? [[name, stdout.split('\n')[0]!.trim()]] : [];
    }),
  );

/** Returns the network configurations of a folder. */
export const entriesOf = (folder: string): readonly string[] => {
  try {
    return readdirSync(folder).filter(name => /\.(conf|conflist|json)$/.test(name));
  } catch {
    return [];
  }
};

/** Returns the text of a file; empty where there is none. */
export const textOf = (file: string): string => {
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

/** Where the plugins of a network are, by the default of containerd and in Debian's package. */
const pluginFolders = ['/opt/cni/bin', '/usr/lib/cni'];

const parameterValues = (): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.keys(nodeParameters).flatMap(name => {
      const value = textOf(join('/proc/sys', name.replaceAll('.', '/'))).trim();
      return value === '' ? [] : [[name, value]];
    }),
  );

/** What is looked at. */
export interface LookedAsNode {
  readonly runtimeSocket: string;
  readonly networkFolder: string;
}

/** Looks at this machine as a node. Leaves nothing behind. */
export const lookAtNode = async ({runtimeSocket, networkFolder}: LookedAsNode): Promise<NodeMachine> => ({
  platform: process.platform,
  isRoot: process.getuid?.() === 0,
  programs: programsHere(),
  runtimeSocket,
  runtimeProblem: await problemOf(() => trySocket(runtimeSocket)),
  networkConfigurations: entriesOf(networkFolder),
  networkFolder,
  missingPlugins: networkPlugins.filter(name => !pluginFolders.some(folder => existsSync(join(folder, name)))),
  cgroupVersion: cgroupVersion(),
  kernelFeatures: {
    overlay: /\boverlay$/m.test(textOf('/proc/filesystems')),
    br_netfilter: existsSync('/proc/sys/net/bridge'),
  },
  parameters: parameterValues(),
});
