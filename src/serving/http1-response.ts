import type {IncomingMessage, ServerResponse} from 'node:http';
import {finished, type Readable, type Writable} from 'node:stream';
import {discard, type ApiResponse} from '#src/api/request.js';
import {confineErrors} from '#src/base/emitters/confined.js';
import type {Sent} from './deliveries.js';
import {sendableStatus, wireValue} from './http-headers.js';
import {type Frames, Outbox} from './outbox.js';
import {sendBytes, sendPages} from './pages.js';

/** The dependencies of sending a response. */
export interface Sender {
  readonly frames: Frames;
  readonly sent: Sent;
}

/** The bytes that count as unsent of an answer without a body. */
export const headBytes = 256;

/** Bodies above this are sent in slices. */
const longBytes = 256 << 10;

/** Sends a response over HTTP/1.1. For a paged body the promise rejects when the rest cannot be read. */
export const sendHttp1 = (
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  response: ApiResponse,
  {frames, sent}: Sender,
): void | Promise<void> => {
  const status = sendableStatus(response.status);
  if (outgoing.destroyed || incoming.socket.destroyed) return discard(response);
  const {body} = response;
  if (body.kind === 'upgrade') {
    body.drop();
    throw new Error('this connection cannot speak another protocol');
  }
  const fields = fieldsOf(response);
  if (body.kind === 'watch') {
    outgoing.writeHead(status, fields);
    outgoing.flushHeaders();
    startWatch(outgoing, body, frames, sent);
    return;
  }
  if (body.kind === 'stream') {
    outgoing.writeHead(status, fields);
    outgoing.flushHeaders();
    pipeStream(body.source, outgoing, sent);
    return;
  }
  if (body.kind === 'empty') {
    if (status !== 204 && status !== 304) fields.push('Content-Length', '0');
    outgoing.writeHead(status, fields);
    sent.waits(headBytes);
    outgoing.end();
    return;
  }
  if (body.kind === 'pages') {
    if (hasLargeRest(incoming)) outgoing.shouldKeepAlive = false;
    outgoing.writeHead(status, fields);
    if (incoming.method !== 'HEAD') return sendPages(body, outgoing, sent);
    body.close();
    outgoing.end();
    return;
  }
  // Never text: Node would then write the headers in the text's encoding.
  const bytes = body.kind === 'object' ? body.bytes() : typeof body.bytes === 'string' ? Buffer.from(body.bytes) : body.bytes;
  fields.push('Content-Length', String(bytes.length));
  const unread = hasLargeRest(incoming);
  if (unread) outgoing.shouldKeepAlive = false;
  outgoing.writeHead(status, fields);
  sent.waits(bytes.length);
  if (unread) linger(incoming, outgoing, bytes, frames);
  else if (bytes.length > longBytes && incoming.method !== 'HEAD') return sendBytes(bytes, outgoing, sent);
  else outgoing.end(bytes);
};

/** Alternating names and values, the form that Node writes without copying. */
const fieldsOf = ({headers, body}: ApiResponse): string[] => {
  const fields: string[] = [];
  for (const name in headers) {
    const value = headers[name]!;
    if (typeof value === 'string') fields.push(name, wireValue(value));
    else for (const one of value) fields.push(name, wireValue(one));
  }
  if ('contentType' in body) fields.push('Content-Type', body.contentType);
  return fields;
};

/**
 * Relays a stream with backpressure. A source that fails breaks off the response; a client that disconnects stops the
 * source.
 */
export const pipeStream = (source: Readable, outlet: Writable, sent: Pick<Sent, 'waits' | 'poll'>): void => {
  finished(confineErrors(source), error => {
    if (error) outlet.destroy(error);
  });
  outlet.once('close', () => source.destroy());
  if (outlet.destroyed) return void source.destroy();
  source.pipe(outlet);
  const waiting = () => (outlet.writableNeedDrain ? outlet.writableLength + source.readableLength : 0);
  source.on('data', () => {
    if (outlet.writableNeedDrain) sent.waits(waiting());
  });
  outlet.on('drain', () => sent.waits(0));
  sent.poll(waiting); // A source that is not read may still be filled.
};

export const startWatch = (
  outlet: ConstructorParameters<typeof Outbox>[0],
  body: Extract<ApiResponse['body'], {kind: 'watch'}>,
  frames: Frames,
  sent: Sent,
): void => {
  const subscription = body.start(new Outbox(outlet, frames, sent));
  if (outlet.destroyed) subscription[Symbol.dispose]();
  else outlet.once('close', () => subscription[Symbol.dispose]());
};

/** A rest of a body up to this size is read to keep the connection. */
const swallowedBytes = 256 << 10;
const lingerMs = 1000;

const hasLargeRest = (incoming: IncomingMessage): boolean => {
  if (incoming.complete) return false;
  const {'content-length': length, 'transfer-encoding': encoding} = incoming.headers;
  return encoding !== undefined || Number(length ?? 0) > swallowedBytes;
};

/**
 * Responds to a client that is still sending: the connection is closed only after the client had time to read the
 * response. Closing at once would reset the connection, and the reset would overtake the response.
 */
const linger = (incoming: IncomingMessage, outgoing: ServerResponse, bytes: Buffer, frames: Frames): void => {
  outgoing.write(bytes);
  incoming.resume();
  const timer = frames.later(lingerMs, () => outgoing.end());
  incoming.once('end', () => outgoing.end());
  outgoing.once('close', () => timer[Symbol.dispose]());
};
