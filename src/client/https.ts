import type {HttpConnection, HttpReply, HttpRequest} from '#src/transport/http-connection.js';
import type {Call, Caller, Reply} from './caller.js';
import {Content, type ClientContent, type Written} from './content.js';
import {eventSink} from './event-sink.js';

export interface HttpsOptions {
  readonly userAgent: string;
  /** How long a call may wait for its answer; watches wait as long as they last. */
  readonly timeoutMs?: number;
  /** In which form objects go over the wire; JSON unless told otherwise. */
  readonly content?: ClientContent;
}

/** The way to a server over the network. */
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
  const replyOf = async ({status, header, body}: HttpReply): Promise<Reply> => ({status, header, body: await content.readSlowly(body, header('content-type') ?? '')});
  /** Sends a call; once more as JSON where its server does not take the form it went in. */
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
      const reply = await sent(call, request => connection.stream(request, eventSink(listener, call.signal, (type, each) => content.cutter(type, each))));
      return reply && replyOf(reply);
    },
  };
};
