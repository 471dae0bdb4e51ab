import {damagedRecordCause, hasCause, StatusError} from '#src/api/status.js';
import {messageOf} from '#src/base/message.js';
import type {Clock} from '#src/base/clock.js';

/**
 * Thrown when the server has refused for a long time to list a collection, so that the first list may never succeed.
 */
export class ListRefused extends Error {
  override readonly name = 'ListRefused';
}

/** Status codes that persist until permissions or definitions change. */
const lasting: ReadonlySet<number> = new Set([401, 403, 404]);

const isLasting = (error: unknown): boolean =>
  error instanceof StatusError && (lasting.has(error.code) || hasCause(error, damagedRecordCause));

/**
 * A refusal this long after the first is considered permanent; a server that has just started creates its roles and
 * definitions sooner.
 */
const lastsAfterMs = 30_000;

/** Distinguishes permanent refusals from transient ones. */
export class Refusals {
  readonly #clock: Clock;
  readonly #name: string;
  #since: number | undefined;

  constructor(clock: Clock, name: string) {
    this.#clock = clock;
    this.#name = name;
  }

  /** Records a failure. Returns the error to report once refusals have continued for 30 seconds. */
  after(error: unknown): ListRefused | undefined {
    if (!isLasting(error)) {
      this.#since = undefined;
      return undefined;
    }
    const now = this.#clock.monotonic();
    this.#since ??= now;
    const lastedMs = now - this.#since;
    if (lastedMs < lastsAfterMs) return undefined;
    return new ListRefused(
      `the cache of ${this.#name} is not synced: the server has refused to list them for ${Math.round(lastedMs / 1000)} s: ${messageOf(error)}`,
      {cause: error},
    );
  }
}
