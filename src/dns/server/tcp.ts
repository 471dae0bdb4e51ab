import {createServer, isIP, type AddressInfo, type Server, type Socket} from 'node:net';
import {confineErrors} from '#src/base/emitters/confined.js';
import {isPending} from '#src/base/eventually.js';
import {ConnectionLimit} from '#src/serving/limits/connection-limit.js';
import type {BoundAddress, Respond} from './respond.js';

export interface TcpLimits {
  readonly maxConnections: number;
  /** After so long without a whole query a connection is closed. */
  readonly idleMs: number;
}

/** So many queries of one connection are worked on at once; the next ones are not read before. */
const maxPipelined = 100;

/** So many bytes of responses may wait for a client that does not read them. */
const maxUnsentBytes = 1 << 20;

const lengthBytes = 2;

/** One client, which may send queries without waiting for the responses. These are sent as they are made. */
class Connection {
  readonly #socket: Socket;
  readonly #respond: (bytes: Buffer) => ReturnType<Respond>;
  #received: Buffer[] = [];
  #bytes = 0;
  #active = 0;

  constructor(socket: Socket, respond: (bytes: Buffer) => ReturnType<Respond>) {
    this.#socket = socket;
    this.#respond = respond;
    socket.on('data', (chunk: Buffer) => {
      this.#received.push(chunk);
      this.#bytes += chunk.length;
      this.#work();
    });
    socket.on('drain', () => this.#work());
  }

  get isIdle(): boolean {
    return this.#active === 0;
  }

  /** Works on the queries that have arrived, as far as the limits allow. */
  #work(): void {
    while (this.#hasRoom()) {
      const query = this.#next();
      if (!query) break;
      this.#handle(query);
    }
    if (this.#hasRoom()) this.#socket.resume();
    else this.#socket.pause();
  }

  #hasRoom(): boolean {
    return this.#active < maxPipelined && this.#socket.writableLength < maxUnsentBytes;
  }

  /** Takes the next query out of what has arrived; undefined before it is whole. */
  #next(): Buffer | undefined {
    if (this.#bytes < lengthBytes) return undefined;
    if (this.#received[0]!.length < lengthBytes) this.#join();
    const size = lengthBytes + this.#received[0]!.readUInt16BE();
    if (this.#bytes < size) return undefined;
    if (this.#received[0]!.length < size) this.#join();
    const [first, ...rest] = this.#received as [Buffer, ...Buffer[]];
    this.#received = first.length > size ? [first.subarray(size), ...rest] : rest;
    this.#bytes -= size;
    return first.subarray(lengthBytes, size);
  }

  #join(): void {
    this.#received = [Buffer.concat(this.#received)];
  }

  #handle(query: Buffer): void {
    const response = this.#respond(query);
    if (!isPending(response)) return this.#send(response);
    this.#active++;
    const done = (bytes: Buffer | undefined) => {
      this.#active--;
      this.#send(bytes);
      this.#work();
    };
    void response.then(done, () => done(undefined));
  }

  #send(response: Buffer | undefined): void {
    if (!response || !this.#socket.writable) return;
    const length = Buffer.allocUnsafe(lengthBytes);
    length.writeUInt16BE(response.length);
    this.#socket.write(Buffer.concat([length, response]));
  }
}

/** Answers queries on connections at one address. Rejects if it cannot be used. */
export const listenTcp = async (
  {address, port}: {readonly address: string; readonly port: number},
  respond: Respond,
  {maxConnections, idleMs}: TcpLimits,
): Promise<BoundAddress> => {
  const server = confineErrors(createServer({noDelay: true}));
  const sockets = new Set<Socket>();
  const limit = new ConnectionLimit(maxConnections);
  server.on('connection', socket => {
    confineErrors(socket);
    socket.on('error', () => {}); // Ends with the connection.
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.setTimeout(idleMs, () => socket.destroy());
    const {remoteAddress = '', remotePort = 0, remoteFamily} = socket;
    const from = {transport: 'tcp', family: remoteFamily === 'IPv6' ? 6 : 4, address: remoteAddress, port: remotePort} as const;
    const connection = new Connection(socket, bytes => respond(bytes, from));
    limit.enter(socket, () => connection.isIdle);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({host: address, port, exclusive: true, ipv6Only: isIP(address) === 6}, () => {
      server.off('error', reject);
      resolve();
    });
  });
  server.on('error', () => {});
  return {address, port: (server.address() as AddressInfo).port, close: () => closed(server, sockets)};
};

const closed = async (server: Server, sockets: ReadonlySet<Socket>): Promise<void> => {
  await new Promise(resolve => {
    server.close(resolve);
    for (const socket of sockets) socket.destroy();
  });
};
