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
  const pieces = new Yielder(queue.clock);
  const waiting: (() => void)[] = [];
  let items = 0;
  let working = 0;
  let isStopped = false;
  const processItem = async (item: T) => {
    try {
      await process(item);
      if (++items % itemsPerTurn === 0) await yieldToEventLoop();
    } catch (error) {
      onUnhandledError(error, item);
    } finally {
      queue.done(item);
    }
  };
  /** Takes items as long as there are any. The queue decides which, so that items stay unique while they wait. */
  const worker = async () => {
    await undefined; // Whoever adds an item goes on first.
    try {
      for (;;) {
        for (let pause = pieces.pause(); pause; pause = pieces.pause()) await pause;
        const item = isStopped ? undefined : queue.take();
        if (item === undefined) break;
        await processItem(item);
      }
    } finally {
      // At once after the queue was found empty: the next item that becomes ready starts a worker.
      if (--working === 0) for (const proceed of waiting.splice(0)) proceed();
    }
  };
  const subscription = queue.onReady(concurrency, () => {
    if (working >= concurrency) return;
    working++;
    void worker();
  });
  const finish = async () => {
    if (working > 0) await new Promise<void>(resolve => waiting.push(resolve));
    subscription[Symbol.dispose]();
  };
  return {
    async stop() {
      isStopped = true;
      subscription[Symbol.dispose]();
      await finish();
    },
    async drain() {
      queue.shutDown();
      await finish();
    },
  };
};
