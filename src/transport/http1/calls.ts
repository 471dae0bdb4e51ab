// HTTP/1.1 calls to one server, whose requests and responses are held in memory: for webhooks. Errors use Go's wording.

import {type ClientRequest, type IncomingMessage, type OutgoingHttpHeaders, type RequestOptions} from 'node:http';
import {BodyChunks} from '#src/base/collections/body-chunks.js';
import type {Clock} from '#src/base/clock.js';
import {beginRequest} from '#src/transport/begin-request.js';
import type {Target} from '#src/transport/dial.js';
import {requestError} from '#src/transport/error-words.js';
import {connections, isSafe, isStale, maxHeaderBytes, type Addressed, type ConnectionsOptions} from './connections.js';

/** One call of a server. The whole response is read; redirects are not followed. */
export interface Call {
  readonly method: string;
  /** As in URLs: with the port only if it was given. */
  readonly host: string;
  readonly path: string;
  readonly headers: Readonly<OutgoingHttpHeaders>;
  readonly body: string | Buffer;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** A response with a longer body is rejected. */
  readonly maxBytes: number;
  /** Told of the bytes of the response as they arrive; the response is given up if it throws. */
  readonly onBytes?: (length: number) => void;
  /** Whether the server may receive it twice, although its method is not safe. */
  readonly isRepeatable?: boolean;
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

/**
 * Calls a server over connections of its own. A call that may be repeated is sent once more if its connection had been
 * idle, and was closed before any byte of the response.
 */
export const callsTo = (target: Target, options: ConnectionsOptions): KeepAliveCalls => {
  const {clock} = options;
  const {reused: agent, [Symbol.dispose]: close} = connections(options);
  const to = {agent, target, maxHeaderSize: maxHeaderBytes};
  return {
    async send(call) {
      using _ = clock.hold();
      const deadline = clock.monotonic() + call.timeoutMs;
      try {
        return await attempt(to, call, call.timeoutMs, clock);
      } catch (error) {
        if (!(error instanceof Stale) || !(call.isRepeatable || isSafe(call.method))) throw error;
        return await attempt(to, call, deadline - clock.monotonic(), clock);
      }
    },
    close,
  };
};

/** The server had closed the connection. */
class Stale extends Error {}

const attempt = (to: Addressed & RequestOptions, call: Call, leftMs: number, clock: Clock): Promise<CallResult> =>
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
    clientRequest = beginRequest({...to, method, path, headers: {Host: host, ...headers, 'Content-Length': Buffer.byteLength(body)}});
    const sent = clientRequest;
    sent.on('error', error => {
      const reason = requestError(error, sent.socket);
      fail(isStale(sent, error) ? new Stale(reason.message, {cause: reason}) : reason);
    });
    clientRequest.on('response', response => {
      isAnswering = true;
      void read(response, call).then(result => settle(() => resolve(result)), fail);
    });
    clientRequest.on('upgrade', (response, socket) => {
      socket.destroy();
      settle(() => resolve(resultOf(response, Buffer.alloc(0))));
    });
    clientRequest.end(body);
  });

const brokenOff = (why: string, cause: unknown): BrokenResponse =>
  new BrokenResponse(`unexpected error when reading response body. Please retry. Original error: ${why}`, {cause});

const read = async (response: IncomingMessage, {maxBytes, onBytes}: Call): Promise<CallResult> => {
  const chunks = new BodyChunks();
  let length = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > maxBytes) break;
      onBytes?.(chunk.length);
      chunks.push(chunk);
    }
  } catch (cause) {
    if (cause instanceof BrokenResponse) throw cause;
    throw brokenOff('unexpected EOF', cause);
  }
  if (length > maxBytes) {
    response.destroy();
    throw new BrokenResponse(`the response has more than ${maxBytes} bytes`);
  }
  return resultOf(response, chunks.take());
};

const resultOf = ({headers, statusCode: status = 0}: IncomingMessage, body: Buffer): CallResult => ({
  status,
  header: name => {
    const value = headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  },
  body,
});
