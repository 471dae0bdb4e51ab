import {getHeapStatistics, setFlagsFromString} from 'node:v8';
import {runInNewContext} from 'node:vm';

/** The memory of a heap, in bytes. */
export interface HeapSizes {
  /** The reserved memory, and the part of it in use. */
  readonly reserved: number;
  readonly used: number;
  /** What objects of the heap hold outside it: buffers, above all. */
  readonly external: number;
}

/** The heap of a process as V8 reports it. */
export interface EngineHeap {
  sizes(): HeapSizes;
  /** The fraction of the time since the last call that the event loop was busy, from 0 to 1. */
  busy(): number;
  /** Collects all garbage and releases free pages, at once or later. Blocks the event loop meanwhile. */
  collect(): void | Promise<void>;
  /** Starts a collection that goes on in steps and beside other work, as V8 itself does them. */
  startCollection(): void;
}

/** Returns the heap of this process. */
export const processHeap = (): EngineHeap => {
  let since = performance.eventLoopUtilization();
  return {
    sizes() {
      const {total_heap_size: reserved, used_heap_size: used, external_memory: external} = getHeapStatistics();
      return {reserved, used, external};
    },
    busy() {
      const now = performance.eventLoopUtilization();
      const {utilization} = performance.eventLoopUtilization(now, since);
      since = now;
      return utilization;
    },
    collect: collectAll,
    startCollection,
  };
};

/**
 * Node has no function for this. V8's own `gc` keeps the space for new objects as large as the last burst made it (32
 * MB) until five quiet seconds have passed; what the heap profiler calls returns it at once.
 */
const collectAll = async (): Promise<void> => {
  // A build of Node without it leaves the heap to V8.
  const {Session} = await import('node:inspector').catch(() => ({Session: undefined}));
  if (!Session) return;
  const session = new Session();
  session.connect();
  try {
    await new Promise<void>(resolve => session.post('HeapProfiler.collectGarbage', () => resolve()));
  } finally {
    session.disconnect();
  }
};

/** The releases of V8 that are known to have the flags below: others would complain. */
const [oldestKnown, newestKnown] = [11, 14];
const release = Number.parseInt(process.versions.v8, 10);
export const hasKnownFlags = release >= oldestKnown && release <= newestKnown;

type Collector = (options: {readonly type: 'minor'}) => void;

let collector: Collector | undefined;

/** Returns V8's own collector, which is hidden from programs. */
const exposed = (): Collector => {
  setFlagsFromString('--expose-gc');
  try {
    return runInNewContext('gc') as Collector;
  } finally {
    setFlagsFromString('--no-expose-gc');
  }
};

/**
 * V8 starts to mark objects when it has collected new objects and finds the heap beyond a part of its limit. That part
 * is made smaller for the moment, and not for longer: code caches belong to the flags that they were made with.
 */
const startCollection = (): void => {
  if (!hasKnownFlags) return;
  collector ??= exposed();
  setFlagsFromString('--incremental-marking-hard-trigger=1');
  try {
    collector({type: 'minor'});
  } finally {
    setFlagsFromString('--incremental-marking-hard-trigger=0');
  }
};
