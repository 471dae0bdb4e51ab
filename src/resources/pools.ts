// The interfaces by which writes of services allocate and release addresses and node ports. `src/apiserver/allocation`
// implements them.

import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import type {IpFamily} from './ip-family.js';

// The pools that services allocate from. Allocations are visible to all servers of a store, so that an address or port
// is never allocated twice.

/** Why a pool could not allocate. The text is shown to clients. */
export class PoolError extends Error {
  override readonly name = 'PoolError';
}

/** The service an address is allocated for. */
export interface AddressHolder {
  readonly namespace: string;
  readonly name: string;
}

/**
 * The addresses of services. Every method but `sample`, `check` and `allocated` changes shared state, and throws
 * `PoolError` on failure.
 */
export interface AddressPool {
  /** The IP families of this cluster; the first is the default. */
  readonly families: readonly IpFamily[];
  take(address: string, holder: AddressHolder): Promise<void>;
  takeAny(family: IpFamily, holder: AddressHolder): Promise<string>;
  /** Allocates an address for its service, even outside of the ranges. Returns false if it is already allocated. */
  reserve(address: string, holder: AddressHolder): Promise<boolean>;
  /** Returns the objects of all allocated addresses. */
  allocated(): Promise<readonly Readonly<ObjectOf<typeof kinds.ipAddresses>>[]>;
  /** Releases an address. One that is not allocated is ignored. */
  release(address: string): Promise<void>;
  /** Returns an address to show in a dry run. */
  sample(family: IpFamily): string;
  /** Throws unless the address belongs to the pool. */
  check(address: string): Promise<void>;
}

/** The node ports of services, allocated and released by number; throws `PoolError`. */
export interface PortPool {
  take(port: number): Promise<void>;
  takeAny(): Promise<number>;
  release(ports: readonly number[]): Promise<void>;
  isTaken(port: number): Promise<boolean>;
  /** Returns all allocated ports in order. */
  taken(): Promise<readonly number[]>;
}

/**
 * What one write allocates and releases: allocated immediately, released once the write is stored, reverted if it
 * fails. A dry run changes nothing.
 */
export interface Reservation {
  /** The IP families of this cluster; the first is the default. */
  readonly families: readonly IpFamily[];
  /** Allocates an address. Throws `PoolError`, as all the following do. */
  address(address: string, holder: AddressHolder): Promise<void>;
  /** Allocates any address of a family and returns it. */
  anyAddress(family: IpFamily, holder: AddressHolder): Promise<string>;
  port(port: number): Promise<void>;
  anyPort(): Promise<number>;
  releaseAddresses(addresses: readonly string[]): void;
  releasePorts(ports: readonly number[]): void;
}
