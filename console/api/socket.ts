// WebSockets, for what stays open: a browser opens only six other connections to one server, for all its windows.

interface SocketListener {
  /** Called once it is open. */
  opened?(): void;
  /** Called with a text, or with a part of the text that the messages are together. */
  message(text: string): void;
  /** Called once it is over, unless it was ended here. */
  ended(how: 'refused' | 'closed' | 'lost'): void;
}

/** Reads a WebSocket of the server until the signal aborts. */
export const followSocket = (path: string, signal: AbortSignal, {opened, message, ended}: SocketListener): void => {
  const socket = new WebSocket(`${location.origin.replace(/^http/, 'ws')}${path}`);
  const decoder = new TextDecoder();
  let isOpen = false;
  socket.binaryType = 'arraybuffer';
  socket.addEventListener('open', () => {
    isOpen = true;
    if (signal.aborted) socket.close();
    else opened?.();
  });
  socket.addEventListener('message', ({data}) => {
    if (!signal.aborted) message(typeof data === 'string' ? data : decoder.decode(data as ArrayBuffer, {stream: true}));
  });
  socket.addEventListener('close', ({wasClean}) => {
    if (!signal.aborted) ended(!isOpen ? 'refused' : wasClean ? 'closed' : 'lost');
  });
  // A browser reports a connection that is closed before it is open as an error.
  signal.addEventListener('abort', () => socket.readyState === WebSocket.CONNECTING || socket.close(), {once: true});
};
