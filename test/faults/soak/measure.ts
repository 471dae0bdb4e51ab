import {readdirSync, readFileSync} from 'node:fs';

/** What a process holds on to. */
export interface Measurement {
  /** Memory that is not a mapped file, and the heap after a collection, in MiB. */
  readonly memory: number;
  readonly heap: number;
  /** Open files, and what keeps the event loop alive other than timers. */
  readonly files: number;
  readonly handles: number;
}

/** Measures this process, after a collection where it was started with --expose-gc. */
export const measure = (): Measurement => {
  globalThis.gc?.();
  globalThis.gc?.();
  const status = readFileSync('/proc/self/status', 'utf8');
  return {
    memory: Number(/RssAnon:\s+(\d+)/.exec(status)?.[1]) / 1024,
    heap: process.memoryUsage().heapUsed / 2 ** 20,
    files: readdirSync('/proc/self/fd').length,
    handles: process.getActiveResourcesInfo().filter(name => name !== 'Timeout' && name !== 'Immediate').length,
  };
};
