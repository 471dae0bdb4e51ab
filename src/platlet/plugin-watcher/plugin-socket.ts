// One socket in the folder of plugins: what is there, and what is registered.

import {exponential} from '#src/base/backoff.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {PluginClient} from '#src/platlet/rpc/plugin-client.js';
import type {Plugin, PluginHandler, PluginHandlers, PluginType} from './plugin-handler.js';
import {getInfo, notifyRegistrationStatus} from './registration.js';

export interface PluginSocketParts {
  readonly path: string;
  readonly handlers: PluginHandlers;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

interface Registered {
  readonly version: number;
  readonly plugin: Plugin;
  readonly handler: PluginHandler;
}

const connectTimeoutMs = 10_000;
const infoTimeoutMs = 1_000;
const notifyTimeoutMs = 5_000;
const retryDelay = exponential(500, 122_000);

/** Registers the plugin of a socket, and again whenever the socket is another one. */
export class PluginSocket {
  readonly #parts: PluginSocketParts;
  /** Which socket is there; undefined: none. */
  #wanted: number | undefined;
  #registered: Registered | undefined;
  #isBusy = false;
  #failures = 0;
  #retry: Disposable | undefined;

  constructor(parts: PluginSocketParts) {
    this.#parts = parts;
  }

  /** Whether there is nothing left to do for a socket that is gone. */
  get isOver(): boolean {
    return this.#wanted === undefined && this.#registered === undefined && !this.#isBusy;
  }

  /** Whether a plugin is to be registered. */
  get isWanted(): boolean {
    return this.#wanted !== undefined;
  }

  /** Whether a plugin is registered, even if it could not be used. */
  get isRegistered(): boolean {
    return this.#registered !== undefined;
  }

  /** Tells which socket is there: a new socket at the same path has another number. */
  found(version: number | undefined): void {
    this.#wanted = version;
    void this.#settle();
  }

  async #settle(): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    while (!this.#parts.signal.aborted) {
      if (this.#registered && this.#registered.version !== this.#wanted) await this.#deregister(this.#registered);
      else if (this.#wanted !== undefined && !this.#registered && !this.#retry) await this.#tryRegister(this.#wanted);
      else break;
    }
    this.#isBusy = false;
  }

  async #deregister({plugin, handler}: Registered): Promise<void> {
    this.#registered = undefined;
    try {
      await handler.deregister(plugin);
    } catch (error) {
      this.#parts.log.error({err: error, plugin: plugin.name}, 'failed to deregister a plugin');
    }
  }

  async #tryRegister(version: number): Promise<void> {
    const {path, clock, log} = this.#parts;
    try {
      await this.#register(version);
      this.#failures = 0;
    } catch (error) {
      log.error({err: error, path}, 'failed to register a plugin');
      if (this.#registered) return;
      this.#retry = clock.schedule(retryDelay(this.#failures++), () => {
        this.#retry = undefined;
        return this.#settle();
      });
    }
  }

  /** Rejects if the plugin is not registered, or does not take the answer. */
  async #register(version: number): Promise<void> {
    const {path, handlers, clock, log} = this.#parts;
    await using client = new PluginClient({endpoint: path, clock, connectTimeoutMs, log});
    const {type, name, endpoint, supportedVersions: versions} = await client.call(getInfo, {}, infoTimeoutMs);
    const plugin = {name, endpoint: endpoint === '' ? path : endpoint, versions};
    const handler = Object.hasOwn(handlers, type) ? handlers[type as PluginType] : undefined;
    if (!handler) return await refuse(client, `no handler registered for plugin type: ${type} at socket ${path}`);
    try {
      await handler.validate(plugin);
    } catch (error) {
      return await refuse(client, `plugin validation failed with err: ${messageOf(error)}`, error);
    }
    this.#registered = {version, plugin, handler};
    try {
      await handler.register(plugin);
    } catch (error) {
      return await refuse(client, `plugin registration failed with err: ${messageOf(error)}`, error);
    }
    await client.call(notifyRegistrationStatus, {pluginRegistered: true}, notifyTimeoutMs);
  }

  [Symbol.dispose](): void {
    this.#retry?.[Symbol.dispose]();
  }
}

/** Tells a plugin why it is not registered, and rejects with that. */
const refuse = async (client: PluginClient, reason: string, cause?: unknown): Promise<never> => {
  const error = `RegisterPlugin error -- ${reason}`;
  await client.call(notifyRegistrationStatus, {pluginRegistered: false, error}, notifyTimeoutMs);
  throw new Error(error, {cause});
};
