import {runEvery, type Clock} from '#src/base/clock.js';
import {processHeap, type EngineHeap} from './engine-heap.js';

const mb = 1 << 20;
const checkMs = 500;
/** The same while hardly anything is allocated: each look wakes an idle process. */
const restingCheckMs = 2000;
const restingBelow = mb / 2;

/**
 * A heap may grow by this part of what is in use after a collection, and by some more, before it is collected again. V8
 * alone lets it grow to two to four times as much.
 */
const growth = 0.4;
const slack = 16 * mb;

/**
 * The same for buffers alone: the system's allocator seldom returns the memory of freed ones, as others lie between
 * them.
 */
const buffersSlack = 12 * mb;

/**
 * The shortest time from one collection to the next, by what is in use: a megabyte takes about a millisecond, most of
 * it on another core.
 */
const pauseMsPerMb = 8;
const shortestPauseMs = 1000;

/**
 * Bounds the garbage of a process at work, with the buffers that it holds: a burst of work would make the process two
 * to four times as large as what it keeps, and the memory of freed buffers is hardly ever returned to the system.
 */
export const boundHeapGrowth = (clock: Clock, signal: AbortSignal, heap: EngineHeap = processHeap()): void => {
  /** The least that was in use since the last collection began. */
  let [least, leastExternal] = [Infinity, Infinity];
  let notBefore = 0;
  let last = Infinity;
  let periodMs = checkMs;
  runEvery(
    clock,
    () => periodMs,
    signal,
    () => {
      const {used, external} = heap.sizes();
      const taken = used + external;
      periodMs = Math.abs(taken - last) < restingBelow ? restingCheckMs : checkMs;
      last = taken;
      least = Math.min(least, taken);
      leastExternal = Math.min(leastExternal, external);
      if (clock.monotonic() < notBefore || (taken < least * (1 + growth) + slack && external < leastExternal + buffersSlack)) return;
      heap.startCollection();
      [least, leastExternal] = [taken, external];
      notBefore = clock.monotonic() + Math.max(shortestPauseMs, (taken / mb) * pauseMsPerMb);
    },
  );
};
