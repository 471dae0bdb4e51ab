// The backoffs of pulls: one for each pod and image.

import type {Clock} from '#src/base/clock.js';

const firstMs = 10_000;
const maxMs = 300_000;

interface Entry {
  readonly delayMs: number;
  readonly since: number;
  readonly message: string;
}

/** Delays that double with each failure, and are forgotten a while after the last. */
export class PullBackoffs {
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns what failed last, if it is too soon to try again. */
  pending(key: string): string | undefined {
    const entry = this.#entries.get(key);
    return entry && this.#clock.now() - entry.since < entry.delayMs ? entry.message : undefined;
  }

  failed(key: string, message: string): void {
    const now = this.#clock.now();
    const before = this.#entries.get(key);
    const isOver = !before || now - before.since > 2 * maxMs;
    this.#entries.set(key, {delayMs: isOver ? firstMs : Math.min(maxMs, before.delayMs * 2), since: now, message});
  }

  /** Forgets what failed long ago. */
  sweep(): void {
    const before = this.#clock.now() - 2 * maxMs;
    for (const [key, {since}] of this.#entries) if (since < before) this.#entries.delete(key);
  }
}
