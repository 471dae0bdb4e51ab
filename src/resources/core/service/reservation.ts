import type {Allocation, AllocationContext} from '#src/resources/definition.js';
import type {IpFamily} from '#src/resources/ip-family.js';
import {PoolError, type AddressHolder} from '#src/resources/pools.js';

/** Sample ports of dry runs start after this one, or after the highest requested one. */
const sampleBase = 32_768;

/** What one write allocates and releases: allocated immediately, released once the write is stored. A dry run allocates nothing. */
export class Reservation implements Allocation {
  readonly #context: AllocationContext;
  readonly #takenAddresses: string[] = [];
  readonly #takenPorts: number[] = [];
  readonly #spareAddresses: string[] = [];
  readonly #sparePorts: number[] = [];

  constructor(context: AllocationContext) {
    this.#context = context;
  }

  async address(address: string, holder: AddressHolder): Promise<string> {
    const {addresses, dryRun} = this.#context;
    if (dryRun) await addresses.check(address);
    else {
      await addresses.take(address, holder);
      this.#takenAddresses.push(address);
    }
    return address;
  }

  async anyAddress(family: IpFamily, holder: AddressHolder): Promise<string> {
    const {addresses, dryRun} = this.#context;
    if (dryRun) return addresses.sample(family);
    const address = await addresses.takeAny(family, holder);
    this.#takenAddresses.push(address);
    return address;
  }

  async port(port: number): Promise<void> {
    const {nodePorts, dryRun} = this.#context;
    if (!dryRun) await nodePorts.take(port);
    else if (await nodePorts.isTaken(port)) throw new PoolError('provided port is already allocated');
    this.#takenPorts.push(port);
  }

  async anyPort(): Promise<number> {
    const {nodePorts, dryRun} = this.#context;
    const port = dryRun ? (this.#takenPorts.length > 0 ? Math.max(...this.#takenPorts) : sampleBase) + 1 : await nodePorts.takeAny();
    this.#takenPorts.push(port);
    return port;
  }

  releaseAddresses(addresses: readonly string[]): void {
    this.#spareAddresses.push(...addresses);
  }

  releasePorts(ports: readonly number[]): void {
    this.#sparePorts.push(...ports);
  }

  commit(): Promise<void> {
    return this.#give(this.#spareAddresses, this.#sparePorts);
  }

  revert(): Promise<void> {
    return this.#give(this.#takenAddresses, this.#takenPorts);
  }

  async #give(addresses: readonly string[], ports: readonly number[]): Promise<void> {
    if (this.#context.dryRun) return;
    for (const address of addresses) await this.#context.addresses.release(address);
    if (ports.length > 0) await this.#context.nodePorts.release(ports);
  }
}
