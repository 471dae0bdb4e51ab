// The attempts of a loop that are in progress: they are aborted at their time limit, and one that does not end is
// reported. Without a limit an attempt may take as long as it wants, but not unsaid.

import {formatDuration} from '#src/api/duration.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {onAbort} from '#src/base/signals.js';
import type {ReconcileMetrics} from './reconcile-metrics.js';

export interface AttemptsParts {
  /** After that time the signal of an attempt aborts. Without it, never. */
  readonly limitMs?: number | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<ReconcileMetrics, 'timedOut'>;
  /** Aborts when the loop stops. */
  readonly signal: AbortSignal;
}

/** An attempt in progress, until it is disposed of. */
export interface InProgress extends Disposable {
  readonly signal: AbortSignal;
}

/** What holds the clock, and can be told not to. */
interface Holding {
  pauseHold(): Disposable;
}

interface Running {
  readonly key: string;
  readonly startedAt: number;
}

/** When an attempt that has not ended is reported. */
const longMs = 60_000;

export class Attempts {
  readonly #parts: AttemptsParts;
  /** In the order of their start. */
  readonly #running = new Set<Running>();
  readonly #reported = new WeakSet<Running>();
  #timer: Disposable | undefined;

  constructor(parts: AttemptsParts) {
    this.#parts = parts;
    onAbort(parts.signal, () => this.#disarm());
  }

  /**
   * Begins an attempt. Its signal aborts when the loop stops, or the time is up. `pauseHold` of the attempt has it not
   * hold the clock until the result is disposed of.
   */
  begin(key: string, attempt: Holding): InProgress {
    const {limitMs, clock, signal} = this.#parts;
    const running = {key, startedAt: clock.monotonic()};
    this.#running.add(running);
    if (!this.#timer && !signal.aborted) this.#arm(longMs);
    const limited = limitMs === undefined ? undefined : this.#limited(key, limitMs, attempt);
    return {
      signal: limited?.signal ?? signal,
      [Symbol.dispose]: () => {
        limited?.[Symbol.dispose]();
        this.#running.delete(running);
        if (this.#running.size === 0) this.#disarm();
      },
    };
  }

  /** Throws if an attempt goes on long after it was aborted: twice its limit after its start. */
  check(): void {
    const {limitMs, clock} = this.#parts;
    if (limitMs === undefined) return;
    const [oldest] = this.#running;
    const ms = oldest ? 1000 * Math.round((clock.monotonic() - oldest.startedAt) / 1000) : 0;
    if (ms > 2 * limitMs)
      throw new Error(`reconciling ${oldest!.key} has not ended after ${formatDuration(ms)}, its limit is ${formatDuration(limitMs)}`);
  }

  #limited(key: string, limitMs: number, attempt: Holding): InProgress {
    const {clock, log, metrics, signal} = this.#parts;
    const own = new AbortController();
    const following = onAbort(signal, () => own.abort(signal.reason));
    // A virtual clock would wait for an attempt that hangs, and never come to its limit. What the attempt does about
    // its abortion holds the time again.
    let pause: Disposable | undefined;
    const goOn = (): void => {
      pause?.[Symbol.dispose]();
      pause = undefined;
    };
    const stalls = clock.whenStalled?.(() => (pause ??= attempt.pauseHold()));
    const timer = clock.schedule(limitMs, () => {
      goOn();
      metrics.timedOut();
      log.warn({key, limitMs}, 'reconciling takes longer than its limit and is aborted');
      own.abort(new Error(`the reconcile took longer than its limit of ${formatDuration(limitMs)}`));
    });
    return {
      signal: own.signal,
      [Symbol.dispose]() {
        stalls?.[Symbol.dispose]();
        goOn();
        timer[Symbol.dispose]();
        following[Symbol.dispose]();
      },
    };
  }

  #arm(ms: number): void {
    this.#timer = this.#parts.clock.schedule(ms, () => this.#report());
  }

  #disarm(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  }

  /** Reports each attempt once. */
  #report(): void {
    const {clock, log} = this.#parts;
    this.#timer = undefined;
    for (const running of this.#running) {
      if (this.#reported.has(running)) continue;
      const leftMs = running.startedAt + longMs - clock.monotonic();
      if (leftMs > 0) return this.#arm(leftMs);
      this.#reported.add(running);
      log.warn({key: running.key, afterMs: longMs}, 'reconciling has not ended yet');
    }
  }
}
