// The backoff of image pulls, per pod and image.

import type {Clock} from '#src/base/clock.js';
import {isBackingOff, nextBackoff, type Backoff, type BackoffLimits} from '#src/platlet/pod/backoff.js';

const limits: BackoffLimits = {firstMs: 10_000, maxMs: 300_000};

interface Entry extends Backoff {
  readonly message: string;
}

/** Delays that double with each failure, and reset a while after the last one. */
export class PullBackoffs {
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the last failure while its backoff lasts. */
  pending(key: string): string | undefined {
    const entry = this.#entries.get(key);
    return entry && isBackingOff(entry, entry.since, this.#clock.now(), limits) ? entry.message : undefined;
  }

  failed(key: string, message: string): void {
    const now = this.#clock.now();
    this.#entries.set(key, {...nextBackoff(this.#entries.get(key), now, now, limits), message});
  }

  /** Removes expired backoffs. */
  sweep(): void {
    const before = this.#clock.now() - 2 * limits.maxMs;
    for (const [key, {since}] of this.#entries) if (since < before) this.#entries.delete(key);
  }
}
