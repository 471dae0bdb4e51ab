import PQueue from 'p-queue';
import {nextTurn, Pieces} from '#src/base/turn.js';
import type {WorkQueue} from './work-queue.js';

/** Hands that work on a queue. */
export interface Workers {
  /** Takes nothing more; resolves when what is in work is done. */
  stop(): Promise<void>;
  /** Shuts the queue down and resolves when everything that was ready is done. */
  drain(): Promise<void>;
}

/**
 * Work that never waits for anything would shut out sockets and timers: everybody else gets a turn once it has taken a while, and after so many items in any case, as
 * time does not pass on every clock while work goes on.
 */
const itemsPerTurn = 32;

/**
 * Works on `queue` with `concurrency` items at once. `process` answers for its own failures: one that rejects all the same is
 * reported to `onBug`, and the work goes on.
 */
export const work = <T>(queue: WorkQueue<T>, concurrency: number, process: (item: T) => Promise<void>, onUnhandledError: (error: unknown, item: T) => void): Workers => {
  const pool = new PQueue({concurrency});
  const pieces = new Pieces(queue.clock);
  let items = 0;
  let isStopped = false;
  const processNext = async () => {
    for (let pause = pieces.pause(); pause; pause = pieces.pause()) await pause;
    const item = isStopped ? undefined : queue.take();
    if (item === undefined) return;
    try {
      await process(item);
      if (++items % itemsPerTurn === 0) await nextTurn();
    } catch (error) {
      onUnhandledError(error, item);
    } finally {
      queue.done(item);
    }
  };
  // A turn for each ready item; which one it takes is the queue's to say, so that an item stays unique until its turn comes.
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
