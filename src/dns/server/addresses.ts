import {networkInterfaces} from 'node:os';
import {isLoopback} from '#src/base/ip-address.js';

/** The addresses of this host, by port. */
export interface HostAddresses {
  (): readonly {readonly address: string; readonly family: 4 | 6; readonly internal: boolean}[];
}

/** The addresses of this host's interfaces. Those of IPv6 that are valid on one link alone are left out. */
export const hostAddresses: HostAddresses = () =>
  Object.values(networkInterfaces())
    .flatMap(each => each ?? [])
    .filter(({address}) => !address.startsWith('fe80:'))
    .map(({address, family, internal}) => ({address, family: family === 'IPv6' ? 6 : 4, internal}));

const anyFamily = new Set(['', '::']);

/** Whether an address stands for all of a host. */
const isWildcard = (address: string): boolean => anyFamily.has(address) || address === '0.0.0.0';

/**
 * The addresses to listen at. One that stands for all is replaced by all of them, each of which then has a socket of
 * its own: a datagram leaves one socket of all addresses with the address of its route, which the client that asked at
 * another one does not take.
 */
export class OwnAddresses {
  readonly #given: readonly string[];
  readonly #host: HostAddresses;
  #last: readonly string[] = [];
  /** How often they have changed. */
  changes = 0;

  constructor(given: readonly string[], host: HostAddresses) {
    this.#given = given;
    this.#host = host;
    this.look();
  }

  /** Whether the addresses are those of the host, and change with it. */
  get haveWildcard(): boolean {
    return this.#given.some(isWildcard);
  }

  /** Those that other hosts can reach, as it was looked last. */
  get reachable(): readonly string[] {
    return this.#last.filter(address => !isLoopback(address));
  }

  /** Whether an address was named, and does not come from one that stands for all. */
  isGiven(address: string): boolean {
    return this.#given.includes(address);
  }

  /** Looks which addresses the host has now. */
  look(): readonly string[] {
    const all = this.#given.flatMap(address => {
      if (!isWildcard(address)) return [address];
      return this.#host()
        .filter(({family}) => family === 4 || anyFamily.has(address))
        .map(each => each.address);
    });
    const found = [...new Set(all)];
    if (found.join() !== this.#last.join()) this.changes++;
    return (this.#last = found);
  }
}

/** The server at an address, as in the metrics of CoreDNS. */
export const serverName = (address: string, port: number): string =>
  `dns://${isWildcard(address) ? '' : address.includes(':') ? `[${address}]` : address}:${port}`;
