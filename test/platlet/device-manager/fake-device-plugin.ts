import {PluginClient} from '#src/platlet/rpc/plugin-client.js';
import type {Clock} from '#src/base/clock.js';
import {devicePlugin, register, type ContainerAllocation, type PluginOptions} from '#src/platlet/device-manager/messages.js';
import type {Draft} from '#src/platlet/rpc/codec.js';
import {serves} from '#src/platlet/rpc/served.js';
import type {GrpcServer, Serve} from '#src/transport/grpc/server.js';
import {serveAt, streams} from '#test/platlet/plugins/fake-plugin.js';

/** A device as a test writes it: its id, its health and its NUMA nodes. */
export type TestDevice = readonly [id: string, health?: string, nodes?: readonly number[]];

/** A device plugin with a real socket. Tests change what it reports and answers. */
export class FakeDevicePlugin implements AsyncDisposable {
  readonly socket: string;
  options: Draft<PluginOptions> = {};
  /** What containers get with devices. */
  allocation: (ids: readonly string[]) => Draft<ContainerAllocation> | Promise<Draft<ContainerAllocation>> = ids => ({
    envs: {DEVICES: ids.join()},
  });
  preferred: (available: readonly string[], mustInclude: readonly string[], size: number) => readonly string[] = () => [];
  /** What was asked of it. */
  readonly calls: string[] = [];
  #devices: readonly TestDevice[];
  readonly #listeners = new Set<() => void>();
  #server: GrpcServer | undefined;

  constructor(socket: string, devices: readonly TestDevice[]) {
    this.socket = socket;
    this.#devices = devices;
  }

  get procedures(): Readonly<Record<string, Serve>> {
    return {
      ...serves(devicePlugin.options, () => this.options),
      ...streams(devicePlugin.listAndWatch, (_, send, {signal}) => {
        const report = (): void =>
          send({
            devices: this.#devices.map(([id, health = 'Healthy', nodes]) => ({
              id,
              health,
              ...(nodes ? {topology: {nodes: nodes.map(node => ({id: node}))}} : {}),
            })),
          });
        report();
        this.#listeners.add(report);
        return new Promise(resolve => signal.addEventListener('abort', () => (this.#listeners.delete(report), resolve())));
      }),
      ...serves(devicePlugin.preferred, ({containerRequests: [{availableDeviceIds, mustIncludeDeviceIds, allocationSize} = none]}) => {
        this.calls.push(`prefer ${allocationSize} of ${availableDeviceIds.join()} with ${mustIncludeDeviceIds.join()}`);
        return {containerResponses: [{deviceIds: [...this.preferred(availableDeviceIds, mustIncludeDeviceIds, allocationSize)]}]};
      }),
      ...serves(devicePlugin.allocate, async ({containerRequests: [{deviceIds} = {deviceIds: []}]}) => {
        this.calls.push(`allocate ${deviceIds.join()}`);
        return {containerResponses: [await this.allocation(deviceIds)]};
      }),
      ...serves(devicePlugin.preStart, ({deviceIds}) => {
        this.calls.push(`start ${deviceIds.join()}`);
        return {};
      }),
    };
  }

  async listen(): Promise<this> {
    this.#server = await serveAt(this.socket, this.procedures);
    return this;
  }

  /** Reports other devices. */
  report(...devices: readonly TestDevice[]): void {
    this.#devices = devices;
    for (const report of this.#listeners) report();
  }

  /** Registers at the socket of an agent. */
  async register(agent: string, clock: Clock, resourceName: string, version = 'v1beta1'): Promise<void> {
    await using client = new PluginClient({endpoint: agent, clock});
    await client.call(register, {version, endpoint: this.socket.slice(this.socket.lastIndexOf('/') + 1), resourceName});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.[Symbol.asyncDispose]();
    this.#server = undefined;
  }
}

const none = {availableDeviceIds: [], mustIncludeDeviceIds: [], allocationSize: 0};
