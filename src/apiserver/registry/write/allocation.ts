import type {KubeObject} from '#src/api/types.js';
import type {AllocationHooks} from '#src/resources/definition.js';
import type {IpFamily} from '#src/resources/ip-family.js';
import {PoolError, type AddressHolder, type Reservation} from '#src/resources/pools.js';
import type {Resource} from '#src/apiserver/registry/resource.js';
import type {WriteContext} from '#src/apiserver/registry/write-context.js';
import type {Pools} from '#src/apiserver/registry/write-services.js';

// The allocation of one write, as a transaction with the store: the kind's definition says what an object needs and no
// longer needs, the pools (`src/apiserver/allocation`) hold what is allocated, and here both follow the outcome of the
// write.

/** Sample ports of dry runs start after this one, or after the highest requested one. */
const sampleBase = 32_768;

/** The reservation of a write, from the server's pools. */
class PoolReservation implements Reservation {
  readonly #pools: Pools;
  readonly #dryRun: boolean;
  readonly #takenAddresses: string[] = [];
  readonly #takenPorts: number[] = [];
  readonly #spareAddresses: string[] = [];
  readonly #sparePorts: number[] = [];

  constructor(pools: Pools, dryRun: boolean) {
    this.#pools = pools;
    this.#dryRun = dryRun;
  }

  get families(): readonly IpFamily[] {
    return this.#pools.addresses.families;
  }

  async address(address: string, holder: AddressHolder): Promise<void> {
    const {addresses} = this.#pools;
    if (this.#dryRun) return addresses.check(address);
    await addresses.take(address, holder);
    this.#takenAddresses.push(address);
  }

  async anyAddress(family: IpFamily, holder: AddressHolder): Promise<string> {
    const {addresses} = this.#pools;
    if (this.#dryRun) return addresses.sample(family);
    const address = await addresses.takeAny(family, holder);
    this.#takenAddresses.push(address);
    return address;
  }

  async port(port: number): Promise<void> {
    const {nodePorts} = this.#pools;
    if (!this.#dryRun) await nodePorts.take(port);
    else if (await nodePorts.isTaken(port)) throw new PoolError('provided port is already allocated');
    this.#takenPorts.push(port);
  }

  async anyPort(): Promise<number> {
    const port = this.#dryRun ? this.#samplePort() : await this.#pools.nodePorts.takeAny();
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

  /** Returns a port to show in a dry run. */
  #samplePort(): number {
    return (this.#takenPorts.length > 0 ? Math.max(...this.#takenPorts) : sampleBase) + 1;
  }

  async #give(addresses: readonly string[], ports: readonly number[]): Promise<void> {
    if (this.#dryRun) return;
    for (const address of addresses) await this.#pools.addresses.release(address);
    if (ports.length > 0) await this.#pools.nodePorts.release(ports);
  }
}

/**
 * Allocates the addresses and ports an object needs and runs `work`, which stores it. What is allocated is kept, and
 * what is no longer needed released, if both succeed; otherwise nothing changes.
 */
export const withAllocation = async <T>(
  allocation: AllocationHooks<KubeObject>,
  resource: Resource,
  object: KubeObject,
  old: Readonly<KubeObject> | undefined,
  {user, dryRun}: WriteContext,
  work: () => Promise<T>,
): Promise<T> => {
  const {pools} = resource.settings.writes;
  const reservation = new PoolReservation(pools, dryRun);
  let done: T;
  try {
    await allocation.allocate(object, old, {...resource.hooks(user), reader: pools.reader, reservation});
    done = await work();
  } catch (error) {
    await reservation.revert();
    throw error;
  }
  await reservation.commit();
  return done;
};

/** Releases the allocations of a removed object, except in a dry run. */
export const releaseAllocated = async (resource: Resource, object: Readonly<KubeObject>, {dryRun}: WriteContext): Promise<void> => {
  const {allocation} = resource.definition;
  if (!allocation?.release || dryRun) return;
  const {pools} = resource.settings.writes;
  const reservation = new PoolReservation(pools, dryRun);
  await allocation.release(object, {reservation, remove: (...address) => pools.remove(...address)});
  await reservation.commit();
};
