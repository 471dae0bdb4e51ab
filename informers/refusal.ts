import {StatusError} from '#src/api/status.js';
import type {Clock} from '#src/base/clock.js';

/** The server refuses to list a collection, and has done so for long: who waits for the first list may wait for ever. */
export class ListRefused extends Error {
  override readonly name = 'ListRefused';
}

/** Refusals that end only when somebody changes something: who may do what, or what there is. */
const lasting: ReadonlySet<number> = new Set([401, 403, 404]);

/** A refusal this long after the first may be there to stay; roles and definitions of a server that has just started come sooner. */
const lastsAfterMs = 30_000;

/** Tells refusals that last from those that pass. */
export class Refusals {
  readonly #clock: Clock;
  readonly #name: string;
  #since: number | undefined;

  constructor(clock: Clock, name: string) {
    this.#clock = clock;
    this.#name = name;
  }

  /** The error to report, once a failure is one more of a row of refusals that lasts. */
  after(error: unknown): ListRefused | undefined {
    if (!(error instanceof StatusError && lasting.has(error.code))) {
      this.#since = undefined;
      return undefined;
    }
    const now = this.#clock.monotonic();
    this.#since ??= now;
    const lastedMs = now - this.#since;
    if (lastedMs < lastsAfterMs) return undefined;
    return new ListRefused(
      `the cache of ${this.#name} is not synced: the server has refused to list them for ${Math.round(lastedMs / 1000)} s: ${error.message}`,
      {cause: error},
    );
  }
}
