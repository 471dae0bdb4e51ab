// What the program of an agent asks of the machine.

import {createSocket} from 'node:dgram';
import {readFile, statfs} from 'node:fs/promises';
import {join} from 'node:path';

/** Returns the size of the file system that a folder is on, or will be. */
export const storageOf = async (folder: string): Promise<number> => {
  for (let at = folder; ; at = join(at, '..')) {
    const found = await statfs(at).catch(() => undefined);
    if (found) return found.blocks * found.bsize;
    if (at === '/') return 0;
  }
};

/** Returns the address that the machine sends from towards others. Nothing is sent. */
export const defaultAddress = (family: 4 | 6): Promise<string | undefined> =>
  new Promise(resolve => {
    const socket = createSocket(family === 4 ? 'udp4' : 'udp6');
    socket.once('error', () => {
      socket.close();
      resolve(undefined);
    });
    socket.connect(9, family === 4 ? '192.0.2.1' : '2001:db8::1', () => {
      const {address} = socket.address();
      socket.close();
      resolve(address);
    });
  });

const cgroupV2 = 0x63_67_72_70;

/** Whether the machine has control groups of version 1. */
export const isCgroupV1 = async (): Promise<boolean> => {
  const found = await statfs('/sys/fs/cgroup').catch(() => undefined);
  return found !== undefined && found.type !== cgroupV2;
};

/** Whether memory is swapped to disk. */
export const hasSwap = async (): Promise<boolean> => (await readFile('/proc/swaps', 'utf8').catch(() => '')).trim().split('\n').length > 1;
