// Delays the shutdown of the machine until the pods of the node have ended.

import {messageOf} from '#src/base/message.js';
import {sleep, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {onAbort} from '#src/base/signals.js';
import {formatDuration} from '#src/api/duration.js';
import type {Logind} from './logind.js';

/** The node that is shut down. */
export interface ShutdownNode {
  /** Records an event about the node. */
  event(message: string): void;
  /** The node is shutting down, or not any more: it says so, and refuses pods. */
  shutsDown(isShuttingDown: boolean): void;
  /** Ends its pods. */
  endPods(): Promise<void>;
}

export interface ShutdownManagerParts {
  readonly logind: Logind;
  readonly node: ShutdownNode;
  /** How long the pods may take in all. */
  readonly totalMs: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

const reconnectMs = 1_000;
const delayAttempts = 5;
const firstDelayMs = 100;

export class ShutdownManager {
  readonly #parts: ShutdownManagerParts;
  #lock: Disposable | undefined;
  #watch: Disposable | undefined;
  /** What logind announces is dealt with one after the other. */
  #last: Promise<void> = Promise.resolve();

  constructor(parts: ShutdownManagerParts) {
    this.#parts = parts;
  }

  /** Begins to wait for shutdowns. Rejects if logind cannot be asked; it is asked again only if it could once. */
  async start(): Promise<void> {
    onAbort(this.#parts.signal, () => this.#release());
    await this.#begin();
  }

  async #begin(): Promise<void> {
    const {logind, signal} = this.#parts;
    await this.#ensureDelay();
    await this.#acquire();
    try {
      this.#watch = await logind.watch({
        prepares: isShuttingDown => {
          this.#last = this.#last.then(() => this.#prepare(isShuttingDown));
        },
        ended: message => this.#ended(message),
      });
    } catch (error) {
      this.#release();
      throw error;
    }
    if (signal.aborted) this.#release();
  }

  #ended(message: string): void {
    const {clock, log, signal} = this.#parts;
    if (!this.#watch || signal.aborted) return;
    this.#watch = undefined;
    log.error({reason: message}, 'shutdowns of the machine are not heard any more');
    void this.#beginAgain().catch((error: unknown) => {
      if (!signal.aborted) clock.unhandled(error);
    });
  }

  async #beginAgain(): Promise<void> {
    const {clock, log, signal} = this.#parts;
    while (!this.#watch) {
      await sleep(clock, reconnectMs, signal);
      log.v(1).info('listening again for shutdowns of the machine');
      await this.#begin().catch((error: unknown) => log.error({err: error}, 'unable to watch the node for shutdown events'));
    }
  }

  /** Makes logind wait as long as the pods may take. */
  async #ensureDelay(): Promise<void> {
    const {logind, totalMs, clock, log, signal} = this.#parts;
    if ((await logind.inhibitDelay()) >= totalMs) return;
    try {
      await logind.overrideInhibitDelay(totalMs);
    } catch (error) {
      throw new Error(`unable to override inhibit delay by shutdown manager: ${messageOf(error)}`, {cause: error});
    }
    await logind.reload();
    let delayMs = 0;
    for (let attempt = 1; attempt <= delayAttempts; attempt++) {
      delayMs = await logind.inhibitDelay();
      if (delayMs >= totalMs) return;
      if (attempt === delayAttempts) break;
      log.v(3).info({attempt, currentMs: delayMs, requestedMs: totalMs}, 'InhibitDelayMaxSec still less than requested, retrying');
      await sleep(clock, firstDelayMs * 2 ** (attempt - 1), signal);
    }
    throw new Error(
      `node shutdown manager was timed out after ${delayAttempts} attempts waiting for logind InhibitDelayMaxSec to update to ${formatDuration(totalMs)} (ShutdownGracePeriod), current value is ${formatDuration(delayMs)}`,
    );
  }

  async #acquire(): Promise<void> {
    const before = this.#lock;
    this.#lock = await this.#parts.logind.inhibitShutdown();
    before?.[Symbol.dispose]();
  }

  #release(): void {
    this.#lock?.[Symbol.dispose]();
    this.#lock = undefined;
    if (!this.#parts.signal.aborted) return;
    this.#watch?.[Symbol.dispose]();
    this.#watch = undefined;
  }

  async #prepare(isShuttingDown: boolean): Promise<void> {
    const {node, log, signal} = this.#parts;
    if (signal.aborted) return;
    log.v(1).info({isShuttingDown}, 'logind announces a shutdown, or that it was cancelled');
    node.event(`Shutdown manager detected ${isShuttingDown ? 'shutdown event' : 'shutdown cancellation'}`);
    node.shutsDown(isShuttingDown);
    try {
      if (!isShuttingDown) return await this.#acquire();
      await node.endPods();
    } catch (error) {
      log.error({err: error}, 'failed to handle the shutdown of the machine');
    } finally {
      if (isShuttingDown) this.#releaseForShutdown();
    }
  }

  #releaseForShutdown(): void {
    this.#lock?.[Symbol.dispose]();
    this.#lock = undefined;
    this.#parts.log.v(1).info('the pods have ended: the machine shuts down');
  }
}
