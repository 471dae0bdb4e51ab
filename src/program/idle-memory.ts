import {shrinkCaches} from '#src/base/cache-bound.js';
import {runEvery, sleep, type Clock} from '#src/base/clock.js';
import {andThen} from '#src/base/eventually.js';
import {processHeap, type EngineHeap} from './engine-heap.js';

const mb = 1 << 20;
const checkMs = 1000;
/** The number of consecutive checks after which a process counts as idle. */
const idleChecks = 3;
/**
 * The same for a heap that is collected in steps: V8 then finds that few objects are made, and returns the space for
 * new ones as well.
 */
const idleChecksInSteps = 8;
/** The number after which caches shrink: most of what they hold was of use to the last burst of work. */
const longIdleChecks = 60;
const idleBelow = 0.1;
/** The acceptable amount of free memory: less is not worth a collection. */
const excess = 12 * mb;
/**
 * A larger heap is collected in steps: at once would delay the next request. 64 MB with half of them garbage take about
 * 50 ms.
 */
const largestAtOnce = 64 * mb;
/** A larger one is left to V8: the last step, which takes longest, would take more than 50 ms too. */
const largestInSteps = 256 * mb;
/** How long a collection in steps takes at most, with the one that V8 lets follow it. */
const stepsMs = 20_000;
const shortestPauseMs = 5000;
const maxPauseMs = 600_000;

/**
 * Releases memory while a process is idle. V8 collects only when a program allocates: after a burst of work an idle
 * process would keep the memory of the burst, three times what it needs. A collection that frees little is followed by
 * a longer pause.
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
  const collect = (used: number): void | Promise<void> => {
    if (used <= largestAtOnce) return heap.collect();
    heap.startCollection();
    return sleep(clock, stepsMs, signal).catch(() => undefined);
  };
  runEvery(clock, checkMs, signal, () => {
    idle = heap.busy() < idleBelow ? idle + 1 : 0;
    if (idle === longIdleChecks) shrink();
    const {reserved: taken, used} = heap.sizes();
    if (isCollecting || clock.monotonic() < notBefore || used > largestInSteps || taken < leftUsed + excess) return;
    if (idle < (used > largestAtOnce ? idleChecksInSteps : idleChecks)) return;
    isCollecting = true;
    void andThen(collect(used), () => {
      isCollecting = false;
      const after = heap.sizes();
      leftUsed = after.used;
      const freed = taken - after.reserved + used - after.used;
      pauseMs = freed > excess / 2 ? shortestPauseMs : Math.min(2 * pauseMs, maxPauseMs);
      notBefore = clock.monotonic() + pauseMs;
    });
  });
};
