import PQueue from 'p-queue';
import {yieldToEventLoop, Yielder} from '#src/base/turn.js';
import type {WorkQueue} from './work-queue.js';

/** The workers of a queue. */
export interface Workers {
  /** Takes no more items; resolves when those in process are done. */
  stop(): Promise<void>;
  /** Shuts the queue down and resolves when every ready item is done. */
  drain(): Promise<void>;
}

/**
 * Workers that never wait for I/O would starve sockets and timers. They yield after a while, and after this many items
 * in any case, because a virtual clock does not advance while work goes on.
 */
const itemsPerTurn = 32;

/**
 * Processes the items of `queue`, `concurrency` at a time. `process` handles its own failures; a rejection is passed to
 * `onUnhandledError`, and work continues.
 */
export const work = <T>(
  queue: WorkQueue<T>,
  concurrency: number,
  process: (item: T) => Promise<void>,
  onUnhandledError: (error: unknown, item: T) => void,
): Workers => {
  const pool = new PQueue({concurrency});
  const pieces = new Yielder(queue.clock);
  let items = 0;
  let isStopped = false;
  const processNext = async () => {
    for (let pause = pieces.pause(); pause; pause = pieces.pause()) await pause;
    const item = isStopped ? undefined : queue.take();
    if (item === undefined) return;
    try {
      await process(item);
      if (++items % itemsPerTurn === 0) await yieldToEventLoop();
    } catch (error) {
      onUnhandledError(error, item);
    } finally {
      queue.done(item);
    }
  };
  // One task for each ready item. The queue decides which item a task takes, so that items stay unique while they wait.
  const subscription = queue.onReady(concurrency, () => void pool.add(processNext));
  const finish = async () => {
    await pool.onIdle();
    subscription[Symbol.dispose]();
  };
  return {
    async stop() {
      isStopped = true;
      subscription[Symbol.dispose]();
      pool.clear();
      await finish();
    },
    async drain() {
      queue.shutDown();
      await finish();
    },
  };
};
