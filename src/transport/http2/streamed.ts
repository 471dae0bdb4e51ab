// A request without a body whose response streams into a sink, over HTTP/2.

import type {ClientHttp2Stream, OutgoingHttpHeaders} from 'node:http2';
import type {HttpHead, StreamSink} from '#src/transport/dispatch-request.js';
import type {Sessions} from './sessions.js';

export interface StreamRequest {
  readonly method: string;
  readonly path: string;
  /** Alternating names and values; names may repeat. */
  readonly headers: readonly string[];
  /** The timeout for the response head. */
  readonly timeoutMs: number;
}

/**
 * Runs a request. Resolves at the head of a 200, whose body then goes to the sink; other responses are returned whole.
 */
export const streamed = async (
  sessions: Sessions,
  request: StreamRequest,
  signal: AbortSignal | undefined,
  sink: StreamSink,
): Promise<(HttpHead & {readonly body: Buffer}) | undefined> => {
  let response: Promise<(HttpHead & {readonly body: Buffer}) | undefined> | undefined;
  await sessions.stream(session => {
    signal?.throwIfAborted();
    const stream = session.request(fieldsOf(request), {endStream: true});
    response = answered(stream, request.timeoutMs, signal, sink);
    return stream;
  });
  return response;
};

const fieldsOf = ({method, path, headers}: StreamRequest): OutgoingHttpHeaders => {
  const fields: Record<string, string | string[]> = {':method': method, ':path': path};
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index]!;
    const value = headers[index + 1]!;
    const before = fields[name];
    fields[name] = before === undefined ? value : [...(Array.isArray(before) ? before : [before]), value];
  }
  return fields;
};

const answered = (
  stream: ClientHttp2Stream,
  headersTimeout: number,
  signal: AbortSignal | undefined,
  sink: StreamSink,
): Promise<(HttpHead & {readonly body: Buffer}) | undefined> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let head: HttpHead | undefined;
    let failure: unknown;
    let isWhole = false;
    const cancel = () => {
      reject(signal!.reason);
      stream.destroy();
    };
    signal?.addEventListener('abort', cancel, {once: true});
    stream.setTimeout(headersTimeout, () => stream.destroy(new Error('timeout awaiting response headers')));
    stream.on('response', headers => {
      stream.setTimeout(0);
      head = {status: headers[':status'] ?? 0, header: name => headers[name]?.toString()};
      if (head.status !== 200) return;
      sink.begin?.(head);
      resolve(undefined);
    });
    stream.on('data', (chunk: Buffer) => (head?.status === 200 ? signal?.aborted || sink.data(chunk) : chunks.push(chunk)));
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
      if (head?.status === 200) sink.end(error);
      else if (error !== undefined || !head) reject(error ?? new Error('the server sent no answer'));
      else resolve({...head, body: Buffer.concat(chunks)});
    });
  });
