// The network of a node on this host: a pair of devices between the host and the node's namespace, through which pods
// and the host reach each other.

import {writeFileSync} from 'node:fs';
import {networkInterfaces} from 'node:os';
import {join} from 'node:path';
import {run} from './run.js';

export interface NodeNetwork {
  /** Its device on the host. */
  readonly device: string;
  /** The host's address on it. */
  readonly host: string;
  /** The node's address. */
  readonly node: string;
  /** The range of the node's pods. */
  readonly pods: string;
  /** The highest of the numbers that are in use shows in all names and addresses. */
  readonly number: number;
}

const networks = 250;

const create = async (number: number, pid: number): Promise<boolean> => {
  try {
    await run('ip', 'link', 'add', `platn${number}`, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(pid));
    return true;
  } catch (error) {
    if (String(error).includes('File exists')) return false;
    throw error;
  }
};

/** Connects the network namespace of a process with the host. The name of the device reserves the addresses. */
export const connectNetwork = async (pid: number, folder: string): Promise<NodeNetwork> => {
  const inUse = networkInterfaces();
  const start = process.pid % networks;
  for (let offset = 0; offset < networks; offset++) {
    const number = (start + offset) % networks;
    if (inUse[`platn${number}`] || !(await create(number, pid))) continue;
    const network = {
      device: `platn${number}`,
      host: `10.213.${number}.1`,
      node: `10.213.${number}.2`,
      pods: `10.214.${number}.0/24`,
      number,
    };
    await configure(network, pid, folder);
    return network;
  }
  throw new Error('all networks of test nodes are in use');
};

const configure = async ({device, host, node, pods}: NodeNetwork, pid: number, folder: string): Promise<void> => {
  const outside = join(folder, 'network-host');
  const inside = join(folder, 'network-node');
  writeFileSync(outside, `address add ${host}/30 dev ${device}\nlink set ${device} up\nroute add ${pods} via ${node}\n`);
  writeFileSync(inside, `link set lo up\naddress add ${node}/30 dev eth0\nlink set eth0 up\nroute add default via ${host}\n`);
  const enter = [`--target=${pid}`, '--net', '--mount'];
  await run('nsenter', ...enter, 'ip', '-batch', inside);
  await run('nsenter', ...enter, 'sysctl', '-q', '-w', 'net.ipv4.ip_forward=1');
  await run('ip', '-batch', outside);
};

/** Connects the networks of two nodes, so that the nodes reach each other. */
export const connectNodes = async (
  one: {readonly pid: number; readonly network: NodeNetwork},
  other: {readonly pid: number; readonly network: NodeNetwork},
): Promise<void> => {
  const names = [`to${other.network.number}`, `to${one.network.number}`] as const;
  const ends = [one, other].map((end, index) => ({...end, name: names[index]!, peer: [other, one][index]!}));
  await run('ip', 'link', 'add', names[0], 'netns', String(one.pid), 'type', 'veth', 'peer', 'name', names[1], 'netns', String(other.pid));
  for (const {pid, name, network, peer} of ends) {
    const ip = async (...args: readonly string[]) => await run('nsenter', `--target=${pid}`, '--net', 'ip', ...args);
    await ip('address', 'add', `${network.node}/32`, 'peer', peer.network.node, 'dev', name);
    await ip('link', 'set', name, 'up');
  }
};
