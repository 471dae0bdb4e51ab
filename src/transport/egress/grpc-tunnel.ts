// Tunnels of the konnectivity protocol over gRPC (KEP-1281): one gRPC connection to the proxy server for each tunnel,
// whose packets carry one connection to the address. A tunnel is being dialled, open, closing or closed. Bytes are
// never read ahead: an unread tunnel pauses its stream.

import {Duplex} from 'node:stream';
import type {Clock} from '#src/base/clock.js';
import type {Random} from '#src/base/random.js';
import {GrpcChannel, type OpenStream} from '#src/transport/grpc/channel.js';
import {MessageWriter, readMessage} from '#src/transport/grpc/message.js';
import {addSocketMethods} from '#src/transport/socket-methods.js';

/** The types of packets. */
const types = {dialRequest: 0, dialResponse: 1, closeRequest: 2, closeResponse: 3, data: 4, dialClose: 5} as const;

const connectTimeoutMs = 30_000;
const dialTimeoutMs = 30_000;
const closeTimeoutMs = 10_000;
/** The bytes of a connection in one packet. */
const packetBytes = 64 << 10;
/** The proxy server's messages are those of the connection, framed. */
const maxMessageBytes = 16 << 20;

/** The proxy server was not reached. */
export class ProxyUnreached extends Error {
  override readonly name = 'ProxyUnreached';
}

export interface GrpcTunnelOptions {
  /** The path of the proxy server's socket. */
  readonly socket: string;
  readonly clock: Clock;
  readonly random: Random;
}

/** A packet of the proxy server. */
interface Packet {
  readonly type: number;
  readonly connectId: number;
  readonly error: string;
  readonly data: Buffer;
}

const empty = Buffer.alloc(0);

const parsed = (bytes: Buffer): Packet => {
  let [type, connectId, error, data] = [0, 0, '', empty as Buffer];
  const readId = (number: number) => ({[number]: ({int}: {readonly int: number}) => void (connectId = int)});
  const readError = (number: number) => ({[number]: ({text}: {readonly text: string}) => void (error = text)});
  readMessage(bytes, {
    1: ({int}) => void (type = int),
    3: field => readMessage(field.bytes, {...readError(1), ...readId(2)}),
    4: field => readMessage(field.bytes, {...readId(1), ...readError(2), 3: content => void (data = content.bytes)}),
    5: field => readMessage(field.bytes, readId(1)),
    6: field => readMessage(field.bytes, {...readError(1), ...readId(2)}),
  });
  return {type, connectId, error, data};
};

const packet = (type: number, field: number, payload: MessageWriter): Buffer =>
  new MessageWriter().int(1, type).message(field, payload).finish();

/**
 * Opens a tunnel to an address, `host:port`. Rejects with `ProxyUnreached`, or with why the proxy server did not
 * connect.
 */
export const dialThroughGrpc = async (address: string, {socket, clock, random}: GrpcTunnelOptions): Promise<Duplex> => {
  const channel = new GrpcChannel({servers: [`unix://${encodeURI(socket)}`], clock, connectTimeoutMs, maxMessageBytes});
  const tunnel = new Tunnel(channel, clock);
  try {
    await tunnel.open();
  } catch (cause) {
    tunnel.destroy();
    throw new ProxyUnreached((cause as Error).message, {cause});
  }
  await tunnel.dial(address, Math.floor(random.float() * 2 ** 52));
  return tunnel;
};

/** A connection through a tunnel. */
class Tunnel extends Duplex {
  readonly #channel: GrpcChannel;
  readonly #clock: Clock;
  #stream: OpenStream | undefined;
  #connectId: number | undefined;
  #dialled: {resolve(connectId: number): void; reject(error: Error): void} | undefined;
  #closed = (): void => {};

  constructor(channel: GrpcChannel, clock: Clock) {
    super({allowHalfOpen: false});
    this.#channel = channel;
    this.#clock = clock;
  }

  async open(): Promise<void> {
    this.#stream = await this.#channel.stream(
      '/ProxyService/Proxy',
      {},
      {message: bytes => this.#receive(bytes), ended: error => this.#ended(error)},
    );
  }

  async dial(address: string, random: number): Promise<void> {
    using _ = this.#clock.hold();
    const dialled = new Promise<number>((resolve, reject) => {
      this.#dialled = {resolve, reject};
    });
    using _timer = this.#clock.schedule(dialTimeoutMs, () => this.#dialled?.reject(new Error('dial timeout, backstop')));
    this.#stream!.send(packet(types.dialRequest, 2, new MessageWriter().bytes(1, 'tcp').bytes(2, address).int(3, random)));
    try {
      this.#connectId = await dialled;
    } catch (error) {
      this.#stream!.send(packet(types.dialClose, 7, new MessageWriter().int(1, random)));
      this.destroy();
      throw error;
    } finally {
      this.#dialled = undefined;
    }
  }

  override _read(): void {
    this.#stream?.resume();
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: (error?: Error | null) => void): void {
    const stream = this.#stream!;
    for (let at = 0; at < chunk.length; at += packetBytes) {
      const piece = chunk.subarray(at, at + packetBytes);
      const isLast = at + packetBytes >= chunk.length;
      stream.send(packet(types.data, 4, new MessageWriter().int(1, this.#connectId!).bytes(3, piece)), isLast ? done : undefined);
    }
    if (chunk.length === 0) done();
  }

  /** The protocol closes both directions at once, so that this side is closed only with the connection. */
  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#close().then(
      () => done(error),
      () => done(error),
    );
  }

  async #close(): Promise<void> {
    this.#dialled?.reject(new Error('tunnel closed'));
    if (this.#stream && this.#connectId !== undefined) {
      const closed = new Promise<void>(resolve => {
        this.#closed = resolve;
      });
      using _ = this.#clock.schedule(closeTimeoutMs, () => this.#closed());
      this.#stream.resume();
      this.#stream.send(packet(types.closeRequest, 5, new MessageWriter().int(1, this.#connectId)));
      await closed;
    }
    await this.#channel[Symbol.asyncDispose]();
  }

  #receive(bytes: Buffer): void {
    try {
      this.#handle(parsed(bytes));
    } catch (error) {
      this.destroy(error as Error);
    }
  }

  #handle({type, connectId, error, data}: Packet): void {
    if (type === types.dialResponse) {
      if (error) this.#dialled?.reject(new Error(error));
      else this.#dialled?.resolve(connectId);
    } else if (type === types.dialClose) this.#dialled?.reject(new Error('dial closed'));
    else if (type === types.data) {
      if (!this.destroyed && data.length > 0 && !this.push(Buffer.from(data))) this.#stream?.pause();
    } else if (type === types.closeRequest || type === types.closeResponse) this.#ended();
  }

  /** The other side closed the connection, or the stream has ended. */
  #ended(error?: Error): void {
    this.#closed();
    this.#connectId = undefined;
    this.#dialled?.reject(error ?? new Error('tunnel closed'));
    if (!this.destroyed) this.push(null);
  }
}

addSocketMethods(Tunnel.prototype);
