// What pods leave on a node.

import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {networkName} from './configuration.js';
import type {Namespaces} from './namespaces.js';

/** Returns the mount points below a folder of the host, parents first. */
export const mountsBelow = (folder: string): readonly string[] =>
  readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .flatMap(line => line.split(' ')[4] ?? [])
    .filter(path => path.startsWith(`${folder}/`));

const entries = (folder: string): readonly string[] => (existsSync(folder) ? readdirSync(folder) : []);

/** Lists what is left of pods while their runtime is there. */
export const leftInside = (node: {
  readonly namespaces: Namespaces;
  readonly folder: string;
  readonly agentFolder: string;
  readonly pid: number | undefined;
}): readonly string[] => {
  const {namespaces, folder, agentFolder, pid} = node;
  const addresses = join(folder, 'cni/net', networkName);
  return [
    ...namespaces
      .processes()
      .filter(process => process.pid !== pid)
      .map(process => `process ${process.pid} ${process.arguments}`),
    ...entries(namespaces.path('/run/netns')).map(name => `network namespace ${name}`),
    ...entries(addresses)
      .filter(name => /^\d+\./.test(name))
      .map(name => `address ${name}`),
    ...namespaces
      .mounts()
      .filter(path => path.startsWith(`${folder}/`) && path !== agentFolder)
      .map(path => `mount ${path}`),
  ];
};
