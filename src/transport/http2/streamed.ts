// A request over HTTP/2: its response is returned whole, or streams into a sink.

import http2, {type ClientHttp2Stream, type OutgoingHttpHeaders} from 'node:http2';
import {BodyChunks} from '#src/base/collections/body-chunks.js';
import {isSafe} from '#src/transport/http1/connections.js';
import type {HttpHead, StreamSink} from '#src/transport/dispatch-request.js';
import type {Sessions} from './sessions.js';

export interface StreamRequest {
  readonly method: string;
  readonly path: string;
  /** Alternating names and values; names may repeat. */
  readonly headers: readonly string[];
  readonly body?: string | Uint8Array | undefined;
  /** The timeout for the response head, and between parts of a body that is returned whole. */
  readonly timeoutMs: number;
}

/** A response; undefined at the head of one whose body goes to a sink. */
export type StreamReply = (HttpHead & {readonly body: Buffer}) | undefined;

/** A request failed before its response began: the connection ended, or the server has not processed it. */
class Unanswered extends Error {
  /** Whether the server has said that it did not process it. */
  readonly isUnprocessed: boolean;

  constructor(cause: unknown, isUnprocessed: boolean) {
    super(cause instanceof Error ? cause.message : 'the server sent no answer', {cause});
    this.isUnprocessed = isUnprocessed;
  }
}

/** How often a request is sent again that the server has not processed: one that ends many connections refuses many. */
const mostRepeats = 6;

/**
 * Runs a request. Resolves to the whole response, or with a sink at the head of a 200, whose body then goes there. Sent
 * again if the server has not processed it (RFC 9113 §8.7), and once if the method is safe and the connection, on which
 * others had been sent, ended before a response began.
 */
export const streamed = async (
  sessions: Sessions,
  request: StreamRequest,
  signal: AbortSignal | undefined,
  sink?: StreamSink,
): Promise<StreamReply> => {
  const mayBeStale = sessions.isConnected && isSafe(request.method);
  for (let repeats = 0; ; repeats++) {
    try {
      return await attempt(sessions, request, signal, sink);
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
      const isRepeated = error.isUnprocessed ? repeats < mostRepeats : mayBeStale && repeats === 0;
      if (signal?.aborted || !isRepeated) throw error.cause ?? error;
    }
  }
};

const attempt = async (
  sessions: Sessions,
  request: StreamRequest,
  signal: AbortSignal | undefined,
  sink: StreamSink | undefined,
): Promise<StreamReply> => {
  let response: Promise<StreamReply> | undefined;
  await sessions.stream(session => {
    signal?.throwIfAborted();
    const {body} = request;
    const stream = session.request(fieldsOf(request), {endStream: body === undefined});
    response = answered(stream, request.timeoutMs, signal, sink);
    if (body !== undefined) stream.end(body);
    return stream;
  });
  return response;
};

const fieldsOf = ({method, path, headers, body}: StreamRequest): OutgoingHttpHeaders => {
  const fields: Record<string, string | string[]> = {':method': method, ':path': path};
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index]!;
    const value = headers[index + 1]!;
    const before = fields[name];
    fields[name] = before === undefined ? value : [...(Array.isArray(before) ? before : [before]), value];
  }
  if (body !== undefined) fields['content-length'] = String(Buffer.byteLength(body));
  return fields;
};

const answered = (
  stream: ClientHttp2Stream,
  timeoutMs: number,
  signal: AbortSignal | undefined,
  sink: StreamSink | undefined,
): Promise<StreamReply> =>
  new Promise((resolve, reject) => {
    const chunks = new BodyChunks();
    let head: HttpHead | undefined;
    /** The sink, once it receives the body. */
    let receiver: StreamSink | undefined;
    let failure: unknown;
    let isWhole = false;
    const cancel = () => {
      reject(signal!.reason);
      stream.destroy();
    };
    signal?.addEventListener('abort', cancel, {once: true});
    stream.setTimeout(timeoutMs, () => stream.destroy(new Error(`timeout awaiting ${head ? 'the response body' : 'response headers'}`)));
    stream.on('response', headers => {
      head = {status: headers[':status'] ?? 0, header: name => headers[name]?.toString()};
      if (!sink || head.status !== 200) return;
      stream.setTimeout(0);
      receiver = sink;
      sink.begin?.(head);
      resolve(undefined);
      // Node emits a part of the body before the head where it reads both within another call.
      if (chunks.count > 0) receiver.data(chunks.take());
    });
    stream.on('data', (chunk: Buffer) => {
      if (!receiver) chunks.push(chunk);
      else if (!signal?.aborted) receiver.data(chunk);
    });
    stream.on('end', () => {
      isWhole = !stream.aborted;
    });
    stream.on('error', error => {
      failure = error;
    });
    stream.on('close', () => {
      signal?.removeEventListener('abort', cancel);
      if (signal?.aborted) return;
      const error = failure ?? (isWhole && !stream.rstCode ? undefined : new Error('the server cut the stream off'));
      if (receiver) receiver.end(error);
      else if (!head) reject(new Unanswered(error, stream.rstCode === http2.constants.NGHTTP2_REFUSED_STREAM));
      else if (error !== undefined) reject(error as Error);
      else resolve({...head, body: chunks.take()});
    });
  });
