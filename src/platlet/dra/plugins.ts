// The plugins of drivers of resource claims that are registered with a node. A driver may have several: while it is
// updated, the old and the new one.

import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import type {Plugin, PluginHandler} from '#src/platlet/plugin-watcher/plugin-handler.js';
import {KeptConnection} from '#src/platlet/rpc/kept-connection.js';
import type {PluginClient} from '#src/platlet/rpc/plugin-client.js';
import {pluginServices, type ClaimMessage, type PluginService} from './messages.js';
import type {ClaimMetrics} from './metrics.js';
import type {SliceWiping} from './slice-wiping.js';
import {chosenService} from './versions.js';

export interface ClaimPluginsParts {
  readonly naming: Naming;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: ClaimMetrics;
  /** What is done about drivers without a plugin that can be reached. */
  readonly wiping: Pick<SliceWiping, 'available' | 'lost'>;
  /** Follows the health that a plugin tells of its devices; absent: it is not shown. */
  readonly watchHealth?: (driver: string, client: PluginClient) => Disposable;
}

interface Registered {
  readonly endpoint: string;
  readonly service: PluginService;
  readonly connection: KeptConnection;
  readonly health: Disposable | undefined;
}

const callTimeoutMs = 45_000;

/** The plugins, by driver. */
export class ClaimPlugins implements PluginHandler, AsyncDisposable {
  readonly #parts: ClaimPluginsParts;
  readonly #drivers = new Map<string, readonly Registered[]>();

  constructor(parts: ClaimPluginsParts) {
    this.#parts = parts;
  }

  validate(plugin: Plugin): void {
    this.#serviceOf(plugin);
  }

  #serviceOf({name, endpoint, versions}: Plugin): PluginService {
    try {
      return chosenService(versions, this.#parts.naming);
    } catch (error) {
      throw new Error(`invalid supported gRPC versions of DRA driver plugin ${name} at endpoint ${endpoint}: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }

  register(plugin: Plugin): void {
    const {name: driver, endpoint} = plugin;
    const {clock, log, metrics, watchHealth} = this.#parts;
    const service = this.#serviceOf(plugin);
    const others = this.#drivers.get(driver) ?? [];
    if (others.some(other => other.endpoint === endpoint))
      throw new Error(`endpoint ${endpoint} already registered for DRA driver plugin ${driver}`);
    const connection = new KeptConnection({
      endpoint,
      clock,
      log,
      changed: () => this.#settle(driver),
      called: (path, code, ms) => metrics.called(driver, path, code, ms),
    });
    this.#drivers.set(driver, [...others, {endpoint, service, connection, health: watchHealth?.(driver, connection.client)}]);
    this.#settle(driver);
  }

  async deregister({name: driver, endpoint}: Plugin): Promise<void> {
    const all = this.#drivers.get(driver) ?? [];
    const gone = all.find(plugin => plugin.endpoint === endpoint);
    if (!gone) return;
    const others = all.filter(plugin => plugin !== gone);
    if (others.length > 0) this.#drivers.set(driver, others);
    else this.#drivers.delete(driver);
    this.#settle(driver);
    await end(gone);
  }

  #settle(driver: string): void {
    const {wiping} = this.#parts;
    if (this.#drivers.get(driver)?.some(({connection}) => connection.isConnected)) wiping.available(driver);
    else wiping.lost(driver);
  }

  /** Whether a driver has a plugin that can be reached. Throws if it has none. */
  check(driver: string): void {
    this.#pluginOf(driver);
  }

  /** The newest plugin of a driver, if possible one that can be reached. */
  #pluginOf(driver: string): Registered {
    if (driver === '') throw new Error('DRA driver name is empty');
    const all = this.#drivers.get(driver) ?? [];
    const plugin = all.findLast(({connection}) => connection.isConnected) ?? all.at(-1);
    if (!plugin) throw new Error(`DRA driver ${driver} is not registered`);
    return plugin;
  }

  /** Has a driver prepare claims. Throws `PluginError`. */
  async prepare(driver: string, claims: readonly ClaimMessage[]) {
    const {connection, service} = this.#pluginOf(driver);
    return (await connection.client.call(pluginServices[service].prepare, {claims: [...claims]}, callTimeoutMs)).claims;
  }

  /** Has a driver undo the preparation of claims. Throws `PluginError`. */
  async unprepare(driver: string, claims: readonly ClaimMessage[]) {
    const {connection, service} = this.#pluginOf(driver);
    return (await connection.client.call(pluginServices[service].unprepare, {claims: [...claims]}, callTimeoutMs)).claims;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const all = [...this.#drivers.values()].flat();
    this.#drivers.clear();
    for (const plugin of all) await end(plugin);
  }
}

const end = async ({connection, health}: Registered): Promise<void> => {
  health?.[Symbol.dispose]();
  await connection[Symbol.asyncDispose]();
};
