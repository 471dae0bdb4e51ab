import {andThen} from '#src/base/eventually.js';
import {jsonText, withNumbers} from '#src/base/json/json.js';
import {setMaxListeners} from 'node:events';
import type {Readable} from 'node:stream';
import {bodyLimit, type ApiBody, type ApiRequest, type ApiResponse, type ApiHandler, type WatchSink} from '#src/api/request.js';
import {entityTooLarge} from '#src/api/status.js';
import type {Naming} from '#src/api/naming.js';
import type {UserInfo} from '#src/api/user.js';
import {withClockHeld, systemClock, type Clock} from '#src/base/clock.js';
import {parseInSteps, pieceBytes} from '#src/base/json/json-steps.js';
import {encodedWithin} from '#src/base/json/json-text-steps.js';
import {jsonCopy, NotJson} from '#src/base/json/json-value.js';
import {weightLeft} from '#src/base/json/json-weight.js';
import {unlessAborted} from '#src/base/signals.js';
import {runStepsYielding, type Steps} from '#src/base/steps.js';
import {yieldToEventLoop, Yielder} from '#src/base/turn.js';
import type {Call, Caller, Reply, WatchListener} from './caller.js';
import type {Client} from './client.js';
import {eventSink} from './event-sink.js';
import {clientOver} from './resource-client.js';

export interface InProcessOptions {
  readonly naming: Naming;
  /** The user of the calls. It is not authenticated; all other steps apply. */
  readonly user: UserInfo;
  readonly userAgent: string;
  /** The system clock unless given. */
  readonly clock?: Clock;
}

/** What is sent beyond this weight goes as bytes: copying it would keep others waiting. */
const mostWeight = 4000;

/**
 * A client of the API server in the same process: every step of a request but sockets and bytes. What it reads is
 * shared with the server and frozen; what it writes is copied as JSON, and what is none is refused. What is large is
 * copied in pieces, and must not change before the answer; bodies have the limit of those of the network, and what is
 * longer is refused without being copied as a whole.
 */
export const inProcessClient = (handler: ApiHandler, options: InProcessOptions): Client =>
  clientOver(inProcessCaller(handler, options), options.naming);

const never = new AbortController().signal;
setMaxListeners(0, never); // No limit on listeners: each concurrent call adds one.

/** A caller that reaches the API handler in process as one user. */
export const inProcessCaller = (handler: ApiHandler, {user, userAgent, clock = systemClock}: Omit<InProcessOptions, 'naming'>): Caller => {
  const caller = {user};
  const slowly = <T>(work: Steps<T>): Promise<T> => withClockHeld(clock, () => runStepsYielding(work, new Yielder(clock)));
  const bodyOf = (body: unknown): ApiBody | undefined | Promise<ApiBody> => {
    if (body === undefined) return undefined;
    if (typeof body === 'string') return ofBytes(Buffer.from(body));
    const heavy = new Set<object>();
    if (weightLeft(body, mostWeight, heavy) >= 0) return {kind: 'object', value: jsonCopy(body)};
    // In another turn: the caller made the body in this one, and weighing it took as long as it has keys.
    return withClockHeld(clock, yieldToEventLoop)
      .then(() => slowly(encodedWithin(body, bodyLimit, heavy)))
      .catch((error: unknown) => {
        if (error instanceof NotJson) return slowly(encodedWithin(jsonCopy(body), bodyLimit));
        throw error;
      })
      .then(ofBytes);
  };
  const request = (call: Call, body: ApiBody | undefined): ApiRequest => ({
    method: call.method,
    url: call.path,
    headers: {
      accept: call.accept ?? 'application/json',
      'user-agent': userAgent,
      ...(call.body === undefined ? {} : {'content-type': call.contentType ?? 'application/json'}),
    },
    caller,
    remoteAddress: '127.0.0.1',
    body,
    signal: call.signal ?? never,
    inProcess: true,
  });
  return {
    async call(call) {
      call.signal?.throwIfAborted();
      const body = bodyOf(call.body);
      const answer = Promise.resolve(andThen(body, encoded => handler(request(call, encoded))));
      const response = await (call.signal ? unlessAborted(answer, call.signal) : answer);
      return replyOf(isWhole(response) ? response : await complete(response, call.signal, slowly));
    },
    async watch(call, listener) {
      call.signal.throwIfAborted();
      const response = await handler(request(call, undefined));
      if (response.body.kind === 'stream') return relayed(response, response.body.source, listener, call.signal);
      if (response.body.kind !== 'watch') return replyOf(response);
      call.signal.throwIfAborted();
      attach(response.body, listener, call.signal);
      return undefined;
    },
  };
};

/** A body of these bytes; undefined stands for more than any server reads. */
const ofBytes = (bytes: Buffer | undefined): ApiBody => ({
  kind: 'bytes',
  read: limit => (bytes && bytes.length <= limit ? Promise.resolve(bytes) : Promise.reject(entityTooLarge(`limit is ${limit}`))),
});

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
      return withNumbers(body.object());
    case 'bytes': {
      const text = body.bytes.toString();
      return isJson(body.contentType) ? JSON.parse(text) : text;
    }
    case 'empty':
    case 'pages':
    case 'watch':
    case 'stream':
    case 'upgrade':
      return undefined;
  }
};

/** Whether an answer is at hand as it is. */
const isWhole = ({body}: ApiResponse): boolean => body.kind === 'empty' || (body.kind === 'object' && !body.inPieces);

/** An answer that is at hand as a whole. */
const complete = async (
  response: ApiResponse,
  signal: AbortSignal | undefined,
  slowly: <T>(work: Steps<T>) => Promise<T>,
): Promise<ApiResponse> => {
  const {body} = response;
  if (body.kind === 'stream') return complete(await whole(response, body.source), signal, slowly);
  const coming =
    body.kind === 'pages'
      ? body.object()
      : body.kind === 'object'
        ? body.inPieces?.()
        : body.kind === 'bytes' && isLongJson(body)
          ? slowly(parseInSteps(Buffer.from(body.bytes)))
          : undefined;
  if (!coming) return response;
  const object = withNumbers(await (signal ? unlessAborted(coming, signal) : coming));
  return {
    ...response,
    body: {kind: 'object', contentType: 'application/json', object: () => object, bytes: () => Buffer.from(jsonText(object))},
  };
};

const isLongJson = ({bytes, contentType}: Extract<ApiResponse['body'], {kind: 'bytes'}>): boolean =>
  bytes.length > pieceBytes && isJson(contentType);

const isJson = (contentType: string): boolean => contentType.startsWith('application/json');

/** Reads the response of a backend to its end. */
const whole = async (response: ApiResponse, source: Readable): Promise<ApiResponse> => {
  const bytes = Buffer.concat((await source.toArray()) as Buffer[]);
  return {...response, body: {kind: 'bytes', bytes, contentType: String(response.headers['Content-Type'] ?? '')}};
};

/** Follows a watch served by a backend. */
const relayed = async (
  response: ApiResponse,
  source: Readable,
  listener: WatchListener,
  signal: AbortSignal,
): Promise<Reply | undefined> => {
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
      listener.event(event.type, withNumbers(event.object()));
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
