// Deletes the ResourceSlices of drivers that are gone, since pods that are placed by them would wait on the node.

import {kinds} from '#src/api/kinds/index.js';
import {isNotFound} from '#src/api/status.js';
import {exponential} from '#src/base/backoff.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {jittered, type Random} from '#src/base/random.js';
import {onAbort} from '#src/base/signals.js';
import type {Client} from '#src/client/client.js';

export interface SliceWipingParts {
  readonly client: Client;
  readonly nodeName: string;
  /** Whether the Node exists. */
  isRegistered(): boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** How long a driver may be gone: long enough for a restart of its pod. */
const delayMs = 30_000;
const retryDelay = exponential(1000, 300_000);
/** Stands for all drivers. */
const everything = '';

/** Wipes the slices of drivers that stay away. */
export class SliceWiping {
  readonly #parts: SliceWipingParts;
  /** What is due, by driver. */
  readonly #due = new Map<string, Disposable>();

  constructor(parts: SliceWipingParts) {
    this.#parts = parts;
    onAbort(parts.signal, () => this.#due.forEach(timer => timer[Symbol.dispose]()));
  }

  /** Wipes the slices of all drivers: when the agent starts, none has registered. */
  start(): Promise<void> {
    return this.#wipe(everything, 0);
  }

  /** Called when a driver can be used. */
  available(driver: string): void {
    this.#due.get(driver)?.[Symbol.dispose]();
    this.#due.delete(driver);
  }

  /** Called when a driver cannot be used, however often. */
  lost(driver: string): void {
    const {clock, signal} = this.#parts;
    if (this.#due.has(driver) || signal.aborted) return;
    this.#due.set(
      driver,
      clock.schedule(delayMs, () => this.#wipe(driver, 0)),
    );
  }

  async #wipe(driver: string, failures: number): Promise<void> {
    const {clock, random, log, signal} = this.#parts;
    const timer = this.#due.get(driver);
    const isDone = await this.#delete(driver).catch((error: unknown) => {
      log.info({driver, err: error}, 'deleting ResourceSlices failed, retrying');
      return false;
    });
    // It may have come back in the meantime.
    if (signal.aborted || this.#due.get(driver) !== timer) return;
    if (isDone) this.#due.delete(driver);
    else
      this.#due.set(
        driver,
        clock.schedule(jittered(random, retryDelay(failures), 0.2), () => this.#wipe(driver, failures + 1)),
      );
  }

  /** Returns whether there are no slices any more. */
  async #delete(driver: string): Promise<boolean> {
    const {client, nodeName, isRegistered} = this.#parts;
    if (!isRegistered()) return false;
    const fieldSelector = `${driver === everything ? '' : `spec.driver=${driver},`}spec.nodeName=${nodeName}`;
    await client
      .resource(kinds.resourceSlices)
      .deleteCollection({fieldSelector})
      .catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
    return true;
  }
}
