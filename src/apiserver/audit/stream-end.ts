import type {ApiResponse} from '#src/api/request.js';

/** Whether a response ends later than it begins: a watch, a stream, or an upgraded connection. */
export const endOf = ({body: {kind}}: ApiResponse): boolean => kind === 'watch' || kind === 'stream' || kind === 'upgrade';

/** Returns the response, at the end of which `ended` is called once: by the server, or because the client is gone. */
export const withEnd = (response: ApiResponse, signal: AbortSignal, ended: () => void): ApiResponse => {
  const {body} = response;
  if (body.kind === 'stream') {
    body.source.once('close', ended);
    return response;
  }
  if (body.kind !== 'watch' && body.kind !== 'upgrade') return response;
  // A client that leaves before the response is sent begins no stream.
  const left = () => end();
  const end = (): void => {
    signal.removeEventListener('abort', left);
    ended();
  };
  signal.addEventListener('abort', left, {once: true});
  if (body.kind === 'watch')
    return {
      ...response,
      body: {
        kind: 'watch',
        contentType: body.contentType,
        start(sink) {
          const started = body.start({
            event: event => sink.event(event),
            drained: () => sink.drained(),
            end() {
              end();
              sink.end();
            },
          });
          return {
            [Symbol.dispose]() {
              end();
              started[Symbol.dispose]();
            },
          };
        },
      },
    };
  return {
    ...response,
    body: {
      kind: 'upgrade',
      drop() {
        end();
        body.drop();
      },
      take(socket, head, keeps) {
        socket.once('close', end);
        return body.take(socket, head, keeps);
      },
    },
  };
};
