import type {IncomingMessage, ServerResponse} from 'node:http';
import http2, {type IncomingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream} from 'node:http2';
import https from 'node:https';
import {constants as crypto} from 'node:crypto';
import type {AddressInfo, Socket} from 'node:net';
import type {Duplex} from 'node:stream';
import type {SecureContextOptions, TLSSocket, TlsOptions} from 'node:tls';
import {every, type Clock} from '#src/base/clock.js';
import {bindError, hostsToTry, lacksFamily, refusePortSharing} from './binding.js';
import {Connection, remember} from './connection.js';
import {StreamLimits} from './http2-streams.js';
import {InTurns} from './in-turns.js';
import {QueuedAnswers} from './queued-answers.js';
import {lastResponse} from './last-response.js';
import {requestOfUnknownMethod, type ParseError} from './unknown-method.js';

/** Takes the requests of a listener, in the two forms Node has for them. It must never throw. */
export interface RequestHandler {
  http1(request: IncomingMessage, response: ServerResponse): void;
  /** A request that asks to speak another protocol on its connection. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  http2(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, flags: number, rawHeaders: readonly string[]): void;
}

export interface ListenerOptions {
  readonly clock: Clock;
  /** Blank, `0.0.0.0` and `::` mean every interface and both address families. */
  readonly bindAddress: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** The serving certificate and the protocol's limits; an `SNICallback` chooses by server name. */
  readonly tls: TlsOptions;
  readonly handler: RequestHandler;
  readonly disableHttp2?: boolean | undefined;
  /** 0 or absent: the default. */
  readonly maxStreamsPerConnection?: number | undefined;
  /** Always so: the platform sets SO_REUSEADDR on every listening socket. */
  readonly permitAddressSharing?: boolean | undefined;
  readonly permitPortSharing?: boolean | undefined;
  readonly maxHeaderBytes?: number;
  /** Connections beyond this are dropped at once; 0 or absent sets no limit. */
  readonly maxConnections?: number;
  readonly handshakeTimeoutMs?: number;
  readonly headersTimeoutMs?: number;
  readonly idleTimeoutMs?: number;
}

/** A port that is being listened on. */
export interface Listener {
  readonly address: string;
  readonly port: number;
  readonly connections: number;
  /** How many connections were closed at once because there were too many. */
  readonly refused: number;
  /** New connections get these from now on. */
  setSecureContext(options: SecureContextOptions): void;
  /** Asks clients to go elsewhere: `Connection: close` on every answer and a GOAWAY on every session. Still accepts. */
  drain(): void;
  /** Stops accepting, lets answers that are under way finish within the grace, then cuts what is left. */
  close(options?: {readonly graceMs?: number}): Promise<void>;
}

const defaults = {
  maxHeaderBytes: 1 << 20,
  handshakeTimeoutMs: 10_000,
  headersTimeoutMs: 32_000,
  idleTimeoutMs: 90_000,
  /** The whole request, body included. */
  requestTimeoutMs: 300_000,
  maxStreams: 1000,
  maxHeaders: 1000,
};

/** Listens for HTTP/1.1 and HTTP/2 on one TLS port. Client certificates are asked for and never judged here. */
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
  throw bindError(failure, options.bindAddress, options.port);
};

const ignore = () => {};

/** How many handshakes begin, and how many connections begin to be served, in one turn of the event loop: both take about a millisecond each. */
const maxHandshakesPerTurn = 8;

/**
 * Makes the parser of a connection read from the stream, which can wait, instead of from beneath it, which costs less: else what is pipelined while much
 * waits to be sent cuts the connection. Somebody who listens brings it about.
 */
const parseFromStream = (socket: Socket): void => void socket.on('data', ignore).off('data', ignore);

/** A socket that waits for its turn has nobody else who listens to its errors yet. */
const inTurn = (turns: InTurns, socket: Socket, begin: () => void): void => {
  if (!turns.add({begin, isGone: () => socket.destroyed})) socket.on('error', ignore);
};

/** How often a listener that closes looks for connections that have become idle. */
const idleCheckMs = 20;

/** Whether an answer is on its way, behind which nothing else may be said. */
const isAnswering = (socket: Duplex): boolean => Boolean((socket as {_httpMessage?: unknown})._httpMessage);

const refusals: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Request Entity Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/** Turns down what is no request, in plain text, and ends its connection. */
const refuse = (error: ParseError, socket: Duplex): void => {
  const status = refusals[error.code ?? ''] ?? '400 Bad Request';
  const isRequest = error.rawPacket !== undefined || error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
  if (isRequest && socket.writable && !isAnswering(socket)) socket.write(`HTTP/1.1 ${status}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n${status}`);
  socket.destroy(error);
};

class Endpoint implements Listener {
  readonly #options: ListenerOptions;
  readonly #http1: https.Server;
  readonly #http2: http2.Http2Server;
  readonly #sockets = new Set<TLSSocket>();
  /** HTTP/1.1 connections on which nothing was asked yet: Node counts them as busy. */
  readonly #unused = new Set<unknown>();
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #limits: StreamLimits;
  readonly #queued = new QueuedAnswers();
  readonly #handshakes = new InTurns(maxHandshakesPerTurn);
  readonly #accepted = new InTurns(maxHandshakesPerTurn);
  #draining = false;
  refused = 0;
  #closed: Promise<void> | undefined;

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#limits = new StreamLimits(options.clock);
    this.#http1 = this.#https();
    this.#beginHandshakesInTurns();
    this.#http2 = this.#sessionServer();
    const speakHttp1 = this.#http1.listeners('secureConnection');
    this.#http1.removeAllListeners('secureConnection');
    this.#http1.on('secureConnection', socket => inTurn(this.#accepted, socket, () => this.#accept(socket, speakHttp1)));
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
      const deadline = clock.schedule(graceMs, () => this.#cut());
      const closed = new AbortController();
      this.#http1.close(() => {
        deadline[Symbol.dispose]();
        closed.abort();
        resolve();
      });
      this.drain();
      for (const socket of this.#sockets) if (this.#unused.has(socket)) socket.destroy();
      // A watch promised to keep its connection: when it ends, that one is idle.
      every(clock, idleCheckMs, closed.signal, () => this.#http1.closeIdleConnections());
    });
  }

  #cut(): void {
    for (const session of this.#sessions) session.destroy();
    for (const socket of this.#sockets) socket.destroy();
  }

  #beginHandshakesInTurns(): void {
    const server = this.#http1;
    const beginnings = server.listeners('connection') as ((this: https.Server, socket: Socket) => void)[];
    server.removeAllListeners('connection');
    server.on('connection', (socket: Socket) => {
      inTurn(this.#handshakes, socket, () => {
        for (const each of beginnings) each.call(server, socket);
      });
    });
  }

  #accept(socket: TLSSocket, speakHttp1: readonly unknown[]): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    const connection = new Connection(socket);
    remember(socket, connection);
    if (socket.alpnProtocol !== 'h2') {
      this.#unused.add(socket);
      socket.once('close', () => this.#unused.delete(socket));
      for (const speak of speakHttp1) (speak as (this: https.Server, socket: TLSSocket) => void).call(this.#http1, socket);
      return;
    }
    this.#http2.once('session', session => remember(session, connection));
    this.#http2.emit('connection', socket);
  }

  #https(): https.Server {
    const options = this.#options;
    const server = https.createServer({
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
      noDelay: true,
      keepAlive: true,
    });
    if (options.maxConnections) server.maxConnections = options.maxConnections;
    server.on('drop', () => void this.refused++);
    server.on('request', (request, response) => {
      this.#unused.delete(request.socket);
      // An answer that has to wait for the one before it has no socket yet.
      if (!response.socket) {
        parseFromStream(request.socket);
        this.#queued.add(request.socket, response);
      }
      if (this.#draining) response.shouldKeepAlive = false;
      options.handler.http1(request, response);
    });
    server.on('clientError', (error: ParseError, socket) => {
      this.#unused.delete(socket);
      const request = isAnswering(socket) ? undefined : requestOfUnknownMethod(error, socket);
      if (request) options.handler.http1(request, lastResponse(request, socket));
      else refuse(error, socket);
    });
    server.on('upgrade', (request, socket, head) => {
      this.#unused.delete(socket);
      options.handler.upgrade(request, socket, head);
    });
    return server;
  }

  #sessionServer(): http2.Http2Server {
    const {handler, maxHeaderBytes = defaults.maxHeaderBytes, maxStreamsPerConnection, idleTimeoutMs = defaults.idleTimeoutMs} = this.#options;
    const server = http2.createServer({
      maxHeaderListPairs: defaults.maxHeaders,
      settings: {
        maxConcurrentStreams: maxStreamsPerConnection || defaults.maxStreams,
        maxHeaderListSize: maxHeaderBytes,
        enablePush: false,
      },
    });
    server.on('session', session => {
      this.#sessions.add(session);
      session.once('close', () => this.#sessions.delete(session));
      // Fires on quiet watches too, and they must live.
      session.setTimeout(idleTimeoutMs, () => {
        if (this.#limits.open(session) === 0) session.close();
      });
      if (this.#draining) session.close();
    });
    server.on('stream', (stream, headers, flags, ...rest) => {
      this.#limits.begin(stream, () => handler.http2(stream, headers, flags, (rest as unknown[])[0] as string[]));
    });
    return server;
  }
}

/**
 * A resumed session knows the client's leaf certificate only, not its chain; clients keep connections alive instead. Nor is a connection negotiated anew: its
 * client is read once, and each handshake is work.
 */
const secureOptions = (options: SecureContextOptions): number => (options.secureOptions ?? 0) | crypto.SSL_OP_NO_TICKET | crypto.SSL_OP_NO_RENEGOTIATION;
