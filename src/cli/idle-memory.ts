import {getHeapStatistics, setFlagsFromString} from 'node:v8';
import {runInNewContext} from 'node:vm';
import {every, type Clock} from '#src/base/clock.js';

/** The memory of a process as its engine tells it, in bytes. */
export interface EngineHeap {
  /** How much was taken from the machine, and how much of it holds something. */
  sizes(): {readonly taken: number; readonly used: number};
  /** Which part of the time since the last call was spent at work, from 0 to 1. */
  busy(): number;
  /** Collects all garbage and gives free pages back. */
  collect(): void;
}

const mb = 1 << 20;
const checkMs = 1000;
/** So many looks in a row find a process that rests. */
const quietChecks = 3;
const quietBelow = 0.1;
/** What may lie free: less is not worth a collection. */
const excess = 12 * mb;
/** A larger heap is left to the engine: collecting it would hold up whoever comes next. 64 MB take some 50 ms. */
const largest = 64 * mb;
const shortestPauseMs = 5000;
const longestPauseMs = 600_000;

/**
 * Gives memory back while a process rests. The engine collects only when a program allocates: after a burst of work one that rests would hold for ever
 * what the burst needed, three times what it has use for. A collection that frees little is followed by a longer pause.
 */
export const givesBackMemory = (clock: Clock, signal: AbortSignal, heap: EngineHeap = ownHeap()): void => {
  let quiet = 0;
  let pauseMs = shortestPauseMs;
  let notBefore = 0;
  let leftUsed = 0;
  heap.busy();
  every(clock, checkMs, signal, () => {
    quiet = heap.busy() < quietBelow ? quiet + 1 : 0;
    const {taken, used} = heap.sizes();
    if (quiet < quietChecks || clock.monotonic() < notBefore || used > largest || taken < leftUsed + excess) return;
    heap.collect();
    const after = heap.sizes();
    leftUsed = after.used;
    const freed = taken - after.taken + used - after.used;
    // What was garbage goes at once, what the engine keeps for a next burst once it has seen none for a while.
    pauseMs = freed > excess / 2 ? shortestPauseMs : Math.min(2 * pauseMs, longestPauseMs);
    notBefore = clock.monotonic() + pauseMs;
  });
};

/** The heap of this process. */
export const ownHeap = (): EngineHeap => {
  let since = performance.eventLoopUtilization();
  let collect: (() => void) | undefined;
  return {
    sizes() {
      const {total_heap_size: taken, used_heap_size: used} = getHeapStatistics();
      return {taken, used};
    },
    busy() {
      const now = performance.eventLoopUtilization();
      const {utilization} = performance.eventLoopUtilization(now, since);
      since = now;
      return utilization;
    },
    collect: () => (collect ??= collectorOf())(),
  };
};

/** Node has no call for this. The engine's own is shown to contexts that are made while the flag is set: one is made, for what it is shown. */
const collectorOf = (): (() => void) => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  setFlagsFromString('--no-expose-gc');
  return collect;
};
