import {once} from 'node:events';
import http2, {type ClientHttp2Session, type ClientHttp2Stream, type OutgoingHttpHeaders} from 'node:http2';
import net, {type Socket} from 'node:net';
import tls from 'node:tls';
import type {Random} from '#src/base/random.js';
import type {Target} from './targets.js';

/** How long an attacker waits for anything, in ms. */
const patienceMs = 2000;

/** An attacker of a port, with all the connections it holds. Disposing closes them. */
export class Attacker {
  readonly target: Target;
  readonly random: Random;
  /** The share of the full size that an attack has. */
  readonly share: number;
  readonly #held = new Set<{destroy(): unknown}>();

  constructor(target: Target, random: Random, share: number) {
    this.target = target;
    this.random = random;
    this.share = share;
  }

  /** A number of things to do, somewhat less or more than that of a full attack. */
  many(full: number): number {
    return Math.ceil(full * this.share * (0.7 + 0.6 * this.random.float()));
  }

  pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.random.float() * items.length)]!;
  }

  noise(most: number): Buffer {
    return Buffer.from(this.random.bytes(Math.floor(this.random.float() * most)));
  }

  /** Opens a connection without TLS, which is all that a port may see of it. */
  bare(): Socket {
    return this.#hold(net.connect({host: '127.0.0.1', port: this.target.port, allowHalfOpen: true}));
  }

  /** Opens a connection for bytes, over TLS if the port has that. Reads nothing until told to. */
  socket(alpn = 'http/1.1'): Socket {
    const {port, isPlain} = this.target;
    if (isPlain) return this.bare();
    return this.#hold(tls.connect({host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: [alpn]}));
  }

  /** Sends bytes, and returns what comes back until the end of the connection or of patience. */
  async exchange(bytes: string, alpn?: string): Promise<string> {
    const socket = this.socket(alpn);
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
    socket.write(bytes, 'latin1');
    await this.patience(once(socket, 'close'));
    socket.destroy();
    return text;
  }

  /** Opens a session of HTTP/2 whose streams may get that many bytes. */
  async session(initialWindowSize?: number): Promise<ClientHttp2Session> {
    const {port, credentials} = this.target;
    const session = this.#hold(
      http2.connect(`https://127.0.0.1:${port}`, {
        rejectUnauthorized: false,
        ...credentials,
        maxSendHeaderBlockLength: 1 << 21,
        ...(initialWindowSize === undefined ? {} : {settings: {initialWindowSize}}),
      }),
    );
    await this.patience(once(session, 'connect'));
    return session;
  }

  /** Begins a request; nothing if the session has ended. */
  stream(session: ClientHttp2Session, headers: OutgoingHttpHeaders, isBodyLess = true): ClientHttp2Stream | undefined {
    if (session.destroyed || session.closed) return undefined;
    return session.request(headers, {endStream: isBodyLess}).on('error', () => {});
  }

  /** Waits for something, but not for ever. */
  async patience(what: Promise<unknown>): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const over = new Promise(resolve => (timer = setTimeout(resolve, patienceMs)));
    await Promise.race([what.catch(() => {}), over]);
    clearTimeout(timer);
  }

  #hold<
    T extends {destroy(): unknown; on(event: 'error', listener: () => void): unknown; once(event: 'close', listener: () => void): unknown},
  >(connection: T): T {
    this.#held.add(connection);
    connection.on('error', () => {});
    connection.once('close', () => this.#held.delete(connection));
    return connection;
  }

  [Symbol.dispose](): void {
    for (const connection of this.#held) connection.destroy();
  }
}
