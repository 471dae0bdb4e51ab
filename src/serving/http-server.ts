// The HTTP server: converts requests of HTTP/1.1, HTTP/2 and WebSocket watches into API requests, calls the handler,
// and sends the responses. It adds HSTS, CORS and compression. Sockets belong to listener.ts.

import {andThen} from '#src/base/eventually.js';
import type {IncomingMessage, ServerResponse} from 'node:http';
import type {Duplex} from 'node:stream';
import {constants, type IncomingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream} from 'node:http2';
import {discard, type ApiRequest, type ApiResponse, type ApiHandler} from '#src/api/request.js';
import {StatusError, badRequest, internalError, methodNotAllowed} from '#src/api/status.js';
import type {Clock} from '#src/base/clock.js';
import type {Random} from '#src/base/random.js';
import {compressed} from './compression.js';
import {type Cors, cors, type OriginPattern} from './cors.js';
import {sendHttp1} from './http1-response.js';
import {sendHttp2} from './http2-response.js';
import {Deliveries} from './deliveries.js';
import {sizeOf} from './http-headers.js';
import {connectionOf, Http1Request, Http2Request, upgradeRequest} from './http-request.js';
import {lastResponse} from './last-response.js';
import {isMalformed, malformation, refuseMalformed} from './malformed.js';
import type {RequestHandler} from './listener.js';
import {isWebSocketRequest, namesOrigin, originRefused, tokenOf, WebSocketWatches} from './websocket.js';
import {Frames, type OutboxLimits, outboxDefaults} from './outbox.js';

export interface HttpServerOptions {
  readonly clock: Clock;
  readonly random: Random;
  /**
   * The fraction of HTTP/2 requests after which the client is asked to reconnect, so that clients spread over servers.
   */
  readonly goawayChance?: number | undefined;
  /** The directives of `Strict-Transport-Security`; without any the header is not sent. */
  readonly hsts?: readonly string[] | undefined;
  /** Regular expressions of allowed origins; without any CORS is off. */
  readonly corsOrigins?: readonly OriginPattern[] | undefined;
  readonly outbox?: Partial<OutboxLimits>;
  /** Tracks the responses that are being sent; by default with the default limit. */
  readonly deliveries?: Deliveries;
  /** Whether large bodies are compressed for clients that accept it, which is so unless given. */
  readonly compresses?: boolean;
  /** Called for failures of this server while handling a request. */
  readonly onFault?: (fault: unknown) => void;
}

/** Serves an API handler over HTTP, with counts of its watches. */
export interface HttpServer extends RequestHandler {
  /** The number of open watch streams. */
  readonly watchers: number;
  readonly cutOff: number;
  /** Passes all further requests to another handler. */
  serve(handler: ApiHandler): void;
}

/**
 * Converts requests of both HTTP versions into API requests, and responses into bytes. No input of a client makes it
 * throw.
 */
export const createHttpServer = (handler: ApiHandler, options: HttpServerOptions): HttpServer => new ApiHttpServer(handler, options);

const ignore = () => {};

/** What a request takes until its answer is read, besides its headers and the body of the answer. */
const answerBytes = 16 << 10;

class ApiHttpServer implements HttpServer {
  #handler: ApiHandler;
  readonly #frames: Frames;
  readonly #cors: Cors | undefined;
  readonly #hsts: string | undefined;
  readonly #goaway: (() => boolean) | undefined;
  readonly fault: (fault: unknown) => void;
  readonly #compresses: boolean;
  readonly #watches: WebSocketWatches;
  readonly #deliveries: Deliveries;

  constructor(
    handler: ApiHandler,
    {
      clock,
      random,
      goawayChance = 0,
      hsts = [],
      corsOrigins = [],
      outbox,
      deliveries = new Deliveries(clock),
      compresses = true,
      onFault = ignore,
    }: HttpServerOptions,
  ) {
    this.#handler = handler;
    this.#watches = new WebSocketWatches(clock);
    this.#deliveries = deliveries;
    this.#frames = new Frames(clock, {...outboxDefaults, ...outbox});
    this.#cors = corsOrigins.length > 0 ? cors(corsOrigins) : undefined;
    this.#hsts = hsts.length > 0 ? hsts.join('; ') : undefined;
    this.#goaway = goawayChance > 0 ? () => random.float() < goawayChance : undefined;
    this.#compresses = compresses;
    this.fault = onFault;
  }

  get watchers(): number {
    return this.#frames.watchers;
  }

  get cutOff(): number {
    return this.#frames.cutOff;
  }

  serve(handler: ApiHandler): void {
    this.#handler = handler;
  }

  http1(incoming: IncomingMessage, outgoing: ServerResponse): void {
    outgoing.on('error', ignore);
    const reason = malformation(incoming);
    if (reason !== undefined) return refuseMalformed(outgoing, reason);
    const request = new Http1Request(incoming, outgoing, connectionOf(incoming.socket));
    const send = (response: ApiResponse) => this.#sendHttp1(incoming, outgoing, response);
    this.#answer(request, send, () => outgoing.destroy());
  }

  upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', ignore);
    const reason = malformation(incoming);
    if (reason !== undefined) return refuseMalformed(lastResponse(incoming, socket), reason);
    const isWebSocket = isWebSocketRequest(incoming);
    const request = upgradeRequest(incoming, socket, connectionOf(incoming.socket), isWebSocket ? tokenOf(incoming) : undefined);
    const send = (response: ApiResponse): void | Promise<void> => {
      const {body} = response;
      if (socket.destroyed) discard(response);
      else if (body.kind === 'upgrade') {
        const upgraded = this.#deliveries.upgrade(socket);
        body.take(socket, head, bytes => upgraded.setBufferSource(bytes))?.catch(abandon);
      } else if (body.kind === 'watch' && isWebSocket) {
        if (!namesOrigin(incoming)) return refuse(response);
        const sent = this.#deliveries.send(socket, response.delivery);
        this.#watches.serve(body, {incoming, socket, head, sent}).catch(abandon);
      } else return this.#sendHttp1(incoming, lastResponse(incoming, socket), response);
    };
    const refuse = (response: ApiResponse): void => {
      discard(response);
      socket.end(originRefused);
    };
    const abandon = (fault?: unknown): void => {
      if (fault) this.fault(fault);
      socket.destroy();
    };
    this.#answer(request, send, abandon);
  }

  http2(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, flags: number, raw: readonly string[]): void {
    stream.on('error', ignore);
    const session = stream.session as ServerHttp2Session | undefined;
    if (!session) return;
    if (isMalformed(headers)) return stream.close(constants.NGHTTP2_PROTOCOL_ERROR);
    const request = new Http2Request(stream, headers, flags, raw, connectionOf(session));
    if (this.#goaway?.()) session.close();
    const ownBytes = answerBytes + sizeOf(raw);
    const send = (response: ApiResponse) => {
      if (response.headers['Connection'] === 'close') session.close();
      return sendHttp2(stream, request, response, {frames: this.#frames, sent: this.#deliveries.send(stream, response.delivery, ownBytes)});
    };
    this.#answer(request, send, () => stream.close(constants.NGHTTP2_INTERNAL_ERROR));
  }

  #sendHttp1(incoming: IncomingMessage, outgoing: ServerResponse, response: ApiResponse): void | Promise<void> {
    const ownBytes = answerBytes + sizeOf(incoming.rawHeaders) + incoming.url!.length;
    const sent = this.#deliveries.send(outgoing, response.delivery, ownBytes);
    return sendHttp1(incoming, outgoing, response, {frames: this.#frames, sent});
  }

  #answer(request: ApiRequest, send: (response: ApiResponse) => void | Promise<void>, abandon: () => void): void {
    const deliver = (response: ApiResponse): void => {
      try {
        const ready = this.#compresses ? compressed(request, response) : response;
        const sending = andThen(ready, send);
        if (sending) sending.catch(failed);
      } catch (fault) {
        failed(fault);
      }
      function failed(fault: unknown): void {
        response.delivery?.[Symbol.dispose]();
        fail(fault);
      }
    };
    const fail = (fault: unknown): void => {
      // A status error in the middle of a response has been reported already.
      if (!(fault instanceof StatusError)) this.fault(fault);
      abandon();
    };
    const refuse = (fault: unknown): void => {
      this.fault(fault);
      deliver(failure(internalError(fault)));
    };
    try {
      this.#respond(request).then(deliver, refuse);
    } catch (fault) {
      refuse(fault);
    }
  }

  #respond(request: ApiRequest): Promise<ApiResponse> {
    const refusal = refusalOf(request);
    if (!this.#cors && !this.#hsts) return refusal ? Promise.resolve(failure(refusal)) : this.#handler(request);
    return this.#decorated(request, refusal);
  }

  async #decorated(request: ApiRequest, refusal: StatusError | undefined): Promise<ApiResponse> {
    const verdict = this.#cors?.(request.method, request.headers);
    const response = refusal ? failure(refusal) : (verdict?.preflight ?? (await this.#handler(request)));
    return {
      ...response,
      headers: {...response.headers, ...verdict?.headers, ...(this.#hsts ? {'Strict-Transport-Security': this.#hsts} : {})},
    };
  }
}

/** The refusal of a request before the handler. */
const refusalOf = (request: ApiRequest): StatusError | undefined => {
  if (request.url.charCodeAt(0) !== 47)
    return request.method === 'CONNECT'
      ? methodNotAllowed({group: '', resource: ''}, 'connect')
      : badRequest('the request target is not a path');
  return undefined;
};

const failure = ({status}: StatusError): ApiResponse => ({
  status: status.code ?? 500,
  headers: {'Cache-Control': 'no-cache, private'},
  body: {kind: 'bytes', bytes: `${JSON.stringify(status)}\n`, contentType: 'application/json'},
});
