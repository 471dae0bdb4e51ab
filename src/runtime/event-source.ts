// Sources of keys other than watches of the server: they are followed while a controller runs, and opened again after
// errors.

import {keyText, type ObjectKey} from '#src/api/key.js';
import {exponential} from '#src/base/backoff.js';
import {sleep, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {jittered, type Random} from '#src/base/random.js';
import type {WorkQueue} from '#src/queue/work-queue.js';
import type {ReconcileTrace} from './reconcile-trace.js';

/** What a source is given. */
export interface SourceContext {
  /**
   * Queues a key. Where the result is a promise, the queue is long: a source that can wait calls again once it
   * resolves.
   */
  enqueue(key: ObjectKey): Promise<void> | undefined;
  /** Aborts when the source is to end. */
  readonly signal: AbortSignal;
}

/** A source of keys. */
export interface EventSource {
  readonly name: string;
  /** Queues keys until the source ends by itself (resolves), fails (rejects), or the signal aborts. */
  run(context: SourceContext): Promise<void>;
}

export interface FollowSourceParts {
  readonly queues: readonly WorkQueue[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly trace?: ReconcileTrace | undefined;
}

/** The number of keys that wait before a source has to. */
const longQueue = 1000;
const firstDelayMs = 1000;
const longestDelayMs = 60_000;
/** A source that worked that long before it failed begins with the first delay again. */
const healthyMs = 60_000;

/** Follows a source until it ends or the signal aborts; opens it again after an error, with backoff. Never rejects. */
export const followSource = async (source: EventSource, {queues, clock, random, log, signal, trace}: FollowSourceParts): Promise<void> => {
  const delayAfter = exponential(firstDelayMs, longestDelayMs);
  const enqueue = (key: ObjectKey): Promise<void> | undefined => {
    trace?.caused(keyText(key), `source ${source.name}`);
    for (const queue of queues) queue.add(keyText(key));
    const rooms = queues.flatMap(queue => queue.room(longQueue) ?? []);
    return rooms.length > 0 ? Promise.all(rooms).then(() => {}) : undefined;
  };
  for (let failures = 0; !signal.aborted; failures++) {
    const opened = clock.monotonic();
    try {
      await source.run({enqueue, signal});
      if (!signal.aborted) log.info({source: source.name}, 'a source of events has ended');
      return;
    } catch (error) {
      if (signal.aborted) return;
      if (clock.monotonic() - opened > healthyMs) failures = 0;
      const waitMs = jittered(random, delayAfter(failures), 0.2);
      log.error({source: source.name, err: error, waitMs: Math.round(waitMs)}, 'a source of events failed and is opened again');
      await sleep(clock, waitMs, signal).catch(() => {});
    }
  }
};
