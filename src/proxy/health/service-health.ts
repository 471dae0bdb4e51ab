// The ports on which load balancers ask whether a service has endpoints on the node.

import type {ApiResponse} from '#src/api/request.js';
import type {Log} from '#src/base/log.js';
import type {EventRecorder} from '#src/runtime/events/events.js';
import {messageOf} from '#src/base/message.js';
import type {HealthChecks} from '#src/proxy/mode/hooks.js';
import type {IpFamily} from '#src/proxy/state/ip-family.js';
import {healthResponse} from './health-responses.js';
import type {Naming} from '#src/api/naming.js';

/** Serves plain HTTP on a port of an address. */
export interface OpenPort {
  (address: string, port: number, respond: () => ApiResponse): Promise<{close(): Promise<void>}>;
}

export interface ServiceHealthParts {
  readonly nodeName: string;
  readonly naming: Naming;
  readonly events: EventRecorder;
  readonly log: Log;
  readonly openPort: OpenPort;
  /** The addresses of a family to listen on; undefined for all addresses of the node. */
  addresses(family: IpFamily): readonly string[] | undefined;
  /** Whether the proxy keeps up with changes. */
  isProxyHealthy(): boolean;
}

/** The wildcard address. It stands for both families. */
const anyAddress = '0.0.0.0';

/** A port that is open. */
interface Served {
  readonly port: number;
  readonly addresses: readonly string[];
  close(): Promise<void>;
}

/** Serves the checks of all services, whose ports both families share. */
export class ServiceHealth implements AsyncDisposable {
  readonly #parts: ServiceHealthParts;
  readonly #checks = new Map<IpFamily, HealthChecks>();
  readonly #served = new Map<string, Served>();
  #work: Promise<void> = Promise.resolve();

  constructor(parts: ServiceHealthParts) {
    this.#parts = parts;
  }

  /** Makes the open ports those of the services, and the answers those of their endpoints. */
  async update(family: IpFamily, checks: HealthChecks): Promise<void> {
    this.#checks.set(family, checks);
    this.#work = this.#work.then(() => this.#sync());
    await this.#work;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#checks.clear();
    this.#work = this.#work.then(() => this.#sync());
    await this.#work;
  }

  async #sync(): Promise<void> {
    const wanted = this.#wanted();
    for (const [service, served] of this.#served) {
      const now = wanted.get(service);
      if (now?.port === served.port && now.addresses.join() === served.addresses.join()) continue;
      this.#served.delete(service);
      this.#parts.log.v(2).info({service, port: served.port}, 'closing a health check');
      await served.close();
    }
    for (const [service, {port, addresses}] of wanted) {
      if (this.#served.has(service)) continue;
      this.#parts.log.v(2).info({service, port}, 'opening a health check');
      await this.#open(service, port, addresses);
    }
  }

  /** The ports of services, with the addresses of the families in which they have one. */
  #wanted(): Map<string, {readonly port: number; readonly addresses: readonly string[]}> {
    const wanted = new Map<string, {readonly port: number; readonly addresses: readonly string[]}>();
    for (const [family, {ports}] of this.#checks) {
      const own = this.#parts.addresses(family) ?? [anyAddress];
      for (const [service, port] of ports) {
        const all = [...new Set([...(wanted.get(service)?.addresses ?? []), ...own])].sort();
        wanted.set(service, {port, addresses: all.includes(anyAddress) ? [anyAddress] : all});
      }
    }
    return wanted;
  }

  async #open(service: string, port: number, addresses: readonly string[]): Promise<void> {
    const {nodeName, naming, events, log, openPort} = this.#parts;
    const open: {close(): Promise<void>}[] = [];
    const close = async (): Promise<void> => {
      await Promise.all(open.map(each => each.close()));
    };
    try {
      for (const address of addresses) open.push(await openPort(address, port, () => this.#respond(service)));
      this.#served.set(service, {port, addresses, close});
    } catch (error) {
      await close();
      log.error({err: error, node: nodeName, service, port}, 'failed to start a health check');
      const [namespace = '', name = ''] = service.split('/');
      const regarding = {apiVersion: naming.apiVersion('', 'v1'), kind: 'Service', metadata: {namespace, name}};
      const message = `node ${nodeName} failed to start healthcheck ${JSON.stringify(service)} on port ${port}: ${messageOf(error)}`;
      events.warning(regarding, 'FailedToStartServiceHealthcheck', message);
    }
  }

  #respond(service: string): ApiResponse {
    const [namespace, name] = service.split('/');
    const counts = [...this.#checks.values()].map(({localEndpoints}) => localEndpoints.get(service) ?? 0);
    const localEndpoints = Math.max(0, ...counts);
    const serviceProxyHealthy = this.#parts.isProxyHealthy();
    const body = JSON.stringify({service: {namespace, name}, localEndpoints, serviceProxyHealthy}, undefined, '\t');
    return healthResponse(localEndpoints > 0 && serviceProxyHealthy, body, {'X-Load-Balancing-Endpoint-Weight': String(localEndpoints)});
  }
}
