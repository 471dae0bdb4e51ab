import type {Duplex} from 'node:stream';
import {createSecureContext, type TLSSocket} from 'node:tls';
import type {Dispatcher} from 'undici';
import type {Clock} from '#src/base/clock.js';
import type {HttpHead, StreamSink} from '#src/transport/dispatch-request.js';
import {urlText} from '#src/observe/body-text.js';
import {dialer, targetOf, type Dial, type Target} from '#src/transport/dial.js';
import {environmentDialer} from '#src/transport/environment-proxy.js';
import {ConnectionPool} from '#src/transport/http1/pool.js';
import {openSession, Sessions} from '#src/transport/http2/sessions.js';
import {streamed} from '#src/transport/http2/streamed.js';
import {systemNetwork, type Network} from '#src/transport/network.js';
import {oneLine} from '#src/transport/one-line.js';
import type {ConnectionSettings} from '#src/transport/settings.js';
import {noPlatformAnchors} from '#src/transport/tls-handshake.js';
import type {TlsMaterial} from '#src/transport/tls-material.js';

export interface ChannelRequest {
  readonly method: string;
  readonly path: string;
  /** Alternating names and values. */
  readonly headers: readonly string[];
  readonly body?: string | Uint8Array | undefined;
  readonly timeoutMs: number;
}
export type ChannelReply = HttpHead & {readonly body: Buffer};

const connectTimeoutMs = 30_000;
/** A dead connection is detected within 17 s. */
const pings = {everyMs: 11_000, timeoutMs: 5_500};
/** How long a connection without a request is kept. */
const idleMs = 90_000;
/** The receive windows; the default of 64 KiB would let hundreds of watches wait for each other. */
const windows = {stream: 1 << 20, session: 16 << 20};

/**
 * The connections to one server, with one set of certificates. Calls and streams share an HTTP/2 connection if the
 * server supports it, and reuse HTTP/1.1 connections otherwise.
 */
export class Channel {
  readonly #origin: string;
  readonly #pool: ConnectionPool;
  #sessions: Sessions | undefined;

  private constructor(origin: string, pool: ConnectionPool, sessions: Sessions | undefined) {
    this.#origin = origin;
    this.#pool = pool;
    this.#sessions = sessions;
  }

  /** Throws for invalid certificates here, not at the first request. */
  static async open(settings: ConnectionSettings, {ca, pair}: TlsMaterial, clock: Clock, network = systemNetwork(clock)): Promise<Channel> {
    const {server, trust, source} = settings;
    try {
      if (pair) createSecureContext({...pair, ...noPlatformAnchors});
    } catch (cause) {
      throw new Error(`${source}: the certificates or the key cannot be used: ${oneLine(cause)}`, {cause});
    }
    const {origin, protocol} = new URL(server);
    const dial = await dialerTo(settings, network, clock);
    const {serverName, insecure} = trust;
    const target: Target = {...targetOf(origin, {ca, pair, serverName, insecure}), connectTimeoutMs};
    const pool = new ConnectionPool(origin, () => dial(target));
    const connect = async (): Promise<Duplex> => {
      const socket = await dial(target, ['h2', 'http/1.1']);
      if ((socket as TLSSocket).alpnProtocol === 'h2') return socket;
      throw new NoHttp2(socket);
    };
    const open = () => openSession({clock, origin, connect, windows, timeoutMs: connectTimeoutMs});
    return new Channel(origin, pool, protocol === 'https:' ? new Sessions({clock, pings, idleMs, open}) : undefined);
  }

  async send(request: ChannelRequest, signal: AbortSignal | undefined): Promise<ChannelReply> {
    const overHttp2 = await this.#overHttp2(sessions => streamed(sessions, request, signal));
    const answer = overHttp2 ? overHttp2.answer : await this.#pool.run(this.#optionsOf(request, request.timeoutMs), signal);
    return answer!; // Without a sink it is whole.
  }

  async stream(request: ChannelRequest, signal: AbortSignal | undefined, sink: StreamSink): Promise<ChannelReply | undefined> {
    const overHttp2 = await this.#overHttp2(sessions => streamed(sessions, request, signal, sink));
    return overHttp2 ? overHttp2.answer : this.#pool.run(this.#optionsOf(request, 0), signal, sink);
  }

  /** Whether the connection of streams is pinged, so that they fail when it is dead. Connects to find out. */
  async isProbed(): Promise<boolean> {
    try {
      await this.#sessions?.ready();
    } catch (error) {
      if (!(error instanceof NoHttp2)) throw error;
      this.#sessions = undefined;
      error.takeConnection()?.destroy();
    }
    return this.#sessions !== undefined;
  }

  /**
   * Undefined if the server does not support HTTP/2, which is then not tried again. The connection that has shown this
   * is used for the request.
   */
  async #overHttp2<T>(act: (sessions: Sessions) => Promise<T>): Promise<{readonly answer: T} | undefined> {
    if (!this.#sessions) return undefined;
    try {
      return {answer: await act(this.#sessions)};
    } catch (error) {
      if (!(error instanceof NoHttp2)) throw error;
      this.#sessions = undefined;
      const connection = error.takeConnection();
      if (connection) this.#pool.adopt(connection);
      return undefined;
    }
  }

  /** Accepts no new requests; those in progress continue. */
  close(): void {
    this.#sessions?.close();
    this.#pool.close();
  }

  destroy(): Promise<void> {
    void this.#sessions?.destroy();
    return this.#pool.destroy();
  }

  #optionsOf({method, path, headers, body, timeoutMs}: ChannelRequest, bodyTimeout: number): Dispatcher.DispatchOptions {
    return {
      origin: this.#origin,
      path,
      method: method as Dispatcher.HttpMethod,
      headers: [...headers],
      body: body ?? null,
      headersTimeout: timeoutMs,
      bodyTimeout,
    };
  }
}

/** The server does not support HTTP/2. */
class NoHttp2 extends Error {
  override readonly name = 'NoHttp2';
  #connection: Duplex | undefined;

  constructor(connection: Duplex) {
    super('the server does not speak HTTP/2');
    this.#connection = connection;
  }

  /** Returns the connection, to the first who asks. */
  takeConnection(): Duplex | undefined {
    const connection = this.#connection;
    this.#connection = undefined;
    return connection;
  }
}

/** Dials through the proxy of the settings, or that of the environment. */
export const dialerTo = async ({proxyUrl, source}: ConnectionSettings, network: Network, clock: Clock): Promise<Dial> => {
  if (!proxyUrl) return environmentDialer(network, clock);
  const {throughProxy} = await import('#src/transport/proxy.js');
  try {
    return dialer(throughProxy(network, proxyUrl, clock), clock);
  } catch (cause) {
    throw new Error(`${source}: invalid proxy-url ${JSON.stringify(urlText(proxyUrl))}: ${oneLine(cause)}`, {cause});
  }
};
