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

/** Listens at every address, or at none: rejects with the reason if one of them cannot be used. */
export const listenForQueries = async (addresses: readonly string[], options: ListenOptions): Promise<readonly BoundAddress[]> => {
  await using undo = new Undo();
  const bound: BoundAddress[] = [];
  for (const address of addresses) {
    try {
      const one = await listenAt(address, options);
      undo.defer(() => one.close());
      bound.push(one);
    } catch (cause) {
      const {code = (cause as Error).message} = cause as NodeJS.ErrnoException;
      throw new Error(`cannot listen for DNS queries at ${address} port ${options.port}: ${code}`, {cause});
    }
  }
  undo.move();
  return bound;
};
