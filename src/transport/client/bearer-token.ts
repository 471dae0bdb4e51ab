import type {HttpConnection, HttpReply, HttpRequest} from './http-connection.js';

/** A source of bearer tokens, asked for each request. */
export interface TokenSource {
  token(): Promise<string>;
  /** Called when the server rejected the last token: the next is new. */
  reset(): void;
}

/**
 * Returns a connection that adds a bearer token to requests. The underlying connection is shared and closed by its
 * owner.
 */
export const withBearerToken = (connection: HttpConnection, source: TokenSource): HttpConnection => {
  const authorized = async <R extends HttpReply | undefined>(
    request: HttpRequest,
    run: (request: HttpRequest) => Promise<R>,
  ): Promise<R> => {
    const attempt = (token: string) => run({...request, headers: {...request.headers, authorization: `Bearer ${token}`}});
    const token = await source.token();
    const reply = await attempt(token);
    if (reply?.status !== 401) return reply;
    source.reset();
    const fresh = await source.token();
    return fresh === token ? reply : attempt(fresh);
  };
  return {
    server: connection.server,
    send: request => authorized(request, each => connection.send(each)),
    stream: (request, sink) => authorized(request, each => connection.stream(each, sink)),
    isProbed: () => connection.isProbed(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
};
