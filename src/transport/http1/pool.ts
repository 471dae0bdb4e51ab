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

/** Connections that are opened on demand. Undici is loaded with the first request. */
export class ConnectionPool {
  readonly #origin: string;
  readonly #dial: () => Promise<Duplex>;
  #pool: Promise<Dispatcher> | undefined;
  #open = 0;
  /** A connection that nothing was sent on yet. */
  #unused: Duplex | undefined;
  #isClosed = false;

  /** Opens none yet. */
  constructor(origin: string, dial: () => Promise<Duplex>) {
    this.#origin = origin;
    this.#dial = dial;
  }

  /** Takes a connection for the next request that would open one. */
  adopt(connection: Duplex): void {
    this.#unused?.destroy();
    this.#unused = connection;
    if (this.#isClosed) connection.destroy();
    connection.once('error', () => {});
    connection.once('close', () => {
      if (this.#unused === connection) this.#unused = undefined;
    });
  }

  /** Runs one request, as `dispatchRequest` does. */
  async run(request: Dispatcher.DispatchOptions, signal: AbortSignal | undefined, sink?: StreamSink): Promise<Reply> {
    if (this.#isClosed) throw new Error('the connection was closed');
    const mayBeStale = this.#open > 0 && isSafe(request.method);
    const pool = await (this.#pool ??= this.#created());
    try {
      return await dispatchRequest(pool, request, signal, sink);
    } catch (error) {
      if (!mayBeStale || !isUnanswered(error) || signal?.aborted) throw error;
      return dispatchRequest(pool, request, signal, sink);
    }
  }

  /** Accepts no new requests; those in progress continue. */
  close(): void {
    this.#endUnused();
    void this.#pool?.then(pool => pool.close()).catch(() => {});
  }

  async destroy(): Promise<void> {
    this.#endUnused();
    await (await this.#pool)?.destroy();
  }

  #endUnused(): void {
    this.#isClosed = true;
    this.#unused?.destroy();
  }

  async #created(): Promise<Dispatcher> {
    // The package's main entry point also loads fetch, caches and web sockets: three times the cost of the pool alone.
    const {default: UndiciPool} = await import('undici/lib/dispatcher/pool.js');
    const connect: Pool.Options['connect'] = (_, done) => {
      this.#connection().then(
        socket => {
          this.#open++;
          socket.once('close', () => this.#open--);
          done(null, socket as never);
        },
        (error: Error) => done(error, null),
      );
    };
    return new UndiciPool(this.#origin, {...options, connect});
  }

  async #connection(): Promise<Duplex> {
    const unused = this.#unused;
    this.#unused = undefined;
    return unused ?? this.#dial();
  }
}
