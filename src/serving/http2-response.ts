import {constants, type OutgoingHttpHeaders, type ServerHttp2Stream} from 'node:http2';
import {discard, type ApiResponse} from '#src/api/request.js';
import type {Http2Request} from './http-request.js';
import {lowerCase, sendableStatus, wireValue} from './http-headers.js';
import {headBytes, pipeStream, startWatch, type Sender} from './http1-response.js';
import {sendPages} from './pages.js';
import {hasEnded} from './request-body.js';

/** Sends a response over HTTP/2. For a paged body the promise rejects when the rest cannot be read. */
export const sendHttp2 = (
  stream: ServerHttp2Stream,
  request: Http2Request,
  response: ApiResponse,
  {frames, sent}: Sender,
): void | Promise<void> => {
  if (stream.destroyed || stream.closed) return discard(response);
  const {body} = response;
  if (body.kind === 'upgrade') {
    body.drop();
    throw new Error('a stream of HTTP/2 cannot speak another protocol');
  }
  request.body?.discard();
  const headers = headersOf(response);
  if (body.kind === 'watch') {
    stream.respond(headers);
    stream.once('finish', () => stopRequestBody(stream, request));
    startWatch(stream, body, frames, sent);
    return;
  }
  if (body.kind === 'stream') {
    stream.respond(headers);
    pipeStream(body.source, stream, sent);
    stream.once('finish', () => stopRequestBody(stream, request));
    return;
  }
  if (body.kind === 'pages' && request.method !== 'HEAD') {
    stream.respond(headers);
    stream.once('finish', () => stopRequestBody(stream, request));
    return sendPages(body, stream, sent);
  }
  if (body.kind === 'pages') body.close();
  if (body.kind === 'empty' || body.kind === 'pages') {
    stream.respond(headers, {endStream: true});
    sent.waits(headBytes);
  } else {
    const bytes = body.kind === 'object' ? body.bytes() : body.bytes;
    headers['content-length'] = typeof bytes === 'string' ? Buffer.byteLength(bytes) : bytes.length;
    if (request.method === 'HEAD') {
      stream.respond(headers, {endStream: true});
      sent.waits(headBytes);
    } else {
      stream.respond(headers);
      sent.waits(headers['content-length']);
      stream.end(bytes);
    }
  }
  stopRequestBody(stream, request);
};

/** Tells a client that is still sending to stop (RFC 9113 §8.1). */
const stopRequestBody = (stream: ServerHttp2Stream, request: Http2Request): void => {
  if (request.body && !hasEnded(stream)) stream.close(constants.NGHTTP2_NO_ERROR);
};

const headersOf = ({status, headers, body}: ApiResponse): OutgoingHttpHeaders => {
  const fields: OutgoingHttpHeaders = {':status': sendableStatus(status, 599)};
  for (const name in headers) {
    // Connection headers do not exist in HTTP/2 (RFC 9113 §8.2.2).
    if (name === 'Connection') continue;
    const value = headers[name]!;
    // Node adds its own date unless the header's name is in lower case.
    fields[lowerCase(name)] = typeof value === 'string' ? wireValue(value) : value.map(wireValue);
  }
  if ('contentType' in body) fields['content-type'] = body.contentType;
  return fields;
};
