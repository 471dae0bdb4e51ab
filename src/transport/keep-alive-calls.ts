import {Agent, request, type RequestOptions} from 'node:https';
import type {ClientRequest, IncomingMessage, OutgoingHttpHeaders} from 'node:http';
import type {Duplex} from 'node:stream';
import type {TLSSocket} from 'node:tls';
import type {Clock} from '#src/base/clock.js';

/** One call of a server. The whole answer is read; redirects are answers like others. */
export interface Call {
  readonly method: string;
  /** As URLs have it: with the port only where it was said. */
  readonly host: string;
  readonly path: string;
  readonly headers: Readonly<OutgoingHttpHeaders>;
  readonly body: string;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** An answer with a longer body is refused. */
  readonly maxBytes: number;
}

export interface Answer {
  readonly status: number;
  header(name: string): string | undefined;
  readonly body: Buffer;
}

/** A server's connections, kept from call to call. */
export interface KeepAliveCalls {
  /** Rejects with why there is no answer, in the words that clients of the original know. */
  send(call: Call): Promise<Answer>;
  /** Ends what is under way and closes all connections. */
  close(): void;
}

/** Of a server that is called often by many at once; more than these are opened and closed again. */
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

/** Why waiting ended. */
export class CallAborted extends Error {
  readonly isCanceled: boolean;

  constructor(isCanceled: boolean) {
    super(isCanceled ? 'context canceled' : 'context deadline exceeded');
    this.isCanceled = isCanceled;
  }
}

/** The answer began and then broke off, or was too long. */
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
        // The other end may close a connection it kept just when it is used again; nothing has been answered then.
        if (!(error instanceof Stale)) throw error;
        return await attempt(agent, call, deadline - clock.monotonic(), clock);
      }
    },
    close: () => agent.destroy(),
  };
};

class Stale extends Error {}

const attempt = (agent: Agent, call: Call, leftMs: number, clock: Clock): Promise<Answer> =>
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
    clientRequest.on('error', (error: NodeJS.ErrnoException) => fail(clientRequest!.reusedSocket && error.code === 'ECONNRESET' ? new Stale(error.message, {cause: error}) : requestError(error, clientRequest!)));
    clientRequest.on('response', response => {
      isAnswering = true;
      void read(response, call.maxBytes).then(answer => settle(() => resolve(answer)), fail);
    });
    clientRequest.end(body);
  });

const brokenOff = (why: string, cause: unknown): BrokenResponse => new BrokenResponse(`unexpected error when reading response body. Please retry. Original error: ${why}`, {cause});

const read = async (response: IncomingMessage, maxBytes: number): Promise<Answer> => {
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

/** What went wrong between the request and its answer. What dialing says of itself stays as it is. */
const requestError = (error: NodeJS.ErrnoException, {socket}: ClientRequest): Error => {
  const {message} = error;
  // What dialing rejects with may have a code of another kind.
  const code = String(error.code ?? '');
  if (code.startsWith('HPE_')) return new Error(`net/http: HTTP/1.x transport connection broken: ${message}`, {cause: error});
  if (code === 'ECONNRESET' && message === 'socket hang up') return new Error('EOF', {cause: error});
  const alert = /^ERR_SSL_(?:TLSV1|TLSV13|SSLV3)_ALERT_(.+)$/.exec(code)?.[1];
  if (alert) return new Error(`remote error: tls: ${alert.toLowerCase().replaceAll('_', ' ')}`, {cause: error});
  if (code === 'ECONNRESET') return new Error(`read tcp ${socket?.localAddress}:${socket?.localPort}->${socket?.remoteAddress}:${socket?.remotePort}: read: connection reset by peer`, {cause: error});
  return error;
};
