import {setMaxListeners} from 'node:events';
import type {Readable} from 'node:stream';
import type {ApiBody, ApiRequest, ApiResponse, ApiHandler, WatchSink} from '#src/api/request.js';
import type {Naming} from '#src/api/naming.js';
import type {UserInfo} from '#src/api/user.js';
import type {Call, Caller, Reply, WatchListener} from './caller.js';
import type {Client} from './client.js';
import {eventSink} from './event-sink.js';
import {clientOver} from './resource-client.js';

export interface InProcessOptions {
  readonly naming: Naming;
  /** Whom the calls act as. The process vouches for it: nothing is authenticated, all else is as for everyone. */
  readonly user: UserInfo;
  readonly userAgent: string;
}

/**
 * A client of the API server in the same process: every step of a request but sockets and bytes. What it reads is shared with the
 * server and frozen; what it writes is copied.
 */
export const inProcessClient = (handler: ApiHandler, options: InProcessOptions): Client =>
  clientOver(inProcessCaller(handler, options), options.naming);

const never = new AbortController().signal;
setMaxListeners(0, never); // As many listen as there are calls at once.

/** A caller that reaches the API handler in process as one user. */
export const inProcessCaller = (handler: ApiHandler, {user, userAgent}: Omit<InProcessOptions, 'naming'>): Caller => {
  const caller = {user};
  const request = (call: Call): ApiRequest => ({
    method: call.method,
    url: call.path,
    headers: {
      accept: call.accept ?? 'application/json',
      'user-agent': userAgent,
      ...(call.body === undefined ? {} : {'content-type': call.contentType ?? 'application/json'}),
    },
    caller,
    remoteAddress: '127.0.0.1',
    body: bodyOf(call.body),
    signal: call.signal ?? never,
    inProcess: true,
  });
  return {
    async call(call) {
      call.signal?.throwIfAborted();
      const response = await unlessAborted(handler(request(call)), call.signal);
      return replyOf(await complete(response, call.signal));
    },
    async watch(call, listener) {
      call.signal.throwIfAborted();
      const response = await handler(request(call));
      if (response.body.kind === 'stream') return relayed(response, response.body.source, listener, call.signal);
      if (response.body.kind !== 'watch') return replyOf(response);
      call.signal.throwIfAborted();
      attach(response.body, listener, call.signal);
      return undefined;
    },
  };
};

const bodyOf = (body: unknown): ApiBody | undefined => {
  if (body === undefined) return undefined;
  if (typeof body !== 'string') return {kind: 'object', value: detached(body)};
  return {kind: 'bytes', read: () => Promise.resolve(Buffer.from(body))};
};

/** A copy as JSON would make it. Callers build objects from parts of frozen ones and keep what they send; the server may change what it gets. */
const detached = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(item => (item === undefined ? null : detached(item)));
  if ('toJSON' in value && typeof value.toJSON === 'function') return (value.toJSON as () => unknown)();
  const copy: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    if (item === undefined) continue;
    if (key === '__proto__') Object.defineProperty(copy, key, {value: detached(item), enumerable: true, configurable: true, writable: true});
    else copy[key] = detached(item);
  }
  return copy;
};

const replyOf = ({status, headers, body}: ApiResponse): Reply => ({
  status,
  header(name) {
    for (const key in headers) if (key.toLowerCase() === name) return String(headers[key]);
    return undefined;
  },
  body: contentOf(body),
});

const contentOf = (body: ApiResponse['body']): unknown => {
  switch (body.kind) {
    case 'object':
      return body.object();
    case 'bytes': {
      const text = body.bytes.toString();
      return body.contentType.startsWith('application/json') ? JSON.parse(text) : text;
    }
    case 'empty':
    case 'pages':
    case 'watch':
    case 'stream':
    case 'upgrade':
      return undefined;
  }
};

/** An answer that is at hand as a whole. */
const complete = async (response: ApiResponse, signal: AbortSignal | undefined): Promise<ApiResponse> => {
  const {body} = response;
  if (body.kind === 'stream') return whole(response, body.source);
  if (body.kind !== 'pages') return response;
  const object = await unlessAborted(body.object(), signal);
  return {...response, body: {kind: 'object', contentType: body.contentType, object: () => object, bytes: () => Buffer.from(JSON.stringify(object))}};
};

/** An answer of someone else, read to its end. */
const whole = async (response: ApiResponse, source: Readable): Promise<ApiResponse> => {
  const bytes = Buffer.concat((await source.toArray()) as Buffer[]);
  return {...response, body: {kind: 'bytes', bytes, contentType: String(response.headers['Content-Type'] ?? '')}};
};

/** Listens to a watch that someone else serves. */
const relayed = async (response: ApiResponse, source: Readable, listener: WatchListener, signal: AbortSignal): Promise<Reply | undefined> => {
  if (response.status !== 200) return replyOf(await whole(response, source));
  const sink = eventSink(listener, signal);
  source.on('data', (chunk: Buffer) => sink.data(chunk));
  source.once('end', () => sink.end());
  source.once('error', error => {
    if (!signal.aborted) sink.end(error);
  });
  const stop = () => void source.destroy();
  if (signal.aborted) stop();
  else signal.addEventListener('abort', stop, {once: true});
  source.once('close', () => signal.removeEventListener('abort', stop));
  return undefined;
};

const attach = (body: Extract<ApiResponse['body'], {kind: 'watch'}>, listener: WatchListener, signal: AbortSignal): void => {
  let over = false;
  const sink: WatchSink = {
    event(event) {
      if (over) return false;
      listener.event(event.type, event.object());
      return !over;
    },
    end() {
      if (over) return;
      over = true;
      listener.end();
    },
    drained: () => Promise.resolve(),
  };
  const subscription = body.start(sink);
  const stop = () => {
    over = true;
    subscription[Symbol.dispose]();
  };
  if (signal.aborted) stop();
  else signal.addEventListener('abort', stop, {once: true});
};

const unlessAborted = <T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> => {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', abort, {once: true});
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
};
