import {keyText, parseKey} from '#src/api/key.js';
import {sleep, type Clock} from '#src/base/clock.js';
import {lazily} from '#src/base/lazily.js';
import type {Log} from '#src/base/log.js';
import {exponentialBuckets, type Meter} from '#src/base/meter.js';
import type {WorkQueue} from '#src/queue/work-queue.js';
import type {Reconcile} from './controller.js';
import {isTransient} from './transient.js';
import {Terminal, type Result} from './result.js';

export interface ReconcileHandlerOptions {
  readonly controller: string;
  readonly queue: WorkQueue;
  readonly reconcile: Reconcile;
  readonly maxRetries?: number | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: Meter;
  readonly signal: AbortSignal;
}

type Outcome = Result | {readonly kind: 'failed'; readonly error: unknown};

const outcomeOf = async (attempt: () => Promise<Result>): Promise<Outcome> => {
  try {
    return await attempt();
  } catch (error) {
    return {kind: 'failed', error};
  }
};

/** Returns the function that workers call with a key: it runs `reconcile` and turns the outcome into requeues, metrics and log lines. Never rejects. */
export const reconcileHandler = ({
  controller,
  queue,
  reconcile,
  maxRetries = Infinity,
  clock,
  log,
  meter,
  signal,
}: ReconcileHandlerOptions): ((text: string) => Promise<void>) => {
  const total = meter.counter({
    name: 'controller_reconcile_total',
    help: 'Reconciliations by their result.',
    labels: ['controller', 'result'],
  });
  const errors = meter.counter({name: 'controller_reconcile_errors_total', help: 'Reconciliations that failed.', labels: ['controller']});
  const time = meter.histogram({
    name: 'controller_reconcile_time_seconds',
    help: 'How long a reconciliation takes.',
    labels: ['controller'],
    buckets: exponentialBuckets(0.001, 4, 10),
  });
  const count = (result: string) => total.add({controller, result});

  const failed = (text: string, error: unknown) => {
    if (signal.aborted) return;
    errors.add({controller});
    const fields = {key: text, err: error};
    const failures = queue.retries(text) + 1;
    const logFailure = (message: string) => (isTransient(error, failures) ? log.v(4).info(fields, message) : log.error(fields, message));
    if (error instanceof Terminal) {
      count('terminal');
      queue.forget(text);
      log.error(fields, 'reconciling failed for good');
    } else if (queue.retries(text) >= maxRetries) {
      count('given_up');
      queue.forget(text);
      logFailure('reconciling failed too often and is given up');
    } else {
      count('error');
      queue.addRateLimited(text);
      logFailure('reconciling failed and is tried again');
    }
  };

  return async text => {
    const key = parseKey(text);
    const started = clock.monotonic();
    const pause = async (ms: number) => {
      using _ = queue.pauseHold();
      await sleep(clock, ms, signal);
    };
    // Created on demand: most attempts log nothing, and a child logger costs as much as a short attempt.
    const logOfKey = lazily(() => log.child({key: keyText(key)}));
    const attempt = {
      get log() {
        return logOfKey();
      },
      retries: queue.retries(text),
      signal,
      pause,
    };
    const outcome = await outcomeOf(() => reconcile(key, attempt));
    time.observe((clock.monotonic() - started) / 1000, {controller});
    switch (outcome.kind) {
      case 'settled':
        queue.forget(text);
        return count('success');
      case 'requeue':
        queue.forget(text);
        queue.addAfter(text, outcome.afterMs);
        return count('requeue_after');
      case 'failed':
        return failed(text, outcome.error);
    }
  };
};
