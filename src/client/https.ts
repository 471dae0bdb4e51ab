import type {Naming} from '#src/api/naming.js';
import type {HttpConnection, HttpReply, HttpRequest} from '#src/transport/http-connection.js';
import type {Call, Caller, Reply} from './caller.js';
import type {Client} from './client.js';
import {eventSink} from './event-sink.js';
import {clientOver} from './resource-client.js';

export interface HttpsOptions {
  readonly userAgent: string;
  /** How long a call may wait for its answer; watches wait as long as they last. */
  readonly timeoutMs?: number;
}

/** A client over a connection. It limits and repeats nothing: see `limited` and `repeating`. */
export const httpsClient = (connection: HttpConnection, options: HttpsOptions & {readonly naming: Naming}): Client =>
  clientOver(httpsCaller(connection, options), options.naming);

/** The way to a server over the network. */
export const httpsCaller = (connection: HttpConnection, {userAgent, timeoutMs}: HttpsOptions): Caller => {
  const requestOf = (call: Call): HttpRequest => ({
    method: call.method,
    path: call.path,
    headers: {
      accept: call.accept ?? 'application/json',
      'user-agent': userAgent,
      ...(call.body === undefined ? {} : {'content-type': call.contentType ?? 'application/json'}),
    },
    body: call.body === undefined || typeof call.body === 'string' ? call.body : JSON.stringify(call.body),
    signal: call.signal,
    ...(timeoutMs === undefined ? {} : {timeoutMs}),
  });
  return {
    async call(call) {
      call.signal?.throwIfAborted();
      return replyOf(await connection.send(requestOf(call)));
    },
    async watch(call, listener) {
      call.signal.throwIfAborted();
      const reply = await connection.stream(requestOf(call), eventSink(listener, call.signal));
      return reply && replyOf(reply);
    },
  };
};

const replyOf = ({status, header, body}: HttpReply): Reply => ({status, header, body: contentOf(body, header('content-type') ?? '')});

const contentOf = (body: Buffer, contentType: string): unknown => {
  if (body.length === 0) return undefined;
  const text = body.toString();
  if (!/\bjson\b/.test(contentType)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};
