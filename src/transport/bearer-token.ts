import type {HttpConnection, HttpReply, HttpRequest} from './http-connection.js';

/** Where a bearer token comes from, fresh at every request. */
export interface TokenSource {
  token(): Promise<string>;
  /** The server did not accept the last one: get another. */
  reset(): void;
}

/** A connection over which requests prove themselves with a token. The connection is shared and stays its owner's to close. */
export const withBearerToken = (connection: HttpConnection, source: TokenSource): HttpConnection => {
  const authorized = async <R extends HttpReply | undefined>(request: HttpRequest, run: (request: HttpRequest) => Promise<R>): Promise<R> => {
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
