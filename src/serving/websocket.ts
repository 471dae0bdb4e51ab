import type {IncomingMessage} from 'node:http';
import type {Duplex} from 'node:stream';
import type {WebSocket, WebSocketServer} from 'ws';
import type {ApiRequest, ApiResponse, EncodedEvent, Exchange, WatchSink} from '#src/api/exchange.js';
import {knownApiSuffixes} from '#src/api/naming.js';
import {Http1Request} from './http-request.js';
import {connectionOf} from './connection.js';

/** A consumer with more than this waiting for him is cut off. */
const mostWaiting = 32 << 20;

/** Browsers cannot set headers on a WebSocket: a protocol of this form carries the token instead. */
const tokenProtocols = knownApiSuffixes.map(suffix => `base64url.bearer.authorization.${suffix}.`);

const protocolsOf = (request: IncomingMessage): string[] => (request.headers['sec-websocket-protocol'] ?? '').split(',').map(text => text.trim()).filter(Boolean);

const isToken = (protocol: string): boolean => tokenProtocols.some(prefix => protocol.startsWith(prefix));

const tokenIn = (protocols: readonly string[]): string | undefined => {
  const carrier = protocols.find(isToken);
  const prefix = tokenProtocols.find(candidate => carrier?.startsWith(candidate));
  return carrier && prefix ? Buffer.from(carrier.slice(prefix.length), 'base64url').toString() : undefined;
};

/** Whether a client wants to speak WebSocket. */
export const wantsWebSocket = ({method, headers}: IncomingMessage): boolean => method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';

/** What came of an upgrade: the connection speaks WebSocket now, or is to be answered as any other request. */
export type Upgraded = {readonly answer: ApiResponse} | 'upgraded';

/**
 * Serves watches over WebSocket: every event is one message, a text unless it is in the binary form, what the client sends is passed over, and either side may end it. The library
 * is loaded by the first client that asks.
 */
export class WebSocketWatches {
  readonly #exchange: Exchange;
  #server: Promise<WebSocketServer> | undefined;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
  }

  async upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): Promise<Upgraded> {
    const protocols = protocolsOf(incoming);
    const gone = new AbortController();
    socket.once('close', () => gone.abort());
    const request = requestOf(incoming, tokenIn(protocols), gone.signal);
    const answer = await this.#exchange(request);
    const {body} = answer;
    if (body.kind !== 'watch') return {answer};
    const server = await (this.#server ??= webSocketServer());
    server.handleUpgrade(incoming, socket, head, client => {
      const watch = body.start(new MessageSink(client, body.contentType !== 'application/json'));
      client.on('error', () => client.terminate());
      client.once('close', () => watch[Symbol.dispose]());
    });
    return 'upgraded';
  }
}

const requestOf = (incoming: IncomingMessage, token: string | undefined, signal: AbortSignal): ApiRequest => {
  const plain = new Http1Request(incoming, undefined, connectionOf(incoming.socket));
  const headers = token === undefined || plain.headers['authorization'] ? plain.headers : {...plain.headers, authorization: `Bearer ${token}`};
  return {method: 'GET', url: plain.url, headers, caller: plain.caller, remoteAddress: plain.remoteAddress, signal};
};

const webSocketServer = async (): Promise<WebSocketServer> => {
  const {WebSocketServer: Server} = await import('ws');
  return new Server({
    noServer: true,
    maxPayload: 64 << 10,
    // A token is no protocol anyone speaks: the first real one is agreed on.
    handleProtocols: offered => [...offered].find(protocol => !isToken(protocol)) ?? false,
  });
};

/** A frame of the binary form begins with its length, which a message has of itself. */
const lengthBytes = 4;

class MessageSink implements WatchSink {
  readonly #client: WebSocket;
  readonly #binary: boolean;
  #waiting: (() => void)[] = [];

  constructor(client: WebSocket, binary: boolean) {
    this.#client = client;
    this.#binary = binary;
    client.once('close', () => this.#wake());
  }

  event(event: EncodedEvent): boolean {
    const client = this.#client;
    if (client.readyState !== client.OPEN) return false;
    client.send(this.#binary ? event.bytes().subarray(lengthBytes) : event.bytes(), {binary: this.#binary}, () => {
      if (this.#keepsUp()) this.#wake();
    });
    if (client.bufferedAmount > mostWaiting) client.terminate();
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
    return this.#client.bufferedAmount <= mostWaiting / 2;
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
