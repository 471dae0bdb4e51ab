// Sends one query to a resolver and waits for its response: the sockets of forwarding.

import {createSocket} from 'node:dgram';
import {connect, isIP} from 'node:net';
import type {Clock} from '#src/base/clock.js';
import {confineErrors} from '#src/base/emitters/confined.js';
import {onAbort} from '#src/base/signals.js';
import type {ServerAddress} from './servers.js';

export interface ExchangeOptions<T> {
  readonly transport: 'udp' | 'tcp';
  readonly timeoutMs: number;
  /** Returns what a received message says; undefined for one that is not the response. */
  accept(bytes: Buffer): T | undefined;
}

/** Sends queries to resolvers. */
export interface Exchanges {
  /** Resolves with the response, or rejects if there is none in time. */
  exchange<T>(server: ServerAddress, query: Buffer, options: ExchangeOptions<T>): Promise<T>;
}

interface Surroundings {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** A response that did not come, and from whom. */
const failure = (server: ServerAddress, what: string): Error => new Error(`the resolver ${server.address} ${what}`);

/** What a socket of one exchange may do. */
interface Attempt<T> {
  done(value: T): void;
  failed(error: Error): void;
}

/** Runs an exchange until it is done, failed or timed out, and then closes its socket. */
const within = async <T>(
  {clock, signal}: Surroundings,
  server: ServerAddress,
  timeoutMs: number,
  open: (attempt: Attempt<T>) => () => void,
): Promise<T> => {
  const undo: (() => void)[] = [];
  try {
    return await new Promise<T>((resolve, reject) => {
      const timer = clock.schedule(timeoutMs, () => reject(failure(server, 'did not respond in time')));
      undo.push(() => timer[Symbol.dispose]());
      const ending = onAbort(signal, () => reject(failure(server, 'is not waited for any more')));
      undo.push(() => ending[Symbol.dispose]());
      undo.push(open({done: resolve, failed: reject}));
    });
  } finally {
    for (const step of undo) step();
  }
};

/**
 * Each query has a socket and thereby a source port of its own, so that who forges responses has to guess that as well;
 * and it is connected, so that the kernel drops what others send.
 */
const exchangeUdp = <T>(around: Surroundings, server: ServerAddress, query: Buffer, {timeoutMs, accept}: ExchangeOptions<T>): Promise<T> =>
  within(around, server, timeoutMs, ({done, failed}) => {
    const socket = confineErrors(createSocket(isIP(server.address) === 6 ? 'udp6' : 'udp4'));
    socket.on('error', failed);
    socket.on('message', bytes => {
      const response = accept(bytes);
      if (response !== undefined) done(response);
    });
    socket.connect(server.port, server.address, () => socket.send(query, error => error && failed(error)));
    let isClosed = false;
    return () => {
      if (!isClosed) socket.close();
      isClosed = true;
    };
  });

const lengthBytes = 2;

const exchangeTcp = <T>(around: Surroundings, server: ServerAddress, query: Buffer, {timeoutMs, accept}: ExchangeOptions<T>): Promise<T> =>
  within(around, server, timeoutMs, ({done, failed}) => {
    const socket = confineErrors(connect({host: server.address, port: server.port}));
    const framed = Buffer.alloc(lengthBytes + query.length);
    framed.writeUInt16BE(query.length);
    query.copy(framed, lengthBytes);
    socket.on('error', failed);
    socket.on('close', () => failed(failure(server, 'closed the connection')));
    let received: Buffer = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      const size = received.length < lengthBytes ? Infinity : received.readUInt16BE();
      if (received.length < lengthBytes + size) return;
      const response = accept(received.subarray(lengthBytes, lengthBytes + size));
      if (response === undefined) failed(failure(server, 'sent something else than the response'));
      else done(response);
    });
    socket.write(framed);
    return () => socket.destroy();
  });

/** Exchanges by the sockets of this machine. Those that wait when the signal aborts are given up. */
export const socketExchanges = (clock: Clock, signal: AbortSignal): Exchanges => ({
  exchange: (server, query, options) => (options.transport === 'udp' ? exchangeUdp : exchangeTcp)({clock, signal}, server, query, options),
});
