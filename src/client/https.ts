import type {HttpConnection, HttpReply, HttpRequest} from '#src/transport/client/http-connection.js';
import type {Call, Caller, Reply} from './caller.js';
import {Content, type ClientContent, type Written} from './content.js';
import {eventSink} from './event-sink.js';

export interface HttpsOptions {
  readonly userAgent: string;
  /** The timeout of calls; watches have none. */
  readonly timeoutMs?: number;
  /** The encoding of objects; JSON unless given. */
  readonly content?: ClientContent;
}

/** Returns a caller over the network. */
export const httpsCaller = (connection: HttpConnection, {userAgent, timeoutMs, content: settings}: HttpsOptions): Caller => {
  const content = new Content(settings);
  const requestOf = (call: Call, {accept, contentType, body}: Written): HttpRequest => ({
    method: call.method,
    path: call.path,
    headers: {accept, 'user-agent': userAgent, ...(contentType === undefined ? {} : {'content-type': contentType})},
    body,
    signal: call.signal,
    ...(timeoutMs === undefined ? {} : {timeoutMs}),
  });
  const replyOf = async ({status, header, body}: HttpReply): Promise<Reply> => ({
    status,
    header,
    body: await content.readSlowly(body, header('content-type') ?? ''),
  });
  /** Sends a call, and again as JSON if the server does not support its encoding. */
  const sent = async <R extends HttpReply | undefined>(call: Call, send: (request: HttpRequest) => Promise<R>): Promise<R> => {
    call.signal?.throwIfAborted();
    if (content.isEncoded(call)) await content.load();
    const written = content.write(call);
    const reply = await send(requestOf(call, written));
    if (written.isPlain || (reply?.status !== 415 && reply?.status !== 406)) return reply;
    content.refused(call);
    return send(requestOf(call, content.write(call)));
  };
  return {
    isProbed: () => connection.isProbed(),
    async call(call) {
      return replyOf(await sent(call, request => connection.send(request)));
    },
    async watch(call, listener) {
      const reply = await sent(call, request =>
        connection.stream(
          request,
          eventSink(listener, call.signal, (type, each) => content.cutter(type, each)),
        ),
      );
      return reply && replyOf(reply);
    },
  };
};
