// The one place that turns the outcome of a reconciliation into queue operations, metrics and a log line: settled keys
// are forgotten, others are added after a time or with backoff, and terminal errors are not retried.

import {keyText, parseKey, type ObjectKey} from '#src/api/key.js';
import {sleep, type Clock} from '#src/base/clock.js';
import {messageOf} from '#src/base/message.js';
import type {Log} from '#src/base/log.js';
import type {WorkQueue} from '#src/queue/work-queue.js';
import {Attempts, type InProgress} from './attempts.js';
import type {Attempt, Loop, Reconcile} from './controller.js';
import type {ReconcileMetrics, ReconcileResult} from './reconcile-metrics.js';
import {withinSpan, type ReconcileTrace} from './reconcile-trace.js';
import {isTransient} from './transient.js';
import type {LoopRecording} from '#src/runtime/recording/recorded-attempts.js';
import {Terminal, type Result} from './result.js';

export interface ReconcileHandlerOptions {
  readonly queue: WorkQueue;
  readonly reconcile: Reconcile;
  readonly admit?: Loop['admit'];
  readonly maxRetries?: number | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: ReconcileMetrics;
  readonly signal: AbortSignal;
  /** The attempts in progress. Default: without a limit of time. */
  readonly attempts?: Attempts;
  readonly trace?: ReconcileTrace | undefined;
  /** Follows the reconciles of the loop, if they are recorded. */
  readonly recording?: LoopRecording | undefined;
}

type Outcome = Result | {readonly kind: 'failed'; readonly error: unknown};

/** The result of an attempt, as its metric labels it. */
const resultOf = ({kind}: Outcome): ReconcileResult => (kind === 'settled' ? 'success' : kind === 'requeue' ? 'requeue_after' : 'error');

const outcomeOf = async (attempt: () => Promise<Result>): Promise<Outcome> => {
  try {
    return await attempt();
  } catch (error) {
    return {kind: 'failed', error};
  }
};

/**
 * Returns the function that workers call with a key: it runs `reconcile` and turns the outcome into requeues, metrics
 * and log lines. Never rejects.
 */
export const reconcileHandler = ({
  queue,
  reconcile,
  admit,
  maxRetries = Infinity,
  clock,
  log,
  metrics,
  signal,
  attempts = new Attempts({clock, log, metrics, signal}),
  trace,
  recording,
}: ReconcileHandlerOptions): ((text: string) => Promise<void>) => {
  const failed = (text: string, error: unknown) => {
    if (signal.aborted) return;
    metrics.failed({terminal: error instanceof Terminal});
    const fields = {key: text, err: error};
    const failures = queue.retries(text) + 1;
    const logFailure = (message: string) => (isTransient(error, failures) ? log.v(4).info(fields, message) : log.error(fields, message));
    const isOver = error instanceof Terminal || queue.retries(text) >= maxRetries;
    recording?.ended(text, {result: isOver ? 'gave-up' : 'failed', error: messageOf(error)});
    if (error instanceof Terminal) {
      queue.forget(text);
      log.error(fields, 'reconciling failed for good');
    } else if (isOver) {
      queue.forget(text);
      logFailure('reconciling failed too often and is given up');
    } else {
      trace?.caused(text, 'retry');
      recording?.queued(text, {type: 'retry', attempt: failures}, true);
      queue.addRateLimited(text);
      logFailure('reconciling failed and is tried again');
    }
  };

  const loop: LoopParts = {queue, clock, log, attempts};
  return async text => {
    const key = parseKey(text);
    const admitted = admit?.(key);
    if (admitted) return void admitted.then(() => signal.aborted || queue.add(text));
    const started = clock.monotonic();
    using attempt = new CurrentAttempt(key, text, loop);
    metrics.started();
    const span = trace?.begin({key, retries: attempt.retries, startedAt: started});
    const act = () => reconcile(key, attempt);
    const outcome = await withinSpan(span, () => outcomeOf(recording ? () => recording.run(text, act) : act));
    metrics.ended((clock.monotonic() - started) / 1000);
    span?.set({result: resultOf(outcome)});
    span?.end(outcome.kind === 'failed' ? outcome.error : undefined);
    switch (outcome.kind) {
      case 'settled':
        recording?.ended(text, {result: 'settled'});
        queue.forget(text);
        return metrics.succeeded();
      case 'requeue':
        recording?.ended(text, {result: 'requeued', requeueAfterMs: outcome.afterMs});
        recording?.queued(text, {type: 'requeue', afterMs: outcome.afterMs}, true);
        queue.forget(text);
        trace?.caused(text, 'requeue');
        queue.addAfter(text, outcome.afterMs);
        return metrics.requeued();
      case 'failed':
        return failed(text, outcome.error);
    }
  };
};

/** What an attempt needs of its loop. */
interface LoopParts extends Pick<ReconcileHandlerOptions, 'queue' | 'clock' | 'log'> {
  readonly attempts: Attempts;
}

/** An attempt in progress, until it is disposed of. It creates on demand what most attempts do not use. */
class CurrentAttempt implements Attempt, Disposable {
  readonly retries: number;
  readonly signal: AbortSignal;
  readonly #key: ObjectKey;
  readonly #loop: LoopParts;
  readonly #inProgress: InProgress;
  #log: Log | undefined;
  #pauses = 0;
  #paused: Disposable | undefined;

  constructor(key: ObjectKey, text: string, loop: LoopParts) {
    this.#key = key;
    this.#loop = loop;
    this.retries = loop.queue.retries(text);
    this.#inProgress = loop.attempts.begin(text, this);
    this.signal = this.#inProgress.signal;
  }

  /** A child logger costs as much as a short attempt. */
  get log(): Log {
    return (this.#log ??= this.#loop.log.child({key: keyText(this.#key)}));
  }

  get pause(): Attempt['pause'] {
    return async ms => {
      using _ = this.pauseHold();
      await sleep(this.#loop.clock, ms, this.signal);
    };
  }

  /** Has the attempt not hold the clock, until all that the calls returned are disposed of. */
  pauseHold(): Disposable {
    if (this.#pauses++ === 0) this.#paused = this.#loop.queue.pauseHold();
    let isOpen = true;
    return {
      [Symbol.dispose]: () => {
        if (isOpen && --this.#pauses === 0) this.#paused?.[Symbol.dispose]();
        isOpen = false;
      },
    };
  }

  [Symbol.dispose](): void {
    this.#inProgress[Symbol.dispose]();
  }
}
