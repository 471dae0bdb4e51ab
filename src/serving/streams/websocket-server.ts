// WebSocket connections for connect subresources, with backpressure in both directions and limits for messages. Watches
// use websocket.ts.

import type {IncomingMessage} from 'node:http';
import type {Duplex} from 'node:stream';
import type {WebSocket, WebSocketServer} from 'ws';
import type {ApiRequest, ApiResponse} from '#src/api/request.js';
import type {Clock} from '#src/base/clock.js';
import {confineErrors, confinedTo} from '#src/base/emitters/confined.js';
import {PacedSocket} from './paced-socket.js';
import {FragmentedFrames} from './websocket-fragments.js';

/** The size limit of one message in bytes; upstream's clients send at most 32 KiB. */
const maxMessageBytes = 32 << 20;
/** The limit of fragments per message, and so of chunks: each takes memory besides its bytes. */
const maxPieces = 16 << 10;
/** Above this senders have to wait. */
const backpressureBytes = 256 << 10;
/** How long a client may still read after the close was sent. */
const closeTimeoutMs = 15 * 60_000;
const silenceMs = 4 * 3_600_000;

/** Whether a request asks for WebSocket, on a connection that supports it. */
export const isWebSocketRequest = ({upgradable, method, headers}: ApiRequest): boolean =>
  upgradable === true &&
  method === 'GET' &&
  String(headers['upgrade'] ?? '').toLowerCase() === 'websocket' &&
  /(^|,)\s*upgrade\s*(,|$)/i.test(String(headers['connection'] ?? ''));

/** Returns the protocols that a client offers, best first. */
export const offered = ({headers}: ApiRequest): string[] =>
  String(headers['sec-websocket-protocol'] ?? '')
    .split(',')
    .map(text => text.trim())
    .filter(Boolean);

/** Returns the first offered protocol that is allowed; a client that offers none offers the empty one. */
export const negotiatedProtocol = (request: ApiRequest, allowed: readonly string[]): string | undefined => {
  const offeredProtocols = offered(request);
  return (offeredProtocols.length > 0 ? offeredProtocols : ['']).find(protocol => allowed.includes(protocol));
};

export const refusedProtocols = (): ApiResponse => ({status: 403, headers: {}, body: {kind: 'empty'}});

/** A WebSocket client. */
export interface WebSocketClient {
  /** Returns false for backpressure. */
  send(message: Buffer | string): boolean;
  /** Resolves once there is room again, or the client is gone. */
  drained(): Promise<void>;
  onMessage(receive: (message: Buffer, isBinary: boolean) => void): void;
  onClose(run: () => void): void;
  /** Pauses reading until called with false. */
  pause(isPaused: boolean): void;
  /** Closes after all queued messages were sent. */
  close(): void;
  terminate(): void;
  /** The bytes of binary messages, in both directions. */
  stream(): Promise<Duplex>;
}

export interface WebSocketOpening {
  readonly socket: Duplex;
  readonly head: Buffer;
  /** Empty for none. */
  readonly protocol: string;
  readonly clock: Clock;
  /** Receives a function that returns the number of buffered input bytes. */
  readonly accountBuffer?: ((bytes: () => number) => void) | undefined;
}

let server: Promise<WebSocketServer> | undefined;

/** The request for the library, and the negotiated protocol: the library does not accept names with a slash. */
type UpgradeRequest = Pick<IncomingMessage, 'method' | 'headers'> & {readonly protocol: string};

const library = async (): Promise<WebSocketServer> => {
  const {WebSocketServer: Server} = await import('ws');
  // One message per turn of the event loop: a record may contain thousands of them.
  const made = new Server({
    noServer: true,
    maxPayload: maxMessageBytes,
    maxFragments: maxPieces,
    maxBufferedChunks: maxPieces,
    allowSynchronousEvents: false,
    closeTimeout: closeTimeoutMs,
  } as ConstructorParameters<typeof Server>[0]);
  made.on('headers', (lines, request) => {
    const {protocol} = request as unknown as UpgradeRequest;
    if (protocol) lines.push(`Sec-WebSocket-Protocol: ${protocol}`);
  });
  return made;
};

export const noHead = Buffer.alloc(0);

/** Returns a connection from which a WebSocket library gets little work at a time, whatever frames a client sends. */
export const pacedWebSocket = (socket: Duplex, head: Buffer, clock: Clock, maxFrameBytes: number): PacedSocket => {
  const frames = new FragmentedFrames(maxFrameBytes);
  if (head.length > 0) socket.unshift(head);
  return new PacedSocket(socket, {clock, convert: chunk => frames.split(chunk)});
};

/** Accepts a WebSocket request. The library is loaded on first use. */
export const openWebSocket = async (
  request: ApiRequest,
  {socket, head, protocol, clock, accountBuffer: keeps}: WebSocketOpening,
): Promise<WebSocketClient> => {
  const ready = await (server ??= library());
  const {'sec-websocket-protocol': _, ...headers} = request.headers;
  const upgradeRequest: UpgradeRequest = {method: 'GET', headers: headers as IncomingMessage['headers'], protocol};
  const connection = pacedWebSocket(socket, head, clock, maxMessageBytes);
  socket.setMaxListeners(0); // Each part that it has passed listens for its end.
  return new Promise((resolve, reject) => {
    socket.once('close', () => reject(new Error('the caller went away')));
    ready.handleUpgrade(upgradeRequest as unknown as IncomingMessage, connection, noHead, client =>
      resolve(
        wrapped(
          client,
          clock,
          unread(client, socket, bytes => keeps?.(() => bytes() + connection.unwrittenBytes)),
        ),
      ),
    );
  });
};

/** The minimal size of a frame besides its payload. */
const frameBytes = 6;

/** Called when the receiver of messages applies or ends backpressure. */
type Patience = (isPaused: boolean) => void;

/** Counts the buffered input of a client: the beginning of a message, and the last one during backpressure. */
const unread = (
  client: WebSocket,
  socket: Duplex & {readonly bytesRead?: number},
  accountBuffer: WebSocketOpening['accountBuffer'],
): Patience => {
  const read = () => socket.bytesRead ?? 0;
  let taken = read();
  let last = 0;
  let isPaused = false;
  client.on('message', data => {
    taken = read();
    last = (data as Buffer).length;
  });
  const control = (data: Buffer) => void (taken += frameBytes + data.length);
  client.on('ping', control).on('pong', control);
  accountBuffer?.(() => Math.max(0, read() - taken) + (isPaused ? last : 0));
  return paused => void (isPaused = paused);
};

const wrapped = (client: WebSocket, clock: Clock, patience: Patience): WebSocketClient => {
  let waiting: (() => void)[] = [];
  const wake = () => {
    const all = waiting;
    waiting = [];
    for (const resolve of all) resolve();
  };
  const keepsUp = () => client.bufferedAmount <= backpressureBytes;
  let lastHeard = clock.monotonic();
  const onPong = () => {
    lastHeard = clock.monotonic();
  };
  const listen = () => {
    const left = lastHeard + silenceMs - clock.monotonic();
    if (left <= 0) client.terminate();
    else silence = clock.schedule(left, listen);
  };
  let silence = clock.schedule(silenceMs, listen);
  confineErrors(client).on('error', () => client.terminate());
  client.on('message', onPong);
  client.once('close', () => {
    silence[Symbol.dispose]();
    wake();
  });
  return {
    send(message) {
      if (client.readyState !== client.OPEN) return true;
      const sent = () => {
        if (keepsUp()) wake();
      };
      client.send(message, {binary: typeof message !== 'string'}, confinedTo(client, sent));
      onPong();
      return keepsUp();
    },
    drained: () =>
      keepsUp() || client.readyState !== client.OPEN
        ? Promise.resolve()
        : new Promise(resolve => {
            waiting.push(resolve);
          }),
    onMessage: receive => void client.on('message', (data, isBinary) => receive(data as Buffer, isBinary)),
    onClose: run => void client.once('close', run),
    pause(isPaused) {
      patience(isPaused);
      if (isPaused) client.pause();
      else client.resume();
    },
    close: () => client.close(1000),
    terminate: () => client.terminate(),
    async stream() {
      const {createWebSocketStream} = await import('ws');
      return createWebSocketStream(client);
    },
  };
};
