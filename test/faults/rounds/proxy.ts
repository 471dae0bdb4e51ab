import {once} from 'node:events';
import {connect, createServer, type AddressInfo, type Server, type Socket} from 'node:net';

/**
 * A relay in front of a server: its address stays when the server is restarted on another port, and connections through
 * it can be cut and stalled.
 */
export class Relay implements AsyncDisposable {
  /** The port of the server; none while there is no server. */
  target: number | undefined;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor() {
    this.#server = createServer(socket => this.#relay(socket));
  }

  static async open(): Promise<Relay> {
    const relay = new Relay();
    relay.#server.listen(0, '127.0.0.1');
    await once(relay.#server, 'listening');
    return relay;
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  #relay(client: Socket): void {
    if (this.target === undefined) {
      client.destroy();
      return;
    }
    const server = connect(this.target, '127.0.0.1');
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(one);
      one.on('error', () => undefined);
      one.once('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
      one.setNoDelay(true).pipe(other);
    }
  }

  /** Breaks all connections. */
  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Relays nothing on the connections there are until `proceed`, without closing them. */
  stall(): void {
    for (const socket of this.#sockets) socket.pause();
  }

  proceed(): void {
    for (const socket of this.#sockets) socket.resume();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
