// A process with a whole control plane of which parts are switched off.

import {readFileSync, writeFileSync} from 'node:fs';
import {systemClock} from '#src/base/clock.js';
import {startPlane} from '#src/plane/index.js';
import {boundHeapGrowth} from '#src/program/heap-growth.js';
import {releaseIdleMemory} from '#src/program/idle-memory.js';
import {seedConfigMaps} from '#bench/load/seed.js';
import {keepMapped, storeCaches, type MemoryPart, type StoreCache} from './parts.js';

/** The settings of the server process, as JSON in its only argument. */
export interface DecisionServer {
  readonly directory: string;
  /** The number of config maps in namespace `many`, 1 kB each, created before the server starts. */
  readonly count: number;
  readonly without: readonly MemoryPart[];
}

/** The process so far: its processor time, and its memory in MB. */
export interface Usage {
  readonly cpuMs: number;
  readonly residentMb: number;
  /** The part of it in mapped files, the program's own 45 MB among them. */
  readonly mappedMb: number;
  /** The peak since the last look. */
  readonly peakMb: number;
}

/** `usage`, or the cache that is switched off until the next message of this kind. */
export type Message = 'usage' | `without ${StoreCache | 'nothing'}`;

const usage = (): Usage => {
  const {user, system} = process.cpuUsage();
  const status = readFileSync('/proc/self/status', 'utf8');
  const mb = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024;
  writeFileSync('/proc/self/clear_refs', '5'); // The peak begins anew.
  return {cpuMs: (user + system) / 1000, residentMb: mb('VmRSS'), mappedMb: mb('RssFile'), peakMb: mb('VmHWM')};
};

const isCache = (name: string): name is StoreCache => Object.hasOwn(storeCaches, name);

const run = async ({directory, count, without}: DecisionServer): Promise<void> => {
  if (count > 0) await seedConfigMaps({directory, count});
  if (without.includes('mapped-tree')) keepMapped();
  const {signal} = new AbortController();
  if (!without.includes('idle-memory')) releaseIdleMemory(systemClock, signal);
  if (!without.includes('heap-growth')) boundHeapGrowth(systemClock, signal);
  const plane = await startPlane({dataDir: directory});
  let restore: (() => void) | undefined;
  process.on('message', (message: Message) => {
    if (message !== 'usage') {
      restore?.();
      const name = message.replace('without ', '');
      restore = isCache(name) ? storeCaches[name]() : undefined;
    }
    process.send!(usage());
  });
  process.once('disconnect', () => void plane.stop().then(() => process.exit(0)));
  process.send!({url: plane.url});
};

const [, , argument] = process.argv;
if (argument && process.send) await run(JSON.parse(argument) as DecisionServer);
