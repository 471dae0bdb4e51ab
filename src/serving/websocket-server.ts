import type {IncomingMessage} from 'node:http';
import type {Duplex} from 'node:stream';
import type {WebSocket, WebSocketServer} from 'ws';
import type {ApiRequest, ApiResponse} from '#src/api/request.js';
import type {Clock} from '#src/base/clock.js';

/** One message may have so many bytes; the original's clients send 32 KiB at most. */
const maxMessageBytes = 32 << 20;
/** So many pieces one message may come in, and so many records of TLS a piece: each takes memory besides its bytes. */
const mostPieces = 16 << 10;
/** Above this a sender has to wait. */
const patienceBytes = 256 << 10;
/** How long a client that was told goodbye has to read what is on its way. */
const farewellMs = 15 * 60_000;
const silenceMs = 4 * 3_600_000;

/** Whether a request asks to speak WebSocket, on a connection that can. */
export const wantsWebSocket = ({upgradable, method, headers}: ApiRequest): boolean =>
  upgradable === true && method === 'GET' && String(headers['upgrade'] ?? '').toLowerCase() === 'websocket' && /(^|,)\s*upgrade\s*(,|$)/i.test(String(headers['connection'] ?? ''));

/** The protocols a client offers, best first. */
export const offered = ({headers}: ApiRequest): string[] => String(headers['sec-websocket-protocol'] ?? '').split(',').map(text => text.trim()).filter(Boolean);

/** The first protocol a client offers that is among those allowed; a client without any offers the empty one. */
export const agreed = (request: ApiRequest, allowed: readonly string[]): string | undefined => {
  const wanted = offered(request);
  return (wanted.length > 0 ? wanted : ['']).find(protocol => allowed.includes(protocol));
};

export const refusedProtocols = (): ApiResponse => ({status: 403, headers: {}, body: {kind: 'empty'}});

/** A client that speaks WebSocket with us. */
export interface WebSocketClient {
  /** False asks for patience. */
  send(message: Buffer | string): boolean;
  /** Resolves once there is room again, or nobody to send to any more. */
  drained(): Promise<void>;
  onMessage(receive: (message: Buffer, isBinary: boolean) => void): void;
  onClose(run: () => void): void;
  /** Stops reading until it is called again with false. */
  pause(isPaused: boolean): void;
  /** Says goodbye behind all that was sent. */
  close(): void;
  terminate(): void;
  /** The bytes of binary messages, both ways. */
  stream(): Promise<Duplex>;
}

export interface WebSocketOpening {
  readonly socket: Duplex;
  readonly head: Buffer;
  /** Empty for none. */
  readonly protocol: string;
  readonly clock: Clock;
  /** Is given how many bytes the client keeps of what came in. */
  readonly keeps?: ((bytes: () => number) => void) | undefined;
}

let server: Promise<WebSocketServer> | undefined;

/** A request as the library takes it, and the protocol that was agreed on: those with a slash in their names are none to the library. */
type Asked = Pick<IncomingMessage, 'method' | 'headers'> & {readonly protocol: string};

const library = async (): Promise<WebSocketServer> => {
  const {WebSocketServer: Server} = await import('ws');
  // One message in each turn of the event loop: a record may hold thousands of them.
  const made = new Server({noServer: true, maxPayload: maxMessageBytes, maxFragments: mostPieces, maxBufferedChunks: mostPieces, allowSynchronousEvents: false, closeTimeout: farewellMs} as ConstructorParameters<typeof Server>[0]);
  made.on('headers', (lines, request) => {
    const {protocol} = request as unknown as Asked;
    if (protocol) lines.push(`Sec-WebSocket-Protocol: ${protocol}`);
  });
  return made;
};

/** Answers a request to speak WebSocket. The library is loaded by the first of them. */
export const openWebSocket = async (request: ApiRequest, {socket, head, protocol, clock, keeps}: WebSocketOpening): Promise<WebSocketClient> => {
  const ready = await (server ??= library());
  const {'sec-websocket-protocol': _, ...headers} = request.headers;
  const asked: Asked = {method: 'GET', headers: headers as IncomingMessage['headers'], protocol};
  return new Promise((resolve, reject) => {
    socket.once('close', () => reject(new Error('the caller went away')));
    ready.handleUpgrade(asked as unknown as IncomingMessage, socket, head, client => resolve(wrapped(client, clock, unread(client, socket, keeps))));
  });
};

/** What a frame takes besides its payload, at least. */
const frameBytes = 6;

/** Told that the receiver of messages asks for patience, or does so no more. */
type Patience = (isPaused: boolean) => void;

/** Counts what came in of a client and was not taken: the beginning of a message, and the last one while its receiver asks for patience. */
const unread = (client: WebSocket, socket: Duplex & {readonly bytesRead?: number}, keeps: WebSocketOpening['keeps']): Patience => {
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
  keeps?.(() => Math.max(0, read() - taken) + (isPaused ? last : 0));
  return paused => void (isPaused = paused);
};

const wrapped = (client: WebSocket, clock: Clock, patience: Patience): WebSocketClient => {
  let waiting: (() => void)[] = [];
  const wake = () => {
    const all = waiting;
    waiting = [];
    for (const resolve of all) resolve();
  };
  const keepsUp = () => client.bufferedAmount <= patienceBytes;
  let lastHeard = clock.monotonic();
  const heard = () => {
    lastHeard = clock.monotonic();
  };
  const listen = () => {
    const left = lastHeard + silenceMs - clock.monotonic();
    if (left <= 0) client.terminate();
    else silence = clock.schedule(left, listen);
  };
  let silence = clock.schedule(silenceMs, listen);
  client.on('error', () => client.terminate());
  client.on('message', heard);
  client.once('close', () => {
    silence[Symbol.dispose]();
    wake();
  });
  return {
    send(message) {
      if (client.readyState !== client.OPEN) return true;
      client.send(message, {binary: typeof message !== 'string'}, () => {
        if (keepsUp()) wake();
      });
      heard();
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
