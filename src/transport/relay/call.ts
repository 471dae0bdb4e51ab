// Relays ordinary requests to backends: bodies are streamed in both directions, headers are filtered. A request is
// repeated at most once: without a body, with a safe method, after an idle connection was closed.

import type {ClientRequest, IncomingMessage, RequestOptions} from 'node:http';
import {jsonText} from '#src/base/json/json.js';
import {Readable} from 'node:stream';
import type {ApiBody, ApiRequest, ApiResponse} from '#src/api/request.js';
import {beginRequest} from '#src/transport/begin-request.js';
import type {SentCall} from '#src/transport/call-log.js';
import {authority, type Target} from '#src/transport/dial.js';
import {requestError} from '#src/transport/error-words.js';
import {isSafe, isStale, maxHeaderBytes, Unreached, type Addressed, type Connections} from '#src/transport/http1/connections.js';
import {responseHeaders, requestHeaders, type HeaderRecord} from './headers.js';

/** A request relayed to a backend. */
export interface RelayRequest {
  readonly request: ApiRequest;
  readonly to: Target;
  /** The path and query at the backend. */
  readonly path: string;
  /** The method, if it differs from the client's. */
  readonly method?: string;
  /** The `Host` header. Default: the client's. */
  readonly host?: string;
  /**
   * Headers that are added to or replace the client's; names in lower case. An undefined value removes the client's.
   */
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Whether a redirect is replaced by an error. */
  readonly refusesRedirects?: boolean;
  /** The limit of an upgraded connection, in each direction. Default: none. */
  readonly bytesPerSecond?: number | undefined;
  /** The time limit of the response head. Default: none. */
  readonly timeoutMs?: number;
}

/**
 * Relays a request and its response, both unchanged. Redirects are relayed too. Rejects when no response began, with
 * the reason as upstream's clients word it; a response that breaks off later is broken off.
 */
export const relayCall = async (connections: Connections, relayed: RelayRequest): Promise<ApiResponse> => {
  using _ = connections.clock.hold();
  const {request, refusesRedirects} = relayed;
  request.signal.throwIfAborted();
  const {body} = request;
  const answer = await connections.calls.run(
    () => sentOf(connections, relayed),
    () => sendRequest(connections, relayed, body ? readableOf(body) : undefined),
    ({statusCode}) => ({status: statusCode}),
  );
  if (refusesRedirects && isRedirect(answer)) {
    answer.destroy();
    return {
      status: 502,
      headers: {},
      body: {
        kind: 'bytes',
        bytes: 'the backend attempted to redirect this request, which is not permitted',
        contentType: 'text/plain; charset=utf-8',
      },
    };
  }
  return {status: answer.statusCode!, headers: responseHeaders(answer), body: {kind: 'stream', source: answer}};
};

const isRedirect = ({statusCode = 0, headers}: IncomingMessage): boolean =>
  statusCode >= 300 && statusCode < 400 && Boolean(headers.location);

const readableOf = (body: ApiBody): Readable => {
  if (body.kind === 'object') return Readable.from([Buffer.from(jsonText(body.value))]);
  if (body.stream) return body.stream();
  return Readable.from(
    (async function* () {
      yield await body.read(Infinity);
    })(),
  );
};

/** The loggable parts of a request. Bodies pass through unread. */
export const sentOf = (connections: Connections, relayed: RelayRequest): SentCall => {
  const {method, headers} = optionsOf(connections, relayed);
  return {
    method: method ?? '',
    url: `${relayed.to.scheme}://${authority(relayed.to)}${relayed.path}`,
    headers: Object.entries(headers as HeaderRecord),
  };
};

/** The request options for Node, including the backend for the agent. */
export const optionsOf = (
  {isHeldBack}: Connections,
  {request, to, path, method, host, headers: more}: RelayRequest,
): RequestOptions & Addressed => {
  const headers: HeaderRecord = {...requestHeaders(request, isHeldBack), host: host ?? String(request.headers['host'] ?? authority(to))};
  for (const [name, value] of Object.entries(more ?? {})) {
    if (value === undefined) delete headers[name];
    else headers[name] = value;
  }
  return {
    target: to,
    method: method ?? request.method,
    path,
    headers: headers as Record<string, string | string[]>,
    setHost: false,
    maxHeaderSize: maxHeaderBytes,
    signal: request.signal,
  };
};

/** Methods whose requests state an empty body. */
const methodsWithBody = new Set(['POST', 'PUT', 'PATCH']);

const sendRequest = (connections: Connections, relayed: RelayRequest, body: Readable | undefined): Promise<IncomingMessage> => {
  const options = optionsOf(connections, relayed);
  const headers = options.headers as Record<string, string>;
  // The length must be that of the sent body: otherwise the backend would read following data as a part of it.
  if (!body) delete headers['content-length'];
  if (!body && methodsWithBody.has(options.method!)) headers['content-length'] = '0';
  if (body && headers['content-length'] === undefined) headers['transfer-encoding'] = 'chunked';
  const attempt = (again: boolean) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const sent = beginRequest({...options, agent: connections.reused});
      // The backend may have closed an idle connection.
      const retries = (error: Error) => again && !body && isSafe(sent.method) && isStale(sent, error);
      sent.once('response', resolve);
      // Without a listener the request would never end.
      sent.once('upgrade', (answer, socket) => {
        socket.destroy();
        reject(new Error(`backend tried to switch protocol ${JSON.stringify(answer.headers.upgrade ?? '')} when "" was requested`));
      });
      sent.on('error', error => (retries(error) ? attempt(false).then(resolve, reject) : reject(reasonOf(relayed, error, sent))));
      // A request that waits for its connection does not observe the abort signal.
      const onCallerGone = () => reject(reasonOf(relayed, new Error('the caller left')));
      relayed.request.signal.addEventListener('abort', onCallerGone, {once: true});
      sent.once('close', () => relayed.request.signal.removeEventListener('abort', onCallerGone));
      limitTime(connections, relayed, sent);
      if (!body) return sent.end();
      // The backend may respond before the body has been received.
      // Unlike `flushHeaders`, this keeps the bytes of headers unchanged.
      sent.write(Buffer.alloc(0));
      body.once('error', error => sent.destroy(error)).pipe(sent);
    });
  return attempt(true);
};

/** Returns why a request failed: its caller disconnected, or the error. */
export const reasonOf = ({request: {signal}}: RelayRequest, error: Error, sent?: ClientRequest): Error => {
  if (signal.aborted) return new Error('context canceled', {cause: error});
  return error instanceof Unreached ? error : requestError(error, sent?.socket);
};

/** Applies the timeout of the response head. */
export const limitTime = ({clock}: Connections, {timeoutMs}: RelayRequest, sent: ClientRequest): void => {
  if (timeoutMs === undefined) return;
  const timer = clock.schedule(timeoutMs, () => sent.destroy(new Error('net/http: timeout awaiting response headers')));
  for (const end of ['response', 'upgrade', 'close']) sent.once(end, () => timer[Symbol.dispose]());
};
