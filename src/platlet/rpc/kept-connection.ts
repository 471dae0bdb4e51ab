// Keeps a connection to a plugin open, as long as it lasts.

import {exponential} from '#src/base/backoff.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {PluginClient, type PluginClientParts} from './plugin-client.js';

export interface KeptConnectionParts extends Pick<PluginClientParts, 'endpoint' | 'called'> {
  readonly clock: Clock;
  readonly log: Log;
  /** Called when the plugin has been reached, and when it is lost. */
  changed(): void;
}

const delay = exponential(1000, 120_000, 1.6);

/** Connects at once, and again whenever the connection was lost. */
export class KeptConnection implements AsyncDisposable {
  readonly client: PluginClient;
  readonly #parts: KeptConnectionParts;
  #isConnected = false;
  #isOver = false;
  #failures = 0;
  #retry: Disposable | undefined;

  constructor(parts: KeptConnectionParts) {
    const {changed: _, ...connection} = parts;
    this.#parts = parts;
    this.client = new PluginClient({...connection, closed: () => this.#lost()});
    void this.#connect();
  }

  get isConnected(): boolean {
    return this.#isConnected;
  }

  async #connect(): Promise<void> {
    this.#retry = undefined;
    try {
      await this.client.connect();
    } catch {
      if (!this.#isOver) this.#retry = this.#parts.clock.schedule(delay(this.#failures++), () => this.#connect());
      return;
    }
    if (this.#isOver) return;
    this.#failures = 0;
    this.#isConnected = true;
    this.#parts.changed();
  }

  #lost(): void {
    if (this.#isOver || !this.#isConnected) return;
    this.#isConnected = false;
    this.#parts.changed();
    void this.#connect();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    this.#isConnected = false;
    this.#retry?.[Symbol.dispose]();
    await this.client[Symbol.asyncDispose]();
  }
}
