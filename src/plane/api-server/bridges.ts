// The bridges of this network namespace, behind which pods and other containers of the machine are.

import {spawnSync} from 'node:child_process';
import {readdirSync, existsSync} from 'node:fs';
import {join} from 'node:path';
import type {Clock} from '#src/base/clock.js';

const interfaces = '/sys/class/net';

/** How long `ip` may take, and how long its answer is believed, in ms. */
const [listMs, validMs] = [1_000, 10_000];

/** Those of the namespace in which /sys was mounted, which may be another one. */
const bridgesInSys = (): readonly string[] => {
  try {
    return readdirSync(interfaces).filter(name => existsSync(join(interfaces, name, 'bridge')));
  } catch {
    return [];
  }
};

/** Asks `ip` for the names of all bridges; where that is not installed, /sys is read. */
export const listBridges = (): readonly string[] => {
  const {status, stdout} = spawnSync('ip', ['-json', 'link', 'show', 'type', 'bridge'], {
    encoding: 'utf8',
    timeout: listMs,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  if (status !== 0) return bridgesInSys();
  const links = (stdout.trim() === '' ? [] : JSON.parse(stdout)) as readonly {readonly ifname?: string}[];
  return links.flatMap(({ifname}) => ifname ?? []);
};

/** Returns whether an interface is a bridge. They are listed again after a while, and not for each question. */
export const bridgeLookup = (clock: Pick<Clock, 'monotonic'>, list = listBridges): ((name: string) => boolean) => {
  let names: ReadonlySet<string> = new Set();
  let listedAt = -Infinity;
  return name => {
    if (clock.monotonic() - listedAt >= validMs) {
      names = new Set(list());
      listedAt = clock.monotonic();
    }
    return names.has(name);
  };
};
