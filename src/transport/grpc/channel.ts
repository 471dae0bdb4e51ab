// A gRPC client channel over HTTP/2, for etcd. It is connected to one server at a time and switches to the next after a failure. Calls are never retried
// here; callers know which are safe to repeat.

import {connect, constants, type ClientHttp2Session, type ClientHttp2Stream} from 'node:http2';
import {connect as dial, isIP, type Socket} from 'node:net';
import {connect as secureDial, type ConnectionOptions} from 'node:tls';
import type {Clock} from '#src/base/clock.js';
import {noLog, type Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {CallLog} from '#src/transport/call-log.js';
import {frameOf, Frames} from './frames.js';
import {connectionReason} from './reasons.js';

/** The error of a procedure; `code` is one of the sixteen gRPC status codes. */
export class GrpcError extends Error {
  override readonly name = 'GrpcError';
  readonly code: number;
  /** Whether the request was certainly not received. */
  readonly unsent: boolean;
  constructor(code: number, message: string, unsent = false) {
    super(message);
    this.code = code;
    this.unsent = unsent;
  }
}

export const grpcCodes = {
  cancelled: 1,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  resourceExhausted: 8,
  failedPrecondition: 9,
  outOfRange: 11,
  internal: 13,
  unavailable: 14,
} as const;

export interface GrpcSettings {
  /** The equivalent servers of one service, as `scheme://host:port`. */
  readonly servers: readonly string[];
  readonly clock: Clock;
  /** Read again for each connection, so that renewed files are used. */
  readonly tls?: () => Promise<{readonly ca?: Buffer; readonly cert?: Buffer; readonly key?: Buffer}>;
  readonly connectTimeoutMs?: number;
  /** The log of calls, if enabled. */
  readonly log?: Log | undefined;
}

/** Receives a stream. `ended` is called once, at the end. */
export interface StreamListener {
  message(bytes: Buffer): void;
  /** Without an error if the status was OK. */
  ended(error?: GrpcError): void;
}

export interface OpenStream extends Disposable {
  send(message: Buffer): void;
}

const keepAliveMs = 30_000;
const keepAliveTimeoutMs = 10_000;
/** The receive window: lists are large. */
const windowBytes = 16 << 20;

/** Calls remote procedures over one HTTP/2 connection, which is opened on demand and replaced by one to the next server after a failure. */
export class GrpcChannel implements AsyncDisposable {
  readonly #settings: GrpcSettings;
  readonly #calls: CallLog;
  #session: ClientHttp2Session | undefined;
  #connecting: Promise<ClientHttp2Session> | undefined;
  #next = 0;
  #closed = false;
  #keepAlive: Disposable | undefined;

  constructor(settings: GrpcSettings) {
    this.#settings = settings;
    this.#calls = new CallLog(settings.log ?? noLog, settings.clock);
  }

  /** Calls a unary procedure. Throws `GrpcError`. */
  call(path: string, message: Buffer, timeoutMs: number): Promise<Buffer> {
    // Messages contain stored objects, which must not be logged.
    return this.#calls.run(
      () => ({method: 'POST', url: `grpc://${this.#settings.servers.join(',')}${path}`, headers: []}),
      () => this.#call(path, message, timeoutMs),
      () => ({status: 'OK'}),
    );
  }

  async #call(path: string, message: Buffer, timeoutMs: number): Promise<Buffer> {
    const {clock} = this.#settings;
    using _ = clock.hold();
    const session = await this.#connected();
    return new Promise((resolve, reject) => {
      const stream = this.#open(session, path, {'grpc-timeout': `${Math.max(1, Math.ceil(timeoutMs))}m`});
      let isLate = false;
      const timer = clock.schedule(timeoutMs, () => {
        isLate = true;
        stream.close(constants.NGHTTP2_CANCEL);
      });
      let answer: Buffer | undefined;
      this.#listen(stream, {
        message: bytes => void (answer ??= bytes),
        ended: error => {
          timer[Symbol.dispose]();
          if (!error && answer) resolve(answer);
          else if (!error) reject(new GrpcError(grpcCodes.internal, `${path} was answered with nothing`));
          else reject(isLate ? new GrpcError(grpcCodes.deadlineExceeded, `${path} was not answered within ${timeoutMs / 1000} s`) : error);
        },
      });
      stream.end(frameOf(message));
    });
  }

  /** Opens a bidirectional stream of messages. Throws `GrpcError` when no server is reached. */
  async stream(path: string, headers: Readonly<Record<string, string>>, listener: StreamListener): Promise<OpenStream> {
    const stream = this.#open(await this.#connected(), path, headers);
    this.#listen(stream, listener);
    return {
      send: message => void stream.write(frameOf(message)),
      [Symbol.dispose]: () => stream.close(constants.NGHTTP2_CANCEL),
    };
  }

  /** Disconnects from the current server: the next call uses another one. */
  switchServer(): void {
    const session = this.#session;
    this.#session = undefined;
    this.#next += 1;
    session?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#keepAlive?.[Symbol.dispose]();
    const session = this.#session ?? (await this.#connecting?.catch(() => undefined));
    this.#session = undefined;
    session?.destroy();
  }

  #open(session: ClientHttp2Session, path: string, headers: Readonly<Record<string, string>>): ClientHttp2Stream {
    try {
      return session.request({':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers', ...headers});
    } catch (error) {
      throw new GrpcError(grpcCodes.unavailable, messageOf(error), true);
    }
  }

  #listen(stream: ClientHttp2Stream, listener: StreamListener): void {
    const frames = new Frames();
    let outcome: GrpcError | 'fine' | undefined;
    let failure: unknown;
    const checkStatus = (headers: Readonly<Record<string, unknown>>): void => {
      const status = headers['grpc-status'];
      if (status === '0') outcome = 'fine';
      else if (status !== undefined) outcome = new GrpcError(Number(status), unescaped(String(headers['grpc-message'] ?? '')));
      else if (headers[':status'] !== undefined && headers[':status'] !== 200)
        outcome = new GrpcError(grpcCodes.unavailable, `the server answered ${String(headers[':status'])}`);
    };
    stream.on('response', checkStatus);
    stream.on('trailers', checkStatus);
    stream.on('data', (chunk: Buffer) => {
      try {
        for (const message of frames.push(chunk)) listener.message(message);
      } catch (error) {
        failure = error;
        stream.close(constants.NGHTTP2_CANCEL);
      }
    });
    stream.on('error', error => (failure ??= error));
    stream.on('close', () => {
      if (outcome === 'fine') return listener.ended();
      listener.ended(
        outcome ??
          new GrpcError(
            grpcCodes.unavailable,
            failure ? messageOf(failure) : 'the connection broke',
            stream.rstCode === constants.NGHTTP2_REFUSED_STREAM,
          ),
      );
    });
  }

  #connected(): Promise<ClientHttp2Session> | ClientHttp2Session {
    if (this.#closed) throw new GrpcError(grpcCodes.cancelled, 'the channel is closed', true);
    const session = this.#session;
    if (session && !session.closed && !session.destroyed) return session;
    return (this.#connecting ??= this.#connect().finally(() => (this.#connecting = undefined)));
  }

  async #connect(): Promise<ClientHttp2Session> {
    const {servers, clock} = this.#settings;
    using _ = clock.hold();
    const failures = new Set<string>();
    for (let attempt = 0; attempt < servers.length; attempt++) {
      const server = servers[this.#next % servers.length]!;
      try {
        const session = await this.#dial(server);
        if (this.#closed) session.destroy();
        else this.#keep(session);
        return session;
      } catch (error) {
        failures.add(`${server}: ${connectionReason(server, error)}`);
        this.#next += 1;
      }
    }
    throw new GrpcError(grpcCodes.unavailable, [...failures].join('; '), true);
  }

  async #dial(server: string): Promise<ClientHttp2Session> {
    const {clock, tls, connectTimeoutMs = 5000} = this.#settings;
    const files = server.startsWith('https:') ? await tls?.() : undefined;
    return new Promise((resolve, reject) => {
      // While there is no stream, TLS alerts are only reported by the socket.
      const socket = socketTo(server, files).once('error', error => reject(error));
      const session = connect(server, {
        createConnection: () => socket,
        settings: {initialWindowSize: windowBytes, enablePush: false},
        maxSessionMemory: 4096,
      });
      const timer = clock.schedule(connectTimeoutMs, () =>
        session.destroy(new Error(`context deadline exceeded: no server preface within ${connectTimeoutMs / 1000} s`)),
      );
      // A server that accepts the connection may still refuse the client's certificate, or use another protocol: only the first settings frame confirms that
      // it serves.
      session.once('remoteSettings', () => {
        timer[Symbol.dispose]();
        session.setLocalWindowSize(windowBytes);
        resolve(session);
      });
      // Later errors are reported by the streams.
      session.on('error', error => {
        timer[Symbol.dispose]();
        reject(error);
      });
      session.once('close', () => {
        timer[Symbol.dispose]();
        reject(new Error('error reading server preface: EOF'));
      });
    });
  }

  #keep(session: ClientHttp2Session): void {
    this.#session = session;
    const gone = (): void => {
      if (this.#session !== session) return;
      this.#session = undefined;
      this.#keepAlive?.[Symbol.dispose]();
    };
    session.once('close', gone);
    session.once('goaway', gone);
    this.#keepAlivePing(session);
  }

  /** Pings the server periodically, and closes the connection when it does not respond. */
  #keepAlivePing(session: ClientHttp2Session): void {
    const {clock} = this.#settings;
    this.#keepAlive?.[Symbol.dispose]();
    this.#keepAlive = clock.schedule(keepAliveMs, () => {
      if (session.closed || session.destroyed) return;
      const hold = clock.hold();
      const pingTimeout = clock.schedule(keepAliveTimeoutMs, () => session.destroy(new Error('the server no longer answers')));
      this.#keepAlive = pingTimeout;
      const answered = (error: Error | null): void => {
        hold[Symbol.dispose]();
        pingTimeout[Symbol.dispose]();
        if (!error && this.#session === session) this.#keepAlivePing(session);
      };
      if (!session.ping(answered)) answered(new Error('the connection is gone'));
    });
  }
}

const socketTo = (server: string, files: ConnectionOptions | undefined): Socket => {
  const {protocol, hostname, port} = new URL(server);
  const host = hostname.replace(/^\[|\]$/g, '');
  if (protocol === 'http:') return dial({host, port: Number(port || 80)});
  return secureDial({...files, host, port: Number(port || 443), ALPNProtocols: ['h2'], ...(isIP(host) ? {} : {servername: host})});
};

/** Messages percent-encode all but plain ASCII. */
const unescaped = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};
