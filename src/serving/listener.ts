// A TLS port for HTTP/1.1 and HTTP/2. A listener is open, draining (asks clients to disconnect) or closing (waits for
// responses, then disconnects). It limits handshakes and streams per turn of the event loop; requests are handled
// elsewhere.

import type {IncomingMessage, ServerResponse} from 'node:http';
import http2, {type IncomingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream} from 'node:http2';
import https from 'node:https';
import {constants as crypto} from 'node:crypto';
import type {AddressInfo, Socket} from 'node:net';
import type {Duplex} from 'node:stream';
import type {SecureContextOptions, TLSSocket, TlsOptions} from 'node:tls';
import {runEvery, type Clock} from '#src/base/clock.js';
import {confineErrors} from '#src/base/emitters/confined.js';
import {bindError, hostsToTry, lacksFamily, refusePortSharing} from './binding.js';
import {Connection, associate} from './http-request.js';
import {ConnectionLimit} from '#src/serving/limits/connection-limit.js';
import {InputLimits} from './http2-input.js';
import {StreamLimits} from './http2-streams.js';
import {confineServer, isAnswering, isIdle} from '#src/serving/http1/server.js';
import {PacedRequests} from '#src/serving/http1/paced-requests.js';
import {maxSessionMemory} from '#src/transport/http2/session-memory.js';
import {PacedActions} from './paced-actions.js';
import {lastResponse} from './last-response.js';
import {requestOfUnknownMethod, type ParseError} from './unknown-method.js';

/** Handles the requests of a listener, in Node's two forms. */
export interface RequestHandler {
  http1(request: IncomingMessage, response: ServerResponse): void;
  /** Handles a request for an upgrade of its connection. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  http2(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, flags: number, rawHeaders: readonly string[]): void;
  /** Reports an error that has ended one connection or stream. */
  fault(error: unknown): void;
}

export interface ListenerOptions {
  readonly clock: Clock;
  /** Empty, `0.0.0.0` and `::` mean all interfaces of both address families. */
  readonly bindAddress: string;
  /** 0 selects a free port. */
  readonly port: number;
  /** The serving certificate and the protocol limits; an `SNICallback` selects by server name. */
  readonly tls: TlsOptions;
  readonly handler: RequestHandler;
  readonly disableHttp2?: boolean | undefined;
  /** 0 or absent: the default. */
  readonly maxStreamsPerConnection?: number | undefined;
  /** Has no effect: Node sets SO_REUSEADDR on every listening socket. */
  readonly permitAddressSharing?: boolean | undefined;
  readonly permitPortSharing?: boolean | undefined;
  /** Connections from other addresses are closed before their handshake. Without it all are served. */
  readonly accepts?: ((remoteAddress: string) => boolean) | undefined;
  /** The flags to name in an error. Default: those of components. */
  readonly flags?: string;
  readonly maxHeaderBytes?: number;
  /** Above this limit connections are closed, those without a request first; 0 or absent means no limit. */
  readonly maxConnections?: number;
  readonly handshakeTimeoutMs?: number;
  readonly headersTimeoutMs?: number;
  readonly idleTimeoutMs?: number;
}

/** An open port. */
export interface Listener {
  readonly address: string;
  readonly port: number;
  readonly connections: number;
  /** The number of connections that were closed because of the limit. */
  readonly refused: number;
  /** The number of connections that ended before their TLS handshake did. */
  readonly handshakeErrors: number;
  /** Sets the certificate of new connections. */
  setSecureContext(options: SecureContextOptions): void;
  /**
   * Asks clients to disconnect: `Connection: close` on every response and a GOAWAY on every session. Still accepts
   * connections.
   */
  drain(): void;
  /** Stops accepting, waits for responses in progress up to the grace period, then closes all connections. */
  close(options?: {readonly graceMs?: number}): Promise<void>;
}

const defaults = {
  maxHeaderBytes: 1 << 20,
  handshakeTimeoutMs: 10_000,
  headersTimeoutMs: 32_000,
  idleTimeoutMs: 90_000,
  /** For the whole request, including its body. */
  requestTimeoutMs: 300_000,
  maxStreams: 1000,
  maxHeaders: 1000,
};

/** Listens for HTTP/1.1 and HTTP/2 on one TLS port. Client certificates are requested and not verified here. */
export const listen = async (options: ListenerOptions): Promise<Listener> => {
  if (options.permitPortSharing) refusePortSharing(process.versions.node);
  let failure: unknown;
  for (const host of hostsToTry(options.bindAddress)) {
    const endpoint = new Endpoint(options);
    try {
      await endpoint.bind(host);
      return endpoint;
    } catch (error) {
      failure = error;
      if (!lacksFamily(error)) break;
    }
  }
  throw bindError(failure, options.bindAddress, options.port, options.flags);
};

const ignore = () => {};

/**
 * The number of handshakes, and of connections that are taken into service, per turn of the event loop: each takes
 * about a millisecond.
 */
const maxHandshakesPerTurn = 8;

/** A waiting socket has no other error listener yet. */
const inTurn = (turns: PacedActions, socket: Socket, begin: () => void): void => {
  if (!turns.add({begin, isGone: () => socket.destroyed, of: socket})) socket.on('error', ignore);
};

/**
 * The number of connections that are closed per turn of the event loop, if many are at once: each takes a tenth of a
 * millisecond or more.
 */
const maxClosesPerTurn = 8;

/** How often a closing listener looks for idle connections. */
const idleCheckMs = 20;

const refusals: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Request Entity Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/** Responds to a malformed request in plain text, and ends its connection. */
const refuse = (error: ParseError, socket: Duplex): void => {
  const status = refusals[error.code ?? ''] ?? '400 Bad Request';
  const isRequest = error.rawPacket !== undefined || error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
  if (isRequest && socket.writable && !isAnswering(socket))
    socket.write(`HTTP/1.1 ${status}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n${status}`);
  socket.destroy(error);
};

const remoteEnd = ({remoteAddress, remotePort}: Socket): string => `${remoteAddress} ${remotePort}`;

class Endpoint implements Listener {
  readonly #options: ListenerOptions;
  readonly #http1: https.Server;
  readonly #http2: http2.Http2Server;
  readonly #sockets = new Set<TLSSocket>();
  /** HTTP/1.1 connections without any request yet: Node counts them as busy. */
  readonly #unused = new Set<unknown>();
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #limit: ConnectionLimit;
  /**
   * Whether a connection in service has no request, by its remote end: the socket below its TLS socket has the same.
   */
  readonly #idle = new Map<string, () => boolean>();
  readonly #limits: StreamLimits;
  readonly #input: InputLimits;
  readonly #paced = new PacedRequests();
  readonly #handshakes = new PacedActions(maxHandshakesPerTurn);
  readonly #accepted = new PacedActions(maxHandshakesPerTurn);
  readonly #closes = new PacedActions(maxClosesPerTurn);
  #draining = false;
  handshakeErrors = 0;
  #closed: Promise<void> | undefined;

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#limits = new StreamLimits(options.clock);
    this.#input = new InputLimits(options.clock, (session, code) => this.#disconnect(session, code));
    this.#limit = new ConnectionLimit(options.maxConnections);
    this.#http1 = this.#https();
    this.#beginHandshakesInTurns();
    this.#http2 = this.#sessionServer();
    const http1Listeners = this.#http1.listeners('secureConnection');
    this.#http1.removeAllListeners('secureConnection');
    this.#http1.on('secureConnection', socket => inTurn(this.#accepted, socket, () => this.#accept(socket, http1Listeners)));
  }

  get address(): string {
    return (this.#http1.address() as AddressInfo).address;
  }

  get port(): number {
    return (this.#http1.address() as AddressInfo).port;
  }

  get connections(): number {
    return this.#sockets.size;
  }

  get refused(): number {
    return this.#limit.closed;
  }

  bind(host: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#http1.once('error', reject);
      this.#http1.listen({host, port: this.#options.port, ...(this.#options.permitPortSharing ? {reusePort: true} : {})}, () => {
        this.#http1.off('error', reject);
        this.#http1.on('error', ignore);
        resolve();
      });
    });
  }

  setSecureContext(options: SecureContextOptions): void {
    this.#http1.setSecureContext({...options, secureOptions: secureOptions(options)});
  }

  drain(): void {
    this.#draining = true;
    for (const session of this.#sessions) session.close();
    this.#http1.closeIdleConnections();
  }

  close({graceMs = 0}: {readonly graceMs?: number} = {}): Promise<void> {
    return (this.#closed ??= this.#close(graceMs));
  }

  #close(graceMs: number): Promise<void> {
    return new Promise(resolve => {
      const {clock} = this.#options;
      const deadline = clock.schedule(graceMs, () => this.#disconnectAll());
      const closed = new AbortController();
      this.#http1.close(() => {
        deadline[Symbol.dispose]();
        closed.abort();
        resolve();
      });
      this.drain();
      for (const socket of this.#sockets) if (this.#unused.has(socket)) this.#disconnect(socket);
      // The response of a watch announced keep-alive: after its end the connection is idle.
      runEvery(clock, idleCheckMs, closed.signal, () => this.#http1.closeIdleConnections());
    });
  }

  #disconnectAll(): void {
    for (const session of this.#sessions) this.#disconnect(session);
    for (const socket of this.#sockets) this.#disconnect(socket);
  }

  #disconnect(connection: {readonly destroyed: boolean; destroy(error?: undefined, code?: number): unknown}, code?: number): void {
    this.#closes.add({begin: () => void connection.destroy(undefined, code), isGone: () => connection.destroyed, of: connection});
  }

  #beginHandshakesInTurns(): void {
    const server = this.#http1;
    const beginnings = server.listeners('connection') as ((this: https.Server, socket: Socket) => void)[];
    server.removeAllListeners('connection');
    server.on('connection', (socket: Socket) => {
      confineErrors(socket, this.#options.handler.fault);
      if (this.#options.accepts?.(socket.remoteAddress ?? '') === false) {
        socket.destroy();
        return;
      }
      const end = remoteEnd(socket);
      if (!this.#limit.enter(socket, () => this.#idle.get(end)?.() ?? true)) return;
      inTurn(this.#handshakes, socket, () => {
        for (const each of beginnings) each.call(server, socket);
      });
    });
  }

  #accept(socket: TLSSocket, http1Listeners: readonly unknown[]): void {
    confineErrors(socket, this.#options.handler.fault);
    this.#sockets.add(socket);
    const end = remoteEnd(socket);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      this.#idle.delete(end);
    });
    const connection = new Connection(socket);
    associate(socket, connection);
    if (socket.alpnProtocol !== 'h2') {
      this.#unused.add(socket);
      this.#idle.set(end, () => isIdle(socket));
      socket.once('close', () => this.#unused.delete(socket));
      for (const serve of http1Listeners) (serve as (this: https.Server, socket: TLSSocket) => void).call(this.#http1, socket);
      this.#paced.accept(socket);
      return;
    }
    this.#http2.once('session', session => {
      associate(session, connection);
      this.#input.follow(session, socket);
      this.#idle.set(end, () => this.#limits.open(session) === 0);
    });
    this.#http2.emit('connection', socket);
  }

  #https(): https.Server {
    const options = this.#options;
    const settings = {
      ...options.tls,
      secureOptions: secureOptions(options.tls),
      ALPNProtocols: options.disableHttp2 ? ['http/1.1'] : ['h2', 'http/1.1'],
      requestCert: true,
      rejectUnauthorized: false,
      handshakeTimeout: options.handshakeTimeoutMs ?? defaults.handshakeTimeoutMs,
      maxHeaderSize: options.maxHeaderBytes ?? defaults.maxHeaderBytes,
      headersTimeout: options.headersTimeoutMs ?? defaults.headersTimeoutMs,
      requestTimeout: defaults.requestTimeoutMs,
      keepAliveTimeout: options.idleTimeoutMs ?? defaults.idleTimeoutMs,
      connectionsCheckingInterval: 1000,
      requireHostHeader: false, // It is looked for with other faults.
      noDelay: true,
      keepAlive: true,
    };
    const server = confineServer(https.createServer(settings), options.handler);
    this.#paced.follow(server);
    server.on('tlsClientError', () => void this.handshakeErrors++);
    server.on('request', (request, response) => {
      this.#unused.delete(request.socket);
      if (this.#draining) response.shouldKeepAlive = false;
      options.handler.http1(request, response);
    });
    server.on('clientError', (error: ParseError, socket) => {
      this.#unused.delete(socket);
      const request = isAnswering(socket) ? undefined : requestOfUnknownMethod(error, socket);
      if (request) options.handler.http1(request, lastResponse(request, socket));
      // Node looks for slow requests once a second, and finds all those at once that began within one.
      else this.#closes.add({begin: () => refuse(error, socket), isGone: () => socket.destroyed, of: socket});
    });
    server.on('upgrade', (request, socket, head) => {
      this.#unused.delete(socket);
      options.handler.upgrade(request, socket, head);
    });
    return server;
  }

  #sessionServer(): http2.Http2Server {
    const {
      handler,
      maxHeaderBytes = defaults.maxHeaderBytes,
      maxStreamsPerConnection,
      idleTimeoutMs = defaults.idleTimeoutMs,
    } = this.#options;
    const settings = {
      maxConcurrentStreams: maxStreamsPerConnection || defaults.maxStreams,
      maxHeaderListSize: maxHeaderBytes,
      enablePush: false,
    };
    const server = confineErrors(http2.createServer({maxHeaderListPairs: defaults.maxHeaders, maxSessionMemory, settings}), handler.fault);
    server.on('session', session => {
      confineErrors(session, handler.fault);
      this.#sessions.add(session);
      session.once('close', () => this.#sessions.delete(session));
      // It fires on idle watches too, which must be kept.
      session.setTimeout(idleTimeoutMs, () => {
        if (this.#limits.open(session) === 0) session.close();
      });
      if (this.#draining) session.close();
    });
    server.on('stream', (stream, headers, flags, ...rest) => {
      confineErrors(stream, handler.fault);
      const rawHeaders = (rest as unknown[])[0] as string[];
      this.#input.count(stream, flags, rawHeaders);
      this.#limits.begin(stream, () => handler.http2(stream, headers, flags, rawHeaders));
    });
    return server;
  }
}

/**
 * A resumed session has only the client's leaf certificate, not its chain; clients keep connections alive instead.
 * Renegotiation is disabled too: the client's certificate is read once, and each handshake is expensive.
 */
const secureOptions = (options: SecureContextOptions): number =>
  (options.secureOptions ?? 0) | crypto.SSL_OP_NO_TICKET | crypto.SSL_OP_NO_RENEGOTIATION;
