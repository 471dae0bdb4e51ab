import type {kinds, ObjectOf} from '#src/api/kinds.js';
import type {IpFamily} from './ip-family.js';

/** Why a pool gave nothing. The text is shown to callers. */
export class PoolError extends Error {
  override readonly name = 'PoolError';
}

/** For whom an address is taken. */
export interface AddressHolder {
  readonly namespace: string;
  readonly name: string;
}

/** The addresses of services. Every method but `sample`, `check` and `held` changes what all servers see, and throws `PoolError` when it cannot. */
export interface AddressPool {
  /** The families that services of this cluster may have; the first is the default. */
  readonly families: readonly IpFamily[];
  take(address: string, holder: AddressHolder): Promise<void>;
  takeAny(family: IpFamily, holder: AddressHolder): Promise<string>;
  /** Holds an address for its service, wherever it lies. False when somebody holds it already. */
  reserve(address: string, holder: AddressHolder): Promise<boolean>;
  /** What holds addresses now. */
  allocated(): Promise<readonly Readonly<ObjectOf<typeof kinds.ipAddresses>>[]>;
  /** Gives an address back. One that nobody holds is passed over. */
  release(address: string): Promise<void>;
  /** An address to show where none may be taken. */
  sample(family: IpFamily): string;
  /** Whether the address belongs to the pool. */
  check(address: string): Promise<void>;
}

/** The ports that every node keeps for services. They are taken and given back by number; throws `PoolError`. */
export interface PortPool {
  take(port: number): Promise<void>;
  takeAny(): Promise<number>;
  release(ports: readonly number[]): Promise<void>;
  isTaken(port: number): Promise<boolean>;
  /** All that are taken, in order. */
  taken(): Promise<readonly number[]>;
}
