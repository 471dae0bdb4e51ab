// The HTTP/1.1 connections of a client to one API server. Undici's pool keeps them, whose calls cost half of those of
// Node's client; it takes connections from the dialer. A safe request that was sent on a connection that the server had
// closed is sent once more.

import type {Duplex} from 'node:stream';
import type {Dispatcher, Pool} from 'undici';
import {dispatchRequest, isUnanswered, type HttpHead, type StreamSink} from '#src/transport/dispatch-request.js';
import {isSafe, maxHeaderBytes} from './connections.js';

const options: Pool.Options = {
  // Without HTTP/2 each watch needs its own connection, so their number is not limited here; calls are limited by rate.
  connections: null,
  pipelining: 1,
  keepAliveTimeout: 30_000,
  keepAliveMaxTimeout: 60_000,
  maxHeaderSize: maxHeaderBytes,
};

type Reply = (HttpHead & {readonly body: Buffer}) | undefined;

/** Connections that are opened on demand. */
export class ConnectionPool {
  readonly #pool: Dispatcher;
  readonly #state: {open: number};

  private constructor(pool: Dispatcher, state: {open: number}) {
    this.#pool = pool;
    this.#state = state;
  }

  /** Opens none yet. */
  static async over(origin: string, dial: () => Promise<Duplex>): Promise<ConnectionPool> {
    // The package's main entry point also loads fetch, caches and web sockets: three times the cost of the pool alone.
    const {default: UndiciPool} = await import('undici/lib/dispatcher/pool.js');
    const state = {open: 0};
    const connect: Pool.Options['connect'] = (_, done) => {
      dial().then(
        socket => {
          state.open++;
          socket.once('close', () => state.open--);
          done(null, socket as never);
        },
        (error: Error) => done(error, null),
      );
    };
    return new ConnectionPool(new UndiciPool(origin, {...options, connect}), state);
  }

  /** Runs one request, as `dispatchRequest` does. */
  async run(request: Dispatcher.DispatchOptions, signal: AbortSignal | undefined, sink?: StreamSink): Promise<Reply> {
    const mayBeStale = this.#state.open > 0 && isSafe(request.method);
    try {
      return await dispatchRequest(this.#pool, request, signal, sink);
    } catch (error) {
      if (!mayBeStale || !isUnanswered(error) || signal?.aborted) throw error;
      return dispatchRequest(this.#pool, request, signal, sink);
    }
  }

  /** Accepts no new requests; those in progress continue. */
  close(): void {
    this.#pool.close().catch(() => {});
  }

  destroy(): Promise<void> {
    return this.#pool.destroy();
  }
}
