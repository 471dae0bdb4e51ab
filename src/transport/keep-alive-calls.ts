// HTTP/1.1 calls over reused connections to one server, for webhooks. A call is retried only if an idle connection was closed before any byte of the
// response. Errors use Go's wording.

import {Agent, request, type RequestOptions} from 'node:https';
import type {ClientRequest, IncomingMessage, OutgoingHttpHeaders} from 'node:http';
import type {Duplex} from 'node:stream';
import type {TLSSocket} from 'node:tls';
import type {Clock} from '#src/base/clock.js';

/** One call of a server. The whole response is read; redirects are not followed. */
export interface Call {
  readonly method: string;
  /** As in URLs: with the port only if it was given. */
  readonly host: string;
  readonly path: string;
  readonly headers: Readonly<OutgoingHttpHeaders>;
  readonly body: string;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** A response with a longer body is rejected. */
  readonly maxBytes: number;
}

export interface CallResult {
  readonly status: number;
  header(name: string): string | undefined;
  readonly body: Buffer;
}

/** Calls a server over reused connections. */
export interface KeepAliveCalls {
  /** Rejects with the error of a missing response, in Go's wording. */
  send(call: Call): Promise<CallResult>;
  /** Aborts calls in progress and closes all connections. */
  close(): void;
}

/** The maximum number of idle connections kept. */
const maxIdle = 25;

class DialingAgent extends Agent {
  readonly #dial: () => Promise<TLSSocket>;

  constructor(dial: () => Promise<TLSSocket>) {
    super({keepAlive: true, maxFreeSockets: maxIdle, timeout: 90_000});
    this.#dial = dial;
  }

  override createConnection(_: RequestOptions, done: (error: Error | null, socket: Duplex) => void = () => {}): undefined {
    this.#dial().then(
      socket => done(null, socket),
      (error: Error) => done(error, undefined as never),
    );
  }
}

/** The reason a call was aborted. */
export class CallAborted extends Error {
  readonly isCanceled: boolean;

  constructor(isCanceled: boolean) {
    super(isCanceled ? 'context canceled' : 'context deadline exceeded');
    this.isCanceled = isCanceled;
  }
}

/** The response broke off or was too long. */
export class BrokenResponse extends Error {}

/** Calls a server over connections that `dial` opens. */
export const keepAliveCalls = (dial: () => Promise<TLSSocket>, clock: Clock): KeepAliveCalls => {
  const agent = new DialingAgent(dial);
  return {
    async send(call) {
      using _ = clock.hold();
      const deadline = clock.monotonic() + call.timeoutMs;
      try {
        return await attempt(agent, call, call.timeoutMs, clock);
      } catch (error) {
        // The server may close an idle connection just when it is used again; no response has begun then.
        if (!(error instanceof Stale)) throw error;
        return await attempt(agent, call, deadline - clock.monotonic(), clock);
      }
    },
    close: () => agent.destroy(),
  };
};

class Stale extends Error {}

const attempt = (agent: Agent, call: Call, leftMs: number, clock: Clock): Promise<CallResult> =>
  new Promise((resolve, reject) => {
    const {method, host, path, headers, body, signal} = call;
    let clientRequest: ClientRequest | undefined;
    let isOver = false;
    const settle = (finish: () => void): void => {
      if (isOver) return;
      isOver = true;
      timer[Symbol.dispose]();
      signal?.removeEventListener('abort', canceled);
      finish();
    };
    const fail = (error: Error): void => settle(() => reject(error));
    let isAnswering = false;
    const abort = (isCanceled: boolean): void => {
      const cause = new CallAborted(isCanceled);
      fail(isAnswering ? brokenOff(cause.message, cause) : cause);
      clientRequest?.destroy();
    };
    const canceled = () => abort(true);
    const timer = clock.schedule(leftMs, () => abort(false));
    signal?.addEventListener('abort', canceled, {once: true});
    if (signal?.aborted) return canceled();
    clientRequest = request({agent, method, path, headers: {Host: host, ...headers, 'Content-Length': Buffer.byteLength(body)}});
    clientRequest.on('error', (error: NodeJS.ErrnoException) =>
      fail(
        clientRequest!.reusedSocket && error.code === 'ECONNRESET'
          ? new Stale(error.message, {cause: error})
          : requestError(error, clientRequest!),
      ),
    );
    clientRequest.on('response', response => {
      isAnswering = true;
      void read(response, call.maxBytes).then(answer => settle(() => resolve(answer)), fail);
    });
    clientRequest.end(body);
  });

const brokenOff = (why: string, cause: unknown): BrokenResponse =>
  new BrokenResponse(`unexpected error when reading response body. Please retry. Original error: ${why}`, {cause});

const read = async (response: IncomingMessage, maxBytes: number): Promise<CallResult> => {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > maxBytes) break;
      chunks.push(chunk);
    }
  } catch (cause) {
    throw brokenOff('unexpected EOF', cause);
  }
  if (length > maxBytes) {
    response.destroy();
    throw new BrokenResponse(`the response has more than ${maxBytes} bytes`);
  }
  const {headers, statusCode: status = 0} = response;
  return {
    status,
    header: name => {
      const value = headers[name];
      return Array.isArray(value) ? value.join(', ') : value;
    },
    body: Buffer.concat(chunks),
  };
};

/** The error of a request without a response. Errors of dialing are returned unchanged. */
const requestError = (error: NodeJS.ErrnoException, {socket}: ClientRequest): Error => {
  const {message} = error;
  // Errors of dialing may have a code of another kind.
  const code = String(error.code ?? '');
  if (code.startsWith('HPE_')) return new Error(`net/http: HTTP/1.x transport connection broken: ${message}`, {cause: error});
  if (code === 'ECONNRESET' && message === 'socket hang up') return new Error('EOF', {cause: error});
  const alert = /^ERR_SSL_(?:TLSV1|TLSV13|SSLV3)_ALERT_(.+)$/.exec(code)?.[1];
  if (alert) return new Error(`remote error: tls: ${alert.toLowerCase().replaceAll('_', ' ')}`, {cause: error});
  if (code === 'ECONNRESET')
    return new Error(
      `read tcp ${socket?.localAddress}:${socket?.localPort}->${socket?.remoteAddress}:${socket?.remotePort}: read: connection reset by peer`,
      {cause: error},
    );
  return error;
};
