// Keeps the Lease of a node renewed.

import type {Frozen} from '#src/api/key.js';
import type {Lease, Node} from '#src/api/types.js';
import {exponential} from '#src/base/backoff.js';
import {runEvery, withClockHeld, sleep, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {jittered, type Random} from '#src/base/random.js';
import type {Client} from '#src/client/client.js';
import {renewLease} from './lease.js';

export interface NodeLeaseParts {
  /** A separate client for heartbeats, so that they do not wait for other requests. */
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly name: string;
  readonly seconds: number;
  /** Returns the Node from the informer: the owner of the Lease. */
  registered(): Frozen<Node> | undefined;
}

/** The retry backoff of node updates. */
export const retryDelay = exponential(100, 7_000);
/** The jitter of periodic node updates. */
export const periodJitter = 0.04;

/** The Lease of a node. */
export class NodeLease {
  readonly #parts: NodeLeaseParts;
  #lease: Lease | undefined;

  constructor(parts: NodeLeaseParts) {
    this.#parts = parts;
  }

  /** Renews the Lease until the signal aborts, in a separate loop, so that nothing delays it. */
  follow(): void {
    const {clock, random, signal, seconds} = this.#parts;
    const period = jittered(random, seconds * 250, periodJitter);
    void this.#renew();
    runEvery(clock, period, signal, () => this.#renew());
  }

  async #renew(): Promise<void> {
    const {client, clock, log, signal, name, seconds, registered} = this.#parts;
    if (signal.aborted) return;
    for (let attempt = 0; attempt < 5 && !signal.aborted; attempt++) {
      try {
        this.#lease = await withClockHeld(clock, () => renewLease({client, clock, name, seconds}, registered(), this.#lease));
        return;
      } catch (error) {
        if (!signal.aborted) log.error({err: error}, 'failed to update lease');
      }
      if (!this.#lease) await sleep(clock, retryDelay(attempt), signal).catch(() => {});
    }
  }
}
