import {PerformanceObserver} from 'node:perf_hooks';
import {getHeapSpaceStatistics, setFlagsFromString} from 'node:v8';
import {hasKnownFlags} from './engine-heap.js';

/** The space for new objects: two halves, which V8 doubles while many objects survive a collection. */
export interface NewSpace {
  /** The size of both halves in bytes. */
  size(): number;
  /** Whether V8 may double it from now on. */
  setGrowing(isGrowing: boolean): void;
  /** Calls `collected` after each collection, until the signal aborts. */
  observe(collected: () => void, signal: AbortSignal): void;
}

/**
 * It is not doubled beyond this size: programs are no faster with more, and V8's own limit is 32 MB up to Node.js 22
 * and 128 MB from 24 on, of which all becomes resident under load.
 */
const most = 17 << 20;

/** Bounds the space for new objects of this process. */
export const boundNewSpace = (signal: AbortSignal, space: NewSpace = processNewSpace()): void => {
  let isGrowing = true;
  space.observe(() => {
    const grows = 2 * space.size() <= most;
    if (grows !== isGrowing) space.setGrowing((isGrowing = grows));
  }, signal);
};

const setFactor = (factor: number): void => setFlagsFromString(`--semi-space-growth-factor=${factor}`);

/** V8's own factor. */
const doubling = 2;

/** Returns that of this process. */
export const processNewSpace = (): NewSpace => ({
  size: () => getHeapSpaceStatistics().find(space => space.space_name === 'new_space')?.space_size ?? 0,
  setGrowing: isGrowing => setFactor(isGrowing ? doubling : 1),
  observe(collected, signal) {
    if (!hasKnownFlags) return;
    const observer = new PerformanceObserver(collected);
    observer.observe({entryTypes: ['gc']});
    signal.addEventListener('abort', () => observer.disconnect(), {once: true});
    // Code caches, which are made at the end, belong to the flags that they were made with.
    process.prependOnceListener('exit', () => setFactor(doubling));
  },
});
