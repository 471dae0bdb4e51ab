// The plugins of devices that are connected, and the devices that they report.

import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import type {DeviceCapacity} from '#src/platlet/node/capacity.js';
import {PluginClient} from '#src/platlet/rpc/plugin-client.js';
import {healthy, type Devices} from '#src/platlet/pod/devices/devices.js';
import {devicePlugin, type ContainerAllocation, type PluginOptions, type ReportedDevice} from './messages.js';
import type {PreferenceRequest} from '#src/platlet/pod/devices/choice.js';

export interface DevicePluginsParts {
  readonly clock: Clock;
  readonly log: Log;
}

/** The plugin of a resource. Undefined members: it has not connected since the agent started. */
interface Endpoint {
  readonly client: PluginClient | undefined;
  readonly options: PluginOptions | undefined;
  /** When it was lost; undefined while it is connected. */
  stoppedAt: number | undefined;
}

/** The devices that are reported now, by health. */
interface Counted {
  healthy: ReadonlySet<string>;
  unhealthy: ReadonlySet<string>;
}

/** Called when a plugin has reported its devices, with those before. */
type DevicesReported = (resource: string, before: Devices) => void;

const connectTimeoutMs = 10_000;
const preStartTimeoutMs = 30_000;
/** How long the devices of a lost plugin are counted. */
const graceMs = 300_000;

const nothing: ReadonlySet<string> = new Set();

const reportedDevices = (devices: readonly ReportedDevice[]): Devices =>
  new Map(devices.map(({id, health, topology}) => [id, {health, nodes: topology?.nodes.map(node => node.id)}]));

/** Connects to plugins, and follows their devices. */
export class DevicePlugins implements AsyncDisposable {
  readonly #parts: DevicePluginsParts;
  readonly #endpoints = new Map<string, Endpoint>();
  readonly #counted = new Map<string, Counted>();
  /** Also of plugins that are gone. */
  readonly #devices = new Map<string, Devices>();
  #reported: DevicesReported = () => {};

  constructor(parts: DevicePluginsParts) {
    this.#parts = parts;
  }

  follow(reported: DevicesReported): void {
    this.#reported = reported;
  }

  /** Counts resources whose plugins were connected to an earlier agent process, until they connect again. */
  restore(resources: Iterable<string>): void {
    for (const resource of resources) {
      this.#counted.set(resource, {healthy: nothing, unhealthy: nothing});
      this.#endpoints.set(resource, {client: undefined, options: undefined, stoppedAt: this.#parts.clock.monotonic()});
    }
  }

  /** The resources whose devices are counted. */
  get resources(): Iterable<string> {
    return this.#counted.keys();
  }

  /** The devices that a plugin has reported last. */
  devicesOf(resource: string): Devices {
    return this.#devices.get(resource) ?? new Map();
  }

  /** Returns the healthy devices; undefined if the resource is not that of a plugin. */
  healthyOf(resource: string): ReadonlySet<string> | undefined {
    return this.#counted.get(resource)?.healthy;
  }

  /** Connects to the plugin of a resource, instead of an earlier one. Rejects if it does not answer. */
  async connect(resource: string, socket: string): Promise<void> {
    const {clock, log} = this.#parts;
    const client = new PluginClient({endpoint: socket, clock, connectTimeoutMs, log});
    try {
      const options = await client.call(devicePlugin.options, {});
      const before = this.#endpoints.get(resource)?.client;
      this.#endpoints.set(resource, {client, options, stoppedAt: undefined});
      await before?.[Symbol.asyncDispose]();
      await client.stream(
        devicePlugin.listAndWatch,
        {},
        {
          message: ({devices}) => this.#list(client, resource, devices),
          ended: error => {
            if (this.#endpoints.get(resource)?.client !== client) return;
            log.error({err: error, resource}, 'ListAndWatch ended unexpectedly for device plugin');
            void this.disconnect(resource);
          },
        },
      );
    } catch (error) {
      await client[Symbol.asyncDispose]();
      throw new Error(`failed to get device plugin options: ${messageOf(error)}`, {cause: error});
    }
  }

  #list(client: PluginClient, resource: string, reported: readonly ReportedDevice[]): void {
    if (this.#endpoints.get(resource)?.client !== client) return;
    const before = this.devicesOf(resource);
    const devices = reportedDevices(reported);
    const isHealthy = ([, {health}]: readonly [string, {readonly health: string}]): boolean => health === healthy;
    const ids = (all: readonly (readonly [string, unknown])[]): ReadonlySet<string> => new Set(all.map(([id]) => id));
    this.#devices.set(resource, devices);
    this.#counted.set(resource, {
      healthy: ids([...devices].filter(isHealthy)),
      unhealthy: ids([...devices].filter(device => !isHealthy(device))),
    });
    this.#reported(resource, before);
  }

  /** Ends the connection to the plugin of a resource, whose devices count as unhealthy from now on. */
  async disconnect(resource: string): Promise<void> {
    const endpoint = this.#endpoints.get(resource);
    if (!endpoint || endpoint.stoppedAt !== undefined) return;
    endpoint.stoppedAt = this.#parts.clock.monotonic();
    const {healthy: well = nothing, unhealthy = nothing} = this.#counted.get(resource) ?? {};
    this.#counted.set(resource, {healthy: nothing, unhealthy: new Set([...unhealthy, ...well])});
    await endpoint.client?.[Symbol.asyncDispose]();
  }

  /** Counts the devices, and forgets those of plugins that have been gone for long. */
  count(): DeviceCapacity {
    const capacity = new Map<string, number>();
    const allocatable = new Map<string, number>();
    const removed: string[] = [];
    const now = this.#parts.clock.monotonic();
    for (const [resource, {healthy: well, unhealthy}] of this.#counted) {
      const endpoint = this.#endpoints.get(resource);
      if (!endpoint || (endpoint.stoppedAt !== undefined && now - endpoint.stoppedAt > graceMs)) {
        removed.push(resource);
        this.#endpoints.delete(resource);
        this.#counted.delete(resource);
        continue;
      }
      capacity.set(resource, well.size + unhealthy.size);
      allocatable.set(resource, well.size);
    }
    return {capacity, allocatable, removed};
  }

  /** Returns the devices that a plugin would take; none if it has no preference. */
  async preferred(resource: string, {available, mustInclude, count}: PreferenceRequest): Promise<ReadonlySet<string>> {
    const endpoint = this.#endpoints.get(resource);
    if (!endpoint) throw new Error(`endpoint not found in cache for a registered resource: ${resource}`);
    if (!endpoint.options?.getPreferredAllocationAvailable) return nothing;
    const request = {availableDeviceIds: [...available], mustIncludeDeviceIds: [...mustInclude], allocationSize: count};
    try {
      const {containerResponses} = await connected(resource, endpoint).call(devicePlugin.preferred, {containerRequests: [request]});
      return new Set(containerResponses[0]?.deviceIds);
    } catch (error) {
      throw new Error(`device plugin GetPreferredAllocation rpc failed with err: ${messageOf(error)}`, {cause: error});
    }
  }

  /** Has a plugin prepare devices for a container. */
  async allocate(resource: string, deviceIds: readonly string[]): Promise<ContainerAllocation> {
    const endpoint = this.#endpoints.get(resource);
    if (!endpoint) throw new Error(`unknown Device Plugin ${resource}`);
    const {containerResponses} = await connected(resource, endpoint).call(devicePlugin.allocate, {containerRequests: [{deviceIds}]});
    if (!containerResponses[0]) throw new Error('no containers return in allocation response &AllocateResponse{}');
    return containerResponses[0];
  }

  /** Whether a plugin is to be told before a container starts. */
  wantsPreStart(resource: string): boolean {
    const endpoint = this.#endpoints.get(resource);
    if (!endpoint) throw new Error(`endpoint not found in cache for a registered resource: ${resource}`);
    return endpoint.options?.preStartRequired === true;
  }

  /** Tells a plugin that a container with these devices is to start. */
  async preStart(resource: string, deviceIds: readonly string[]): Promise<void> {
    try {
      await connected(resource, this.#endpoints.get(resource)).call(devicePlugin.preStart, {deviceIds}, preStartTimeoutMs);
    } catch (error) {
      throw new Error(`device plugin PreStartContainer rpc failed with err: ${messageOf(error)}`, {cause: error});
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const clients = [...this.#endpoints.values()].map(({client}) => client);
    this.#endpoints.clear();
    for (const client of clients) await client?.[Symbol.asyncDispose]();
  }
}

/** Returns the client of a plugin. Throws if the plugin is gone. */
const connected = (resource: string, endpoint: Endpoint | undefined): PluginClient => {
  if (!endpoint?.client || endpoint.stoppedAt !== undefined) throw new Error(`endpoint ${resource} has been stopped`);
  return endpoint.client;
};
