// The sockets at which queries arrive: one for datagrams and one for connections at each address.

import type {Log} from '#src/base/log.js';
import {Undo} from '#src/base/undo.js';
import type {BoundAddress, Respond} from './respond.js';
import {listenTcp, type TcpLimits} from './tcp.js';
import {bindUdp} from './udp.js';

export interface ListenOptions extends TcpLimits {
  /** The port of all addresses; 0 selects a free one for each. */
  readonly port: number;
  readonly log: Log;
  /** Returns what answers the queries that arrive at an address. */
  respondAt(address: string, port: number): Respond;
}

/** So many free ports are tried until one is free for both protocols. */
const maxTries = 10;

const listenAt = async (address: string, options: ListenOptions): Promise<BoundAddress> => {
  for (let attempt = 1; ; attempt++) {
    await using undo = new Undo();
    const udp = await bindUdp({address, port: options.port}, options.log);
    undo.defer(() => udp.close());
    const {port} = udp;
    const respond = options.respondAt(address, port);
    try {
      const tcp = await listenTcp({address, port}, respond, options);
      udp.serve(respond);
      undo.move();
      return {address, port, close: async () => void (await Promise.all([udp.close(), tcp.close()]))};
    } catch (error) {
      if (options.port !== 0 || attempt >= maxTries) throw error;
    }
  }
};

/**
 * What an address is that this host has not, or not yet: one of IPv6 is looked for on the network before it is used.
 */
const notHere = 'EADDRNOTAVAIL';

/** The addresses at which queries are answered. */
export class QueryListeners {
  readonly #options: ListenOptions;
  readonly #open = new Map<string, BoundAddress>();
  /** Those that could not be used when it was tried last. */
  #failed = new Map<string, string>();

  constructor(options: ListenOptions) {
    this.#options = options;
  }

  get bound(): readonly BoundAddress[] {
    return [...this.#open.values()];
  }

  /**
   * Listens at these addresses alone. Rejects with the reason if one that is required cannot be used, or no address
   * can; others that this host does not have are left out.
   */
  async use(addresses: readonly string[], isRequired: (address: string) => boolean): Promise<void> {
    const failed = new Map<string, string>();
    for (const [address, each] of this.#open) {
      if (addresses.includes(address)) continue;
      this.#open.delete(address);
      await each.close();
    }
    for (const address of addresses) {
      if (this.#open.has(address)) continue;
      try {
        this.#open.set(address, await listenAt(address, this.#options));
      } catch (cause) {
        const {code = (cause as Error).message} = cause as NodeJS.ErrnoException;
        const message = `cannot listen for DNS queries at ${address} port ${this.#options.port}: ${code}`;
        if (code !== notHere || isRequired(address)) throw new Error(message, {cause});
        failed.set(address, message);
        if (!this.#failed.has(address)) this.#options.log.warn({address}, 'an address of this host cannot be listened at yet');
      }
    }
    this.#failed = failed;
    const [first] = failed.values();
    if (this.#open.size === 0 && first !== undefined) throw new Error(first);
  }

  async close(): Promise<void> {
    const open = this.bound;
    this.#open.clear();
    await Promise.all(open.map(each => each.close()));
  }
}
