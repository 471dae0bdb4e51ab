// Changes and events whose mapping to keys failed. They are mapped again, with backoff, until it succeeds: otherwise a
// controller would never hear of them. What does not fit is made up for by all keys.

import {exponential} from '#src/base/backoff.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import {jittered, type Random} from '#src/base/random.js';
import {onAbort} from '#src/base/signals.js';

export interface MappingRetriesParts {
  /** The name of the controller. */
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  /** Ends all retries. */
  readonly signal: AbortSignal;
  /** Queues all keys. */
  everything(): void;
}

/** What is mapped to keys: the changes of a kind, or the events of a source. */
export interface Mapped<C> {
  /** The kind, or the name of the source. */
  readonly kind: string;
  /** Queues the keys of a change. */
  map(change: C): void;
  /** Returns a change's fields in logs. */
  fieldsOf?(change: C): object;
}

/** The number of changes that wait at a time. Each holds at most two states of an object, or an event. */
const most = 10_000;
const firstDelayMs = 1000;
const longestDelayMs = 60_000;
const delayAfter = exponential(firstDelayMs, longestDelayMs);

export class MappingRetries {
  readonly #parts: MappingRetriesParts;
  readonly #failures: {add(labels: {readonly controller: string; readonly kind: string}): void};
  readonly #waiting = new Set<Disposable>();
  #isIncomplete = false;

  constructor(parts: MappingRetriesParts) {
    this.#parts = parts;
    this.#failures = parts.meter.counter({
      name: 'plat_operator_mapping_failures_total',
      help: 'How often mapping a change of a watched kind, or an event of a source, to keys failed.',
      labels: ['controller', 'kind'],
    });
    onAbort(parts.signal, () => {
      for (const timer of this.#waiting) timer[Symbol.dispose]();
      this.#waiting.clear();
    });
  }

  /** Maps a change, now and after each failure until it succeeds. */
  attempt<C>(mapped: Mapped<C>, change: C, failures = 0): void {
    try {
      mapped.map(change);
    } catch (error) {
      const {name, log} = this.#parts;
      const {kind} = mapped;
      this.#failures.add({controller: name, kind});
      const fields = {kind, ...mapped.fieldsOf?.(change), err: error};
      const message = 'mapping a change to keys failed and is tried again';
      if (failures === 0) log.error(fields, message);
      else log.v(1).info(fields, message);
      if (this.#waiting.size < most) this.#later(delayAfter(failures), () => this.attempt(mapped, change, failures + 1));
      else this.#everythingLater();
    }
  }

  #everythingLater(): void {
    if (this.#isIncomplete) return;
    this.#isIncomplete = true;
    this.#parts.log.error({changes: most}, 'mapping changes to keys failed too often, all keys are queued instead');
    this.#later(longestDelayMs, () => {
      this.#isIncomplete = false;
      this.#parts.everything();
    });
  }

  #later(delayMs: number, run: () => void): void {
    const {clock, random, signal} = this.#parts;
    if (signal.aborted) return;
    const timer = clock.schedule(jittered(random, delayMs, 0.2), () => {
      this.#waiting.delete(timer);
      run();
    });
    this.#waiting.add(timer);
  }
}
