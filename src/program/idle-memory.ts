import {getHeapStatistics} from 'node:v8';
import {shrinkCaches} from '#src/base/cache-bound.js';
import {every, type Clock} from '#src/base/clock.js';
import {andThen} from '#src/base/eventually.js';

/** The heap of a process as V8 reports it, in bytes. */
export interface EngineHeap {
  /** The reserved memory, and the part of it in use. */
  sizes(): {readonly reserved: number; readonly used: number};
  /** The fraction of the time since the last call that the event loop was busy, from 0 to 1. */
  busy(): number;
  /** Collects all garbage and releases free pages, at once or later. */
  collect(): void | Promise<void>;
}

const mb = 1 << 20;
const checkMs = 1000;
/** The number of consecutive checks after which a process counts as idle. */
const idleChecks = 3;
/** The number after which caches shrink: most of what they hold was of use to the last burst of work. */
const longIdleChecks = 60;
const idleBelow = 0.1;
/** The acceptable amount of free memory: less is not worth a collection. */
const excess = 12 * mb;
/** A larger heap is left to V8: its collection would delay the next request. 64 MB with half of them garbage take about 50 ms. */
const largest = 64 * mb;
const shortestPauseMs = 5000;
const maxPauseMs = 600_000;

/**
 * Releases memory while a process is idle. V8 collects only when a program allocates: after a burst of work an idle process would keep the memory of the
 * burst, three times what it needs. A collection that frees little is followed by a longer pause.
 */
export const releaseIdleMemory = (
  clock: Clock,
  signal: AbortSignal,
  heap: EngineHeap = processHeap(),
  shrink: () => void = shrinkCaches,
): void => {
  let idle = 0;
  let pauseMs = shortestPauseMs;
  let notBefore = 0;
  let leftUsed = 0;
  let isCollecting = false;
  heap.busy();
  every(clock, checkMs, signal, () => {
    idle = heap.busy() < idleBelow ? idle + 1 : 0;
    if (idle === longIdleChecks) shrink();
    const {reserved: taken, used} = heap.sizes();
    if (isCollecting || idle < idleChecks || clock.monotonic() < notBefore || used > largest || taken < leftUsed + excess) return;
    isCollecting = true;
    void andThen(heap.collect(), () => {
      isCollecting = false;
      const after = heap.sizes();
      leftUsed = after.used;
      const freed = taken - after.reserved + used - after.used;
      pauseMs = freed > excess / 2 ? shortestPauseMs : Math.min(2 * pauseMs, maxPauseMs);
      notBefore = clock.monotonic() + pauseMs;
    });
  });
};

/** The heap of this process. */
export const processHeap = (): EngineHeap => {
  let since = performance.eventLoopUtilization();
  return {
    sizes() {
      const {total_heap_size: taken, used_heap_size: used} = getHeapStatistics();
      return {reserved: taken, used};
    },
    busy() {
      const now = performance.eventLoopUtilization();
      const {utilization} = performance.eventLoopUtilization(now, since);
      since = now;
      return utilization;
    },
    collect: collectAll,
  };
};

/**
 * Node has no function for this. V8's own `gc` keeps the space for new objects as large as the last burst made it (32 MB) until five quiet seconds have
 * passed; what the heap profiler calls returns it at once.
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
