// The requests of either version of HTTP as the API handler receives them, and the connections that they come over.

import type {IncomingMessage, ServerResponse} from 'node:http';
import {constants, type Http2Session, type IncomingHttpHeaders, type ServerHttp2Stream} from 'node:http2';
import type {Duplex} from 'node:stream';
import type {TLSSocket} from 'node:tls';
import type {ApiBody, ApiRequest, Caller, Credentials} from '#src/api/request.js';
import {peerChain} from '#src/transport/peer-chain.js';
import {type Headers, headersOf} from './http-headers.js';
import {collectHttp1, collectHttp2, UnreadBody, unreadableBody} from './request-body.js';

/** The properties of a TLS connection that all its requests share. It is the `connection` of its credentials. */
export class Connection implements Credentials {
  readonly certificates: readonly Buffer[];
  readonly remoteAddress: string;
  readonly caller: Caller;

  constructor(socket: TLSSocket) {
    // Read at once: a closed socket has no peer certificate, and a request in flight must keep its identity.
    this.certificates = chainOf(socket);
    this.remoteAddress = plainAddress(socket.remoteAddress);
    this.caller = {credentials: this};
  }

  get connection(): object {
    return this;
  }
}

const connections = new WeakMap<object, Connection>();

/** Associates a connection with its socket, or with the session that uses the socket. */
export const associate = (transport: TLSSocket | Http2Session, connection: Connection): void => {
  connections.set(transport, connection);
};

/** Returns the connection of a request. */
export const connectionOf = (transport: IncomingMessage['socket'] | Http2Session): Connection => {
  const known = connections.get(transport);
  if (known) return known;
  const made = new Connection(transport as TLSSocket);
  connections.set(transport, made);
  return made;
};

/** A resumed session has only the leaf certificate, which is why the listener disables resumption. */
const chainOf = (socket: TLSSocket): readonly Buffer[] => (typeof socket.getPeerCertificate === 'function' ? peerChain(socket) : []);

const plainAddress = (address = ''): string => (address.startsWith('::ffff:') ? address.slice(7) : address);

/** The reason of a request's aborted signal. */
const disconnected = (): Error => new Error('the caller went away');

/**
 * A request over HTTP/1.1. Properties that most requests do not use (the signal, the body) are created on first use.
 */
export class Http1Request implements ApiRequest {
  readonly method: string;
  readonly url: string;
  readonly sendsBytes = true;
  readonly caller: Caller;
  readonly remoteAddress: string;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse | undefined;
  #body: ApiBody | undefined;
  #headers: Headers | undefined;
  #signal: AbortSignal | undefined;

  /** Without a response the caller provides the signal. */
  constructor(request: IncomingMessage, response: ServerResponse | undefined, connection: Connection) {
    this.#request = request;
    this.#response = response;
    this.method = request.method!;
    this.url = originForm(request.url!);
    this.caller = connection.caller;
    this.remoteAddress = connection.remoteAddress;
  }

  get headers(): Headers {
    return (this.#headers ??= headersOf(this.#request.rawHeaders));
  }

  get signal(): AbortSignal {
    return (this.#signal ??= this.#response ? abortedByClose(this.#response) : new AbortController().signal);
  }

  get body(): ApiBody | undefined {
    return (this.#body ??= this.#bodyOf());
  }

  #bodyOf(): ApiBody | undefined {
    const {'content-length': length, 'transfer-encoding': encoding} = this.headers;
    if (encoding === undefined && (length === undefined || length === '0')) return undefined;
    return new UnreadBody(this.#request, Number(length), collectHttp1);
  }
}

/**
 * A request for an upgrade of its connection, which may also be handled as any other. `bearer` is a token that was not
 * in the Authorization header.
 */
export const upgradeRequest = (
  incoming: IncomingMessage,
  socket: Duplex,
  connection: Connection,
  bearer?: {readonly token: string; readonly protocols: string},
): ApiRequest => {
  const {method, url, headers, caller, remoteAddress, body} = new Http1Request(incoming, undefined, connection);
  const gone = new AbortController();
  if (socket.destroyed) gone.abort(disconnected());
  else socket.once('close', () => gone.abort(disconnected()));
  const withToken = bearer && !headers['authorization'] ? {...headers, authorization: `Bearer ${bearer.token}`} : headers;
  return {
    method,
    url,
    headers: bearer ? {...withToken, 'sec-websocket-protocol': bearer.protocols} : headers,
    caller,
    remoteAddress,
    ...(body ? {body: unreadableBody} : {}),
    signal: gone.signal,
    upgradable: true,
  };
};

/** Names are in lower case already (RFC 9113 §8.2.1). */
const asSent = (name: string): string => name;

/** A request over HTTP/2. */
export class Http2Request implements ApiRequest {
  readonly method: string;
  readonly url: string;
  readonly isHttp2 = true;
  readonly sendsBytes = true;
  readonly caller: Caller;
  readonly remoteAddress: string;
  readonly body: UnreadBody<ServerHttp2Stream> | undefined;
  readonly #raw: readonly string[];
  readonly #stream: ServerHttp2Stream;
  #headers: Headers | undefined;
  #signal: AbortSignal | undefined;

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, flags: number, raw: readonly string[], connection: Connection) {
    this.#stream = stream;
    this.#raw = raw;
    this.method = headers[':method'] ?? '';
    this.url = headers[':path'] ?? '';
    this.caller = connection.caller;
    this.remoteAddress = connection.remoteAddress;
    this.body =
      flags & constants.NGHTTP2_FLAG_END_STREAM
        ? undefined
        : new UnreadBody(stream, Number(headers['content-length'] ?? Number.NaN), collectHttp2);
  }

  get headers(): Headers {
    return (this.#headers ??= headersOf(this.#raw, asSent));
  }

  get signal(): AbortSignal {
    return (this.#signal ??= abortedByClose(this.#stream));
  }
}

const abortedByClose = (response: ServerResponse | ServerHttp2Stream): AbortSignal => {
  const controller = new AbortController();
  if (response.destroyed) controller.abort(disconnected());
  else
    response.once('close', () => {
      if (!response.writableFinished) controller.abort(disconnected());
    });
  return controller.signal;
};

/** Path and query; the absolute form of a proxy is reduced to them (RFC 9112 §3.2.2). */
const originForm = (target: string): string => (target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?#]*/i, '') || '/');
