// Watches by WebSocket: a browser opens only six other connections to one server.

interface WatchEvent<T> {
  readonly type: string;
  readonly object: T;
}

/** Follows a watch until the signal aborts. `ended` is called once it is over, with true if the position is gone. */
export const watch = <T>(
  path: string,
  query: Readonly<Record<string, string>>,
  accept: string,
  signal: AbortSignal,
  listener: {event(type: string, object: T): void; ended(isGone: boolean): void},
): void => {
  const parameters = new URLSearchParams({...query, watch: '1', allowWatchBookmarks: '1', 'console-accept': accept});
  const socket = new WebSocket(`${location.origin.replace(/^http/, 'ws')}${path}?${parameters}`);
  let isOver = false;
  const end = (isGone: boolean): void => {
    if (isOver) return;
    isOver = true;
    // A browser reports a connection that is closed before it is open as an error.
    if (socket.readyState === WebSocket.CONNECTING) socket.addEventListener('open', () => socket.close());
    else socket.close();
    if (!signal.aborted) listener.ended(isGone);
  };
  const receive = (text: string): void => {
    if (isOver) return;
    const {type, object} = JSON.parse(text) as WatchEvent<T>;
    if (type === 'ERROR') end((object as {code?: number}).code === 410);
    else listener.event(type, object);
  };
  socket.binaryType = 'arraybuffer';
  const decoder = new TextDecoder();
  socket.addEventListener('message', ({data}) => receive(typeof data === 'string' ? data : decoder.decode(data as ArrayBuffer)));
  socket.addEventListener('close', () => end(false));
  signal.addEventListener('abort', () => end(false), {once: true});
};
