// The CSI drivers that are registered with a node.

import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {onAbort} from '#src/base/signals.js';
import {CsiClient} from './client.js';
import type {StorageMetrics} from './metrics.js';
import type {DriverNodeInfo} from './node-info.js';
import type {NodePublication} from './node-publication.js';
import {procedures} from './procedures.js';
import {highestVersion, type DriverVersion} from './versions.js';

export interface CsiDriversParts {
  /** Where drivers are shown; undefined for an agent without an API server. */
  readonly publication: Pick<NodePublication, 'install' | 'update' | 'uninstall'> | undefined;
  /** The prefix of messages: the name of the volume type. */
  readonly type: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: StorageMetrics;
  readonly signal: AbortSignal;
}

interface Driver {
  readonly client: CsiClient;
  readonly version: DriverVersion;
}

/** The registered drivers and their clients. */
export class CsiDrivers {
  readonly #parts: CsiDriversParts;
  readonly #drivers = new Map<string, Driver>();
  readonly #listeners = new Set<(driver: string) => void>();

  constructor(parts: CsiDriversParts) {
    this.#parts = parts;
    onAbort(parts.signal, () => {
      for (const name of this.#drivers.keys()) this.#forget(name);
    });
  }

  /** Throws if a driver cannot be registered. */
  validate(name: string, socket: string, versions: readonly string[]): void {
    try {
      this.#versionOf('ValidatePlugin', name, versions);
    } catch (error) {
      throw new Error(`validation failed for CSI Driver ${name} at endpoint ${socket}: ${messageOf(error)}`, {cause: error});
    }
  }

  /** Registers a driver and shows it. Rejects, with the driver not registered, if it or the API server fails. */
  async register(name: string, socket: string, versions: readonly string[]): Promise<void> {
    const {clock, log, metrics, publication} = this.#parts;
    const version = this.#versionOf('RegisterPlugin', name, versions);
    this.#forget(name);
    this.#drivers.set(name, {client: new CsiClient({driver: name, socket, clock, log, metrics}), version});
    try {
      await publication?.install(await this.#infoOf(name));
    } catch (error) {
      await this.#uninstall(name);
      throw error;
    }
    this.#changed(name);
  }

  /** Called when a driver is gone. */
  async unregister(name: string): Promise<void> {
    await this.#uninstall(name);
    this.#changed(name);
  }

  /** Asks a driver again what its node can have, and shows it. */
  async refresh(name: string): Promise<void> {
    await this.#parts.publication?.update(await this.#infoOf(name));
  }

  isRegistered(name: string): boolean {
    return this.#drivers.has(name);
  }

  /** Returns the client of a driver. Throws if it is not registered. */
  client(name: string): CsiClient {
    const found = this.#drivers.get(name);
    if (!found) throw new Error(`driver name ${name} not found in the list of registered CSI drivers`);
    return found.client;
  }

  /** Calls back after a driver has been registered or unregistered. */
  onChange(listener: (driver: string) => void): void {
    this.#listeners.add(listener);
  }

  async #infoOf(driver: string): Promise<DriverNodeInfo> {
    const {nodeId, maxVolumesPerNode, accessibleTopology} = await this.client(driver).call(procedures.info, {});
    return {driver, nodeId, maxVolumes: maxVolumesPerNode, topology: {...accessibleTopology?.segments}};
  }

  #versionOf(caller: string, name: string, versions: readonly string[]): DriverVersion {
    const failed = `${this.#parts.type}: ${caller} for CSI driver ${JSON.stringify(name)} failed.`;
    if (versions.length === 0) throw new Error(`${failed} Plugin returned an empty list for supported versions`);
    let version: DriverVersion;
    try {
      version = highestVersion(versions);
    } catch (error) {
      const listed = versions.map(text => JSON.stringify(text)).join(' ');
      throw new Error(`${failed} None of the versions specified [${listed}] are supported. err=${messageOf(error)}`, {cause: error});
    }
    const existing = this.#drivers.get(name)?.version;
    if (existing && !existing.isBelow(version))
      throw new Error(
        `${failed} Another driver with the same name is already registered with a higher supported version: ${JSON.stringify(existing.text)}`,
      );
    return version;
  }

  async #uninstall(name: string): Promise<void> {
    const {log, publication} = this.#parts;
    this.#forget(name);
    await publication?.uninstall(name).catch((error: unknown) => log.error({driver: name, err: error}, 'failed to uninstall a CSI driver'));
  }

  #forget(name: string): void {
    const {clock} = this.#parts;
    const found = this.#drivers.get(name);
    this.#drivers.delete(name);
    found?.client[Symbol.asyncDispose]().catch((error: unknown) => clock.unhandled(error));
  }

  #changed(name: string): void {
    for (const listener of this.#listeners) listener(name);
  }
}
