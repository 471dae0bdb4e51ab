// A gRPC client channel over HTTP/2, for etcd, plugins and container runtimes. It is connected to one server at a time
// and switches to the next after a failure. Calls are never retried here; callers know which are safe to repeat.

import {constants, type ClientHttp2Session, type ClientHttp2Stream} from 'node:http2';
import type {Clock} from '#src/base/clock.js';
import {noLog, type Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {traceHeaders} from '#src/base/span.js';
import {CallLog} from '#src/transport/call-log.js';
import {dialer, targetOf, type Dial} from '#src/transport/dial.js';
import {tlsError} from '#src/transport/error-words.js';
import {openSession, Sessions, type Pings} from '#src/transport/http2/sessions.js';
import {systemNetwork} from '#src/transport/network.js';
import {frameOf, Frames, LongMessage} from './frames.js';

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
  aborted: 10,
  outOfRange: 11,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
} as const;

const codeNames = [
  'OK',
  'Canceled',
  'Unknown',
  'InvalidArgument',
  'DeadlineExceeded',
  'NotFound',
  'AlreadyExists',
  'PermissionDenied',
  'ResourceExhausted',
  'FailedPrecondition',
  'Aborted',
  'OutOfRange',
  'Unimplemented',
  'Internal',
  'Unavailable',
  'DataLoss',
  'Unauthenticated',
];

/** The name of a status code in messages and metrics. */
export const codeName = (code: number): string => codeNames[code] ?? `Code(${code})`;

export interface GrpcSettings {
  /** The equivalent servers of one service, as `scheme://host:port` or `unix:///path`. */
  readonly servers: readonly string[];
  readonly clock: Clock;
  /** Read again for each connection, so that renewed files are used. */
  readonly tls?: () => Promise<{readonly ca?: Buffer; readonly cert?: Buffer; readonly key?: Buffer}>;
  readonly connectTimeoutMs?: number;
  /**
   * Pings of an open connection. Absent: none, since servers in Go by default end connections that are pinged more
   * often than every five minutes.
   */
  readonly pings?: Pings | undefined;
  /** Opens connections; by default over this machine's network. */
  readonly dial?: Dial;
  /** The log of calls, if enabled. */
  readonly log?: Log | undefined;
  /** The user agent of calls, if any. */
  readonly userAgent?: string;
  /** The longest message that is accepted. Absent: any, for servers that are trusted with it. */
  readonly maxMessageBytes?: number | undefined;
  /**
   * Called with each new connection, which is used once it resolves, and closed if it rejects. `call` calls a procedure
   * on it.
   */
  readonly verify?: (call: Call) => Promise<void>;
  /** Called when a connection that was used has ended. */
  readonly closed?: () => void;
}

/** Calls a unary procedure. Throws `GrpcError`. */
export type Call = (path: string, message: Buffer) => Promise<Buffer>;

/** Receives a stream. `ended` is called once, at the end. */
export interface StreamListener {
  message(bytes: Buffer): void;
  /** Without an error if the status was OK. */
  ended(error?: GrpcError): void;
}

export interface OpenStream extends Disposable {
  /** `sent` is called once the message has left, or with the error of a stream that ended. */
  send(message: Buffer, sent?: (error?: Error | null) => void): void;
  /** Tells the server that no further message follows. */
  end(): void;
  /** Stops receiving, so that the sender has to wait. Messages that have arrived are still delivered. */
  pause(): void;
  resume(): void;
}

/** The receive windows: lists are large. */
const windows = {stream: 16 << 20, session: 16 << 20};
const defaultConnectTimeoutMs = 5000;

interface UnaryCall {
  readonly path: string;
  readonly message: Buffer;
  readonly timeoutMs: number | undefined;
}

/** Begins a stream on a connection, and listens to it at once. */
type Start = (session: ClientHttp2Session) => ClientHttp2Stream;

/**
 * Calls remote procedures over one HTTP/2 connection, which is opened on demand and replaced by one to the next server
 * after a failure.
 */
export class GrpcChannel implements AsyncDisposable {
  readonly #settings: GrpcSettings;
  readonly #calls: CallLog;
  readonly #dial: Dial;
  readonly #sessions: Sessions;
  #next = 0;
  #closed = false;
  /** The connection that is being verified. */
  #candidate: ClientHttp2Session | undefined;

  constructor(settings: GrpcSettings) {
    const {clock, log = noLog, pings, dial = dialer(systemNetwork(clock), clock)} = settings;
    this.#settings = settings;
    this.#calls = new CallLog(log, clock);
    this.#dial = dial;
    this.#sessions = new Sessions({clock, pings, maxSessions: 1, open: () => this.#connect()});
  }

  /**
   * Calls a unary procedure, without a deadline if there is no time limit, which includes the connection. Throws
   * `GrpcError`.
   */
  call(path: string, message: Buffer, timeoutMs?: number): Promise<Buffer> {
    // Messages contain stored objects, which must not be logged.
    return this.#calls.run(
      () => ({method: 'POST', url: `grpc://${this.#settings.servers.join(',')}${path}`, headers: []}),
      () => this.#call(path, message, timeoutMs),
      () => ({status: 'OK'}),
    );
  }

  async #call(path: string, message: Buffer, timeoutMs?: number): Promise<Buffer> {
    using _ = this.#settings.clock.hold();
    return await this.#unary({path, message, timeoutMs}, start => this.#begin(start));
  }

  /**
   * Resolves to the answer on the stream that `begin` starts. At the time limit it rejects at once, connected or not.
   */
  #unary({path, message, timeoutMs}: UnaryCall, begin: (start: Start) => Promise<ClientHttp2Stream>): Promise<Buffer> {
    const {clock} = this.#settings;
    const deadline = timeoutMs === undefined ? undefined : clock.monotonic() + timeoutMs;
    return new Promise((resolve, reject) => {
      let stream: ClientHttp2Stream | undefined;
      let late: GrpcError | undefined;
      const timer =
        timeoutMs === undefined
          ? undefined
          : clock.schedule(timeoutMs, () => {
              const what = stream ? `${path} was not answered` : `there was no connection for ${path}`;
              late = new GrpcError(grpcCodes.deadlineExceeded, `${what} within ${timeoutMs / 1000} s`, !stream);
              reject(late);
              stream?.close(constants.NGHTTP2_CANCEL);
            });
      begin(session => {
        if (late) throw late;
        let response: Buffer | undefined;
        stream = this.#request(session, path, deadline === undefined ? {} : {'grpc-timeout': grpcTimeout(deadline - clock.monotonic())}, {
          message: bytes => void (response ??= bytes),
          ended: error => {
            timer?.[Symbol.dispose]();
            if (!error && response) resolve(response);
            else reject(error ?? new GrpcError(grpcCodes.internal, `${path} was answered with nothing`));
          },
        });
        stream.end(frameOf(message));
        return stream;
      }).catch((error: unknown) => {
        timer?.[Symbol.dispose]();
        reject(error as Error);
      });
    });
  }

  /** Opens a bidirectional stream of messages. Throws `GrpcError` when no server is reached. */
  async stream(path: string, headers: Readonly<Record<string, string>>, listener: StreamListener): Promise<OpenStream> {
    const stream = await this.#begin(session => this.#request(session, path, headers, listener));
    return {
      send: (message, sent) => void stream.write(frameOf(message), sent),
      end: () => void stream.end(),
      pause: () => void stream.pause(),
      resume: () => void stream.resume(),
      [Symbol.dispose]: () => stream.close(constants.NGHTTP2_CANCEL),
    };
  }

  /** Connects unless connected. Throws `GrpcError` when no server is reached. */
  async connect(): Promise<void> {
    if (this.#closed) throw new GrpcError(grpcCodes.cancelled, 'the channel is closed', true);
    await this.#sessions.ready();
  }

  /** Disconnects from the current server: the next call uses another one. */
  switchServer(): void {
    this.#next += 1;
    this.#sessions.drain();
  }

  /** As `switchServer`, and calls and streams of the current server fail: it does not answer any more. */
  dropServer(): void {
    this.#next += 1;
    this.#sessions.drop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#candidate?.destroy();
    await this.#sessions.destroy();
  }

  async #begin(start: Start): Promise<ClientHttp2Stream> {
    if (this.#closed) throw new GrpcError(grpcCodes.cancelled, 'the channel is closed', true);
    try {
      return await this.#sessions.stream(start);
    } catch (error) {
      throw error instanceof GrpcError ? error : new GrpcError(grpcCodes.unavailable, messageOf(error), true);
    }
  }

  #request(
    session: ClientHttp2Session,
    path: string,
    headers: Readonly<Record<string, string>>,
    listener: StreamListener,
  ): ClientHttp2Stream {
    const {userAgent, maxMessageBytes} = this.#settings;
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...(userAgent === undefined ? {} : {'user-agent': userAgent}),
      ...Object.fromEntries(traceHeaders()),
      ...headers,
    });
    listen(stream, listener, maxMessageBytes);
    return stream;
  }

  /** Opens a session to the current server, or to the next one that serves. */
  async #connect(): Promise<ClientHttp2Session> {
    const {servers, clock} = this.#settings;
    using _ = clock.hold();
    const failures = new Set<string>();
    for (let attempt = 0; attempt < servers.length; attempt++) {
      const server = servers[this.#next % servers.length]!;
      try {
        return this.#followed(await this.#verified(await this.#open(server)));
      } catch (error) {
        failures.add(`${server}: ${messageOf(error)}`);
        this.#next += 1;
      }
    }
    throw new GrpcError(grpcCodes.unavailable, [...failures].join('; '), true);
  }

  #followed(session: ClientHttp2Session): ClientHttp2Session {
    const {closed} = this.#settings;
    if (closed) session.once('close', closed);
    return session;
  }

  async #verified(session: ClientHttp2Session): Promise<ClientHttp2Session> {
    const {verify, connectTimeoutMs: timeoutMs = defaultConnectTimeoutMs} = this.#settings;
    if (!verify) return session;
    this.#candidate = session;
    if (this.#closed) session.destroy();
    try {
      await verify((path, message) => this.#unary({path, message, timeoutMs}, async start => start(session)));
      if (session.closed || session.destroyed) throw new Error('the server closed the connection');
      return session;
    } catch (error) {
      session.destroy();
      throw error;
    } finally {
      this.#candidate = undefined;
    }
  }

  async #open(server: string): Promise<ClientHttp2Session> {
    const {clock, tls, connectTimeoutMs: timeoutMs = defaultConnectTimeoutMs} = this.#settings;
    const material = server.startsWith('https:') ? await tls?.() : undefined;
    const {ca, cert, key} = material ?? {};
    const target = targetOf(server, {ca, ...(cert && key ? {pair: {cert, key}} : {})});
    let isDialled = false;
    const connect = async () => {
      const socket = await this.#dial(target, ['h2']);
      isDialled = true;
      return socket;
    };
    try {
      const origin = server.startsWith('unix:') ? 'http://localhost' : server;
      return await openSession({clock, origin, connect, windows, timeoutMs});
    } catch (error) {
      throw isDialled ? tlsError(error as Error) : dialReason(error as Error);
    }
  }
}

/** The error of a connection that was not established, worded as upstream's clients do. */
const dialReason = (error: Error): Error => {
  const {message} = error;
  if ((error as NodeJS.ErrnoException).code === 'ETIMEDOUT') return error;
  if (message.startsWith('dial ')) return new Error(`transport: Error while dialing: ${message}`, {cause: error});
  return new Error(`transport: authentication handshake failed: ${message}`, {cause: error});
};

/** The longest number of a time limit has eight digits. */
const grpcTimeout = (ms: number): string =>
  ms < 1e8 ? `${Math.max(1, Math.ceil(ms))}m` : `${Math.min(Math.ceil(ms / 1000), 99_999_999)}S`;

const listen = (stream: ClientHttp2Stream, listener: StreamListener, maxMessageBytes?: number): void => {
  const frames = new Frames(maxMessageBytes);
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
      outcome = error instanceof LongMessage ? new GrpcError(grpcCodes.resourceExhausted, error.message) : undefined;
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
};

/** Messages percent-encode the bytes of all but plain ASCII; anything else stays. */
const unescaped = (text: string): string =>
  text.replace(/(?:%[\dA-Fa-f]{2})+/g, run => Buffer.from(run.replaceAll('%', ''), 'hex').toString('utf8'));
