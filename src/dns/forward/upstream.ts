import type {Clock} from '#src/base/clock.js';
import {serverText, type ServerAddress} from './servers.js';

export interface UpstreamParts {
  readonly clock: Clock;
  /** Sends a query that any resolver answers; rejects if there is no response. */
  probe(server: ServerAddress): Promise<unknown>;
  /** Called when a probe had no response. */
  onFailure(server: string): void;
}

/** How long after one probe the next one is sent. */
const probeIntervalMs = 500;

/** So many probes have to fail in a row until a resolver counts as down. */
const maxFails = 2;

/**
 * One resolver, and whether it responds. It is probed from the first query that it does not answer until it answers a
 * probe.
 */
export class Upstream {
  readonly server: ServerAddress;
  /** Its address and port, as in logs and metrics. */
  readonly text: string;
  readonly #parts: UpstreamParts;
  #fails = 0;
  #isProbing = false;
  #isStopped = false;
  #timer: Disposable | undefined;

  constructor(server: ServerAddress, parts: UpstreamParts) {
    this.server = server;
    this.text = serverText(server);
    this.#parts = parts;
  }

  get isDown(): boolean {
    return this.#fails > maxFails;
  }

  /** Begins to probe the resolver, after a query that failed. */
  check(): void {
    if (this.#isProbing || this.#isStopped) return;
    this.#isProbing = true;
    void this.#probe();
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.[Symbol.dispose]();
  }

  async #probe(): Promise<void> {
    const {clock, probe, onFailure} = this.#parts;
    try {
      await probe(this.server);
      this.#fails = 0;
      this.#isProbing = false;
    } catch {
      if (this.#isStopped) return;
      this.#fails++;
      onFailure(this.text);
      this.#timer = clock.schedule(probeIntervalMs, () => this.#probe());
    }
  }
}
