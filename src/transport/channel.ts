import {createSecureContext} from 'node:tls';
import type {Dispatcher, Pool} from 'undici';
import type {Clock} from '#src/base/clock.js';
import {type HttpHead, type StreamSink, dispatchRequest} from './dispatch-request.js';
import {oneLine} from './one-line.js';
import type {ConnectionSettings} from './settings.js';
import {NoHttp2, StreamSessions} from './stream-sessions.js';
import type {TlsMaterial} from './tls-material.js';

export interface ChannelRequest {
  readonly method: string;
  readonly path: string;
  /** Alternating names and values. */
  readonly headers: readonly string[];
  readonly body?: string | Uint8Array | undefined;
  readonly timeoutMs: number;
}
export type ChannelReply = HttpHead & {readonly body: Buffer};

const poolOptions: Pool.Options = {
  // Without HTTP/2 each watch needs its own connection, so their number is not limited here; calls are limited by rate.
  connections: null,
  pipelining: 1,
  keepAliveTimeout: 30_000,
  keepAliveMaxTimeout: 60_000,
  maxHeaderSize: 1 << 20,
};
const connectTimeoutMs = 30_000;
/** With half of it for the response, a dead connection is detected within 35 s. */
const pingMs = 22_000;
const connectOptions = {timeout: connectTimeoutMs, keepAlive: true, keepAliveInitialDelay: 30_000};

/** The connections to one server, with one set of certificates. Calls reuse HTTP/1.1 connections, streams share an HTTP/2 connection if the server supports it. */
export class Channel {
  readonly #origin: string;
  readonly #pool: Dispatcher;
  #sessions: StreamSessions | undefined;

  private constructor(origin: string, pool: Dispatcher, sessions: StreamSessions | undefined) {
    this.#origin = origin;
    this.#pool = pool;
    this.#sessions = sessions;
  }

  /** Throws for invalid certificates here, not at the first request. */
  static async open(settings: ConnectionSettings, {ca, pair}: TlsMaterial, clock: Clock): Promise<Channel> {
    const {server, trust, source, proxyUrl} = settings;
    const material = {...(ca ? {ca} : {}), ...pair};
    try {
      createSecureContext(material);
    } catch (cause) {
      throw new Error(`${source}: the certificates or the key cannot be used: ${oneLine(cause)}`, {cause});
    }
    const {origin, protocol} = new URL(server);
    const tls = {...material, rejectUnauthorized: !trust.insecure, ...(trust.serverName ? {servername: trust.serverName} : {})};
    const sessions = proxyUrl || protocol !== 'https:' ? undefined : new StreamSessions(origin, {clock, tls, connectTimeoutMs, pingMs});
    return new Channel(origin, await poolOf(origin, proxyUrl, tls), sessions);
  }

  send(request: ChannelRequest, signal: AbortSignal | undefined): Promise<ChannelReply> {
    return dispatchRequest(this.#pool, this.#optionsOf(request, request.timeoutMs), signal) as Promise<ChannelReply>;
  }

  async stream(request: ChannelRequest, signal: AbortSignal | undefined, sink: StreamSink): Promise<ChannelReply | undefined> {
    const {body, timeoutMs} = request;
    const overHttp2 =
      body === undefined
        ? await this.#overHttp2(sessions => sessions.open({...request, headersTimeout: timeoutMs}, signal, sink))
        : undefined;
    if (overHttp2) return overHttp2.answer;
    return dispatchRequest(this.#pool, this.#optionsOf(request, 0), signal, sink);
  }

  /** Whether the connection of streams is pinged, so that they fail when it is dead. Connects to find out. */
  async isProbed(): Promise<boolean> {
    return (await this.#overHttp2(sessions => sessions.ready())) !== undefined;
  }

  /** Undefined if the server does not support HTTP/2, which is then not tried again. */
  async #overHttp2<T>(act: (sessions: StreamSessions) => Promise<T>): Promise<{readonly answer: T} | undefined> {
    if (!this.#sessions) return undefined;
    try {
      return {answer: await act(this.#sessions)};
    } catch (error) {
      if (!(error instanceof NoHttp2)) throw error;
      this.#sessions = undefined;
      return undefined;
    }
  }

  /** Accepts no new requests; those in progress continue. */
  close(): void {
    this.#sessions?.close();
    this.#pool.close().catch(() => {});
  }

  destroy(): Promise<void> {
    this.#sessions?.destroy();
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

const poolOf = async (origin: string, proxyUrl: string | undefined, tls: object): Promise<Dispatcher> => {
  if (proxyUrl) {
    const {default: ProxyAgent} = await import('undici/lib/dispatcher/proxy-agent.js');
    return new ProxyAgent({...poolOptions, uri: proxyUrl, requestTls: {...connectOptions, ...tls}});
  }
  const {default: UndiciPool} = await import('undici/lib/dispatcher/pool.js');
  return new UndiciPool(origin, {...poolOptions, connect: {...connectOptions, ...tls}});
};
