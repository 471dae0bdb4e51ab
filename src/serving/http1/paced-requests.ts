import type {IncomingMessage, Server, ServerResponse} from 'node:http';
import type {Socket} from 'node:net';
import {endWith} from '#src/base/emitters/confined.js';
import {yieldToEventLoop} from '#src/base/turn.js';

/** What the connections of a server may spend per turn of the event loop, in bytes that are parsed. */
const turnBytes = 128 << 10;
/** What a request counts, besides its bytes: it takes a tenth of a millisecond, however short it is. */
const requestBytes = 2 << 10;
/** How much is parsed at once; it may hold a hundred requests. */
const sliceBytes = 2 << 10;
/** How many times cheaper the bytes of a body of known length are: they are not looked at. */
const bodyDiscount = 8;
/**
 * The number of responses of a connection that wait for the previous one, above which no further requests are begun.
 */
const maxQueued = 64;

type Push = (chunk: Buffer | null) => boolean;

interface Connection {
  readonly socket: Socket;
  readonly push: Push;
  /** What has been received but not parsed; null is the end. */
  readonly held: (Buffer | null)[];
  /** What the body in progress may still have, if its length is known. */
  bodyLeft: number;
  /** Responses that wait for the previous one. */
  readonly queued: Set<ServerResponse>;
  isWaiting: boolean;
}

const ignore = () => {};

/**
 * Makes the parser of a connection read from the stream, which can be held back, instead of from the handle. A data
 * listener has that effect.
 */
const parseFromStream = (socket: Socket): void => void socket.on('data', ignore).off('data', ignore);

/**
 * Begins the HTTP/1.1 requests of a server a few per turn of the event loop, however many have arrived, on one
 * connection or on many: what has been received beyond that is held, and while a connection has such bytes no more is
 * read from it. Connections take turns.
 */
export class PacedRequests {
  readonly #connections = new WeakMap<Socket, Connection>();
  readonly #waiting: Connection[] = [];
  #left = turnBytes;
  #isTurning = false;

  /**
   * Paces the requests of a server, whose connections are to be accepted. To be called before others listen for
   * requests.
   */
  follow(server: Server): void {
    server.on('request', (request, response) => this.#begun(request, response));
    server.on('upgrade', ({socket}) => void (this.#connections.get(socket)!.bodyLeft = Infinity));
  }

  /** To be called once the server serves the connection. */
  accept(socket: Socket): void {
    const connection = {
      socket,
      push: socket.push.bind(socket) as Push,
      held: [],
      bodyLeft: 0,
      queued: new Set<ServerResponse>(),
      isWaiting: false,
    };
    this.#connections.set(socket, connection);
    parseFromStream(socket);
    socket.push = (chunk: Buffer | null) => this.#received(connection, chunk);
    socket.once('close', () => closed(connection));
  }

  #begun({socket, headers}: IncomingMessage, response: ServerResponse): void {
    const connection = this.#connections.get(socket)!;
    connection.bodyLeft = Number(headers['content-length']) || 0;
    this.#spend(requestBytes);
    // A response that waits for the previous one has no socket yet.
    if (response.socket) return;
    connection.queued.add(response);
    response.once('socket', () => {
      connection.queued.delete(response);
      this.#wait(connection);
    });
  }

  #received(connection: Connection, chunk: Buffer | null): boolean {
    const {held, queued} = connection;
    if (held.length === 0 && queued.size < maxQueued && this.#left > 0 && isSlice(connection, chunk)) return this.#parse(connection, chunk);
    held.push(chunk);
    this.#wait(connection);
    return false;
  }

  #parse(connection: Connection, chunk: Buffer | null): boolean {
    const {length} = chunk ?? {length: 0};
    const isBody = length > 0 && length <= connection.bodyLeft;
    this.#spend(isBody ? length / bodyDiscount : length);
    if (isBody) connection.bodyLeft -= length;
    return connection.push(chunk);
  }

  #spend(bytes: number): void {
    this.#left -= bytes;
    if (!this.#isTurning) void this.#turn();
  }

  #wait(connection: Connection): void {
    if (connection.isWaiting || connection.held.length === 0 || connection.queued.size >= maxQueued) return;
    connection.isWaiting = true;
    this.#waiting.push(connection);
    if (!this.#isTurning) void this.#turn();
  }

  async #turn(): Promise<void> {
    this.#isTurning = true;
    do {
      await yieldToEventLoop();
      this.#left = turnBytes;
      while (this.#left > 0 && this.#waiting.length > 0) this.#parseNext(this.#waiting.shift()!);
    } while (this.#waiting.length > 0);
    this.#isTurning = false;
  }

  #parseNext(connection: Connection): void {
    connection.isWaiting = false;
    if (connection.held.length === 0) return;
    try {
      this.#parse(connection, takeSlice(connection));
    } catch (error) {
      endWith(connection.socket, error);
    }
    this.#wait(connection);
  }
}

const isSlice = ({bodyLeft}: Connection, chunk: Buffer | null): boolean => chunk === null || chunk.length <= Math.max(sliceBytes, bodyLeft);

const takeSlice = ({held, bodyLeft}: Connection): Buffer | null => {
  const first = held[0]!;
  const most = Math.max(sliceBytes, bodyLeft);
  if (first === null || first.length <= most) return held.shift()!;
  held[0] = first.subarray(most);
  return first.subarray(0, most);
};

/**
 * Node does not notify the responses that wait when their connection closes: their senders would wait forever, and keep
 * their source open.
 */
const closed = ({held, queued}: Connection): void => {
  held.length = 0;
  for (const response of queued) {
    response.destroy();
    response.emit('close');
  }
  queued.clear();
};
