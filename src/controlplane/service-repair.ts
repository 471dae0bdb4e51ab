import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {parseTime} from '#src/api/time.js';
import {runEvery, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Client} from '#src/client/client.js';
import {isManagedAddress} from '#src/model/service-range.js';
import type {AddressPool} from '#src/resources/pools.js';
import {heldAddresses, heldPorts, type Service} from '#src/resources/core/service/traits.js';

type IPAddress = ObjectOf<typeof kinds.ipAddresses>;

const periodMs = 180_000;
/** An address without a service may belong to one that is being created. */
const graceMs = 60_000;
/** The number of passes without an owner after which a port is released. */
const passesToConfirm = 3;

/** The assigned node ports. */
export interface AllocatedPorts {
  taken(): Promise<readonly number[]>;
  take(port: number): Promise<void>;
  release(ports: readonly number[]): Promise<void>;
}

/** The assigned addresses, whether or not an IPAddress object exists. */
export type AllocatedAddresses = Pick<AddressPool, 'allocated' | 'reserve' | 'release'>;

export interface RepairParts {
  readonly client: Client;
  readonly addresses: AllocatedAddresses;
  readonly clock: Clock;
  readonly log: Log;
  readonly ports: AllocatedPorts;
}

/**
 * Repairs the pools of addresses and node ports to match the existing services, after crashes between two writes and
 * changes of the ranges.
 */
export class ServiceRepair {
  readonly #parts: RepairParts;
  readonly #leaks = new Map<number, number>();

  constructor(parts: RepairParts) {
    this.#parts = parts;
  }

  /** One pass. */
  async run(): Promise<void> {
    const {items} = await this.#parts.client.resource(kinds.services).list();
    await this.#repairAddresses(items);
    await this.#repairPorts(items);
  }

  /** Runs passes periodically; failures are logged and retried. */
  follow(signal: AbortSignal): void {
    const {clock, log} = this.#parts;
    runEvery(clock, periodMs, signal, async () => {
      try {
        await this.run();
      } catch (error) {
        if (!signal.aborted) log.warn({err: error}, 'addresses and node ports of services could not be compared with the services');
      }
    });
  }

  async #repairAddresses(services: readonly Service[]): Promise<void> {
    const {addresses, log} = this.#parts;
    const held = new Map((await addresses.allocated()).map(object => [object.metadata?.name ?? '', object]));
    for (const service of services) {
      for (const address of heldAddresses(service.spec)) {
        const object = held.get(address);
        held.delete(address);
        if (object) {
          const {namespace, name} = object.spec?.parentRef ?? {};
          if (namespace !== service.metadata?.namespace || name !== service.metadata?.name)
            log.warn({address, service: service.metadata?.name}, 'two services have one address');
          continue;
        }
        log.warn(
          {address, service: service.metadata?.name, namespace: service.metadata?.namespace},
          'took an address that its service alone knew of',
        );
        await addresses.reserve(address, {namespace: service.metadata?.namespace ?? '', name: service.metadata?.name ?? ''});
      }
    }
    for (const object of held.values()) await this.#release(object);
  }

  /** Releases an address without a service, if the server manages it. */
  async #release(object: Readonly<IPAddress>): Promise<void> {
    const {addresses, client, clock, log} = this.#parts;
    const {metadata} = object;
    if (!isManagedAddress(client.naming, object) || clock.now() - (parseTime(metadata?.creationTimestamp) ?? 0) < graceMs) return;
    log.warn({address: metadata?.name}, 'gave back an address that no service has');
    await addresses.release(metadata?.name ?? '');
  }

  async #repairPorts(services: readonly Service[]): Promise<void> {
    const {ports} = this.#parts;
    const used = new Set(services.flatMap(({spec}) => heldPorts(spec)));
    const taken = new Set(await ports.taken());
    for (const port of used) if (!taken.has(port)) await ports.take(port).catch(() => undefined); // One outside the range belongs only to its service.
    const leaked = new Set([...taken].filter(port => !used.has(port)));
    for (const port of this.#leaks.keys()) if (!leaked.has(port)) this.#leaks.delete(port);
    for (const port of leaked) this.#leaks.set(port, (this.#leaks.get(port) ?? 0) + 1);
    const released = [...leaked].filter(port => (this.#leaks.get(port) ?? 0) >= passesToConfirm);
    if (released.length === 0) return;
    await ports.release(released);
    for (const port of released) this.#leaks.delete(port);
  }
}
