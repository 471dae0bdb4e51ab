import type {IncomingMessage} from 'node:http';
import type {Duplex} from 'node:stream';
import type {WebSocket, WebSocketServer} from 'ws';
import type {EncodedEvent, ResponseBody, WatchSink} from '#src/api/request.js';
import {knownApiSuffixes} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import {confineErrors, confinedTo} from '#src/base/emitters/confined.js';
import type {Sent} from './deliveries.js';
import {noHead, pacedWebSocket} from './streams/websocket-server.js';

/** A client with more buffered bytes than this is disconnected. */
const maxWaitingBytes = 32 << 20;

/** The limits of a client's messages, which are ignored: bytes of one, and fragments of one. */
const maxMessageBytes = 64 << 10;
const maxPieces = 1 << 10;

/** Above this backpressure is signalled. */
const backpressureBytes = 1 << 20;

/** Browsers cannot set headers on a WebSocket: a protocol of this form contains the token instead. */
const tokenProtocols = knownApiSuffixes.map(suffix => `base64url.bearer.authorization.${suffix}.`);

const protocolsOf = (request: IncomingMessage): string[] =>
  (request.headers['sec-websocket-protocol'] ?? '')
    .split(',')
    .map(text => text.trim())
    .filter(Boolean);

const isToken = (protocol: string): boolean => tokenProtocols.some(prefix => protocol.startsWith(prefix));

const tokenIn = (protocols: readonly string[]): string | undefined => {
  const tokenProtocol = protocols.find(isToken);
  const prefix = tokenProtocols.find(candidate => tokenProtocol?.startsWith(candidate));
  return tokenProtocol && prefix ? Buffer.from(tokenProtocol.slice(prefix.length), 'base64url').toString() : undefined;
};

/** Whether a client requests a WebSocket. */
export const isWebSocketRequest = ({method, headers}: IncomingMessage): boolean =>
  method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';

/**
 * Whether a client says where it opens a WebSocket from, as RFC 6455 §4.1 asks of browsers: the original refuses
 * watches without it, and of those with one that is no URL.
 */
export const namesOrigin = ({headers: {origin}}: IncomingMessage): boolean =>
  origin !== undefined && (origin.startsWith('/') || URL.canParse(origin));

/** The answer to others: a line alone, as of the original. */
export const originRefused = 'HTTP/1.1 403 Forbidden\r\n\r\n';

/** Returns the token that a client passed as a protocol, and the other protocols; undefined without a token. */
export const tokenOf = (incoming: IncomingMessage): {readonly token: string; readonly protocols: string} | undefined => {
  const protocols = protocolsOf(incoming);
  const token = tokenIn(protocols);
  return token === undefined ? undefined : {token, protocols: protocols.filter(protocol => !isToken(protocol)).join(', ')};
};

/** The connection of a requested WebSocket, and the counter of its buffered bytes. */
export interface Opening {
  readonly incoming: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
  readonly sent: Pick<Sent, 'waits' | 'grows'>;
}

/**
 * Serves watches over WebSocket: every event is one message, a text except in the binary form; the client's input is
 * ignored, and either side may close it. The library is loaded on first use.
 */
export class WebSocketWatches {
  readonly #clock: Clock;
  #server: Promise<WebSocketServer> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async serve(body: Extract<ResponseBody, {kind: 'watch'}>, {incoming, socket, head, sent}: Opening): Promise<void> {
    const server = await (this.#server ??= webSocketServer());
    const connection = pacedWebSocket(socket, head, this.#clock, maxMessageBytes);
    server.handleUpgrade(incoming, connection, noHead, client => {
      confineErrors(client);
      const watch = body.start(new MessageSink(client, body.contentType, sent));
      client.on('error', () => client.terminate());
      client.once('close', () => watch[Symbol.dispose]());
    });
  }
}

const webSocketServer = async (): Promise<WebSocketServer> => {
  const {WebSocketServer: Server} = await import('ws');
  return new Server({
    noServer: true,
    maxPayload: maxMessageBytes,
    maxFragments: maxPieces,
    maxBufferedChunks: maxPieces,
    allowSynchronousEvents: false,
    // The token is not a real protocol: the first other one is selected.
    handleProtocols: offered => [...offered].find(protocol => !isToken(protocol)) ?? false,
  } as ConstructorParameters<typeof Server>[0]);
};

/** A frame of the binary form begins with its length, which messages do not need. */
const lengthBytes = 4;

class MessageSink implements WatchSink {
  readonly #client: WebSocket;
  readonly #sent: Opening['sent'];
  readonly #binary: boolean;
  /** The length of the prefix of an event that is not sent. */
  readonly #skipped: number;
  #waiting: (() => void)[] = [];

  constructor(client: WebSocket, contentType: string, sent: Opening['sent']) {
    this.#client = client;
    this.#sent = sent;
    this.#binary = contentType !== 'application/json';
    this.#skipped = contentType.endsWith(';stream=watch') ? lengthBytes : 0;
    client.once('close', () => this.#wake());
  }

  event(event: EncodedEvent): boolean {
    const client = this.#client;
    if (client.readyState !== client.OPEN) return false;
    const sent = () => {
      this.#sent.waits(client.bufferedAmount);
      if (this.#keepsUp()) this.#wake();
    };
    client.send(event.bytes().subarray(this.#skipped), {binary: this.#binary}, confinedTo(client, sent));
    this.#sent.grows(client.bufferedAmount);
    if (client.bufferedAmount > maxWaitingBytes) client.terminate();
    return this.#keepsUp();
  }

  drained(): Promise<void> {
    if (this.#keepsUp() || this.#client.readyState !== this.#client.OPEN) return Promise.resolve();
    return new Promise(resolve => {
      this.#waiting.push(resolve);
    });
  }

  end(): void {
    this.#client.close(1000);
  }

  #keepsUp(): boolean {
    return this.#client.bufferedAmount < backpressureBytes;
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
