// A gRPC server at a unix socket, for other processes of the same machine.

import {once} from 'node:events';
import {createServer, type Http2Server, type Http2Session, type ServerHttp2Stream} from 'node:http2';
import {confineErrors} from '#src/base/emitters/confined.js';
import {noLog, type Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {GrpcError, grpcCodes} from './channel.js';
import {frameOf, Frames, LongMessage} from './frames.js';

/** A call as its procedure sees it. */
export interface ServedCall {
  /** Sends a message of a stream. */
  send(message: Buffer): void;
  /** Aborts when the caller is gone. */
  readonly signal: AbortSignal;
}

/** Answers a call. A stream resolves to nothing when it ends. May reject with a `GrpcError`. */
export type Serve = (message: Buffer, call: ServedCall) => Promise<Buffer | undefined>;

export interface GrpcServerParts {
  /** The procedures, by path: `/package.Service/Name`. */
  readonly procedures: Readonly<Record<string, Serve>>;
  readonly log?: Log | undefined;
  readonly maxMessageBytes?: number;
}

const defaultMaxMessageBytes = 4 << 20;

/** A server of unary procedures and of streams of answers. Disposing of it ends its connections. */
export class GrpcServer implements AsyncDisposable {
  readonly #procedures: ReadonlyMap<string, Serve>;
  readonly #log: Log;
  readonly #maxMessageBytes: number;
  readonly #server: Http2Server;
  readonly #sessions = new Set<Http2Session>();

  constructor({procedures, log = noLog, maxMessageBytes = defaultMaxMessageBytes}: GrpcServerParts) {
    this.#procedures = new Map(Object.entries(procedures));
    this.#log = log;
    this.#maxMessageBytes = maxMessageBytes;
    const report = (error: unknown): void => log.error({err: error}, 'a gRPC connection failed');
    this.#server = confineErrors(createServer(), report);
    this.#server.on('session', session => {
      this.#sessions.add(confineErrors(session, report));
      session.on('close', () => this.#sessions.delete(session));
      session.on('error', () => {}); // Its streams fail as well.
    });
    this.#server.on('stream', (stream, headers) => this.#accept(confineErrors(stream, report), String(headers[':path'])));
  }

  /** Listens at the path of a socket, which must not exist. */
  async listen(path: string): Promise<void> {
    this.#server.listen(path);
    await once(this.#server, 'listening');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const session of this.#sessions) session.destroy();
    if (!this.#server.listening) return;
    this.#server.close();
    await once(this.#server, 'close');
  }

  /** Answers the first message of a stream. */
  #accept(stream: ServerHttp2Stream, path: string): void {
    const frames = new Frames(this.#maxMessageBytes);
    const gone = new AbortController();
    let isCalled = false;
    stream.on('error', () => {}); // The caller is gone.
    stream.on('close', () => gone.abort());
    stream.on('data', (chunk: Buffer) => {
      try {
        const [message] = frames.push(chunk);
        if (!message || isCalled) return;
        isCalled = true;
        void this.#answer(stream, path, message, gone.signal);
      } catch (error) {
        const code = error instanceof LongMessage ? grpcCodes.resourceExhausted : grpcCodes.internal;
        finish(stream, new GrpcError(code, messageOf(error)));
      }
    });
  }

  async #answer(stream: ServerHttp2Stream, path: string, message: Buffer, signal: AbortSignal): Promise<void> {
    const send = (answer: Buffer): void => {
      if (stream.destroyed) return;
      if (!stream.headersSent) stream.respond(head, {waitForTrailers: true});
      stream.write(frameOf(answer));
    };
    try {
      const serve = this.#procedures.get(path);
      if (!serve) throw new GrpcError(grpcCodes.unimplemented, unknown(path, [...this.#procedures.keys()]));
      const answer = await serve(message, {send, signal});
      if (answer) send(answer);
      finish(stream);
    } catch (error) {
      if (!(error instanceof GrpcError)) this.#log.error({err: error, path}, 'a gRPC procedure failed');
      finish(stream, error instanceof GrpcError ? error : new GrpcError(grpcCodes.unknown, messageOf(error)));
    }
  }
}

const head = {':status': 200, 'content-type': 'application/grpc'};

/** Ends a call with its status. */
const finish = (stream: ServerHttp2Stream, error?: GrpcError): void => {
  if (stream.destroyed) return;
  const status = error
    ? {'grpc-status': String(error.code), 'grpc-message': encodeURI(error.message)}
    : {'grpc-status': '0', 'grpc-message': ''};
  if (!stream.headersSent) return stream.respond({...head, ...status}, {endStream: true});
  stream.on('wantTrailers', () => stream.sendTrailers(status));
  stream.end();
};

/** Says which part of a path is unknown. */
const unknown = (path: string, known: readonly string[]): string => {
  const [, service = '', name = ''] = path.split('/');
  return known.some(each => each.startsWith(`/${service}/`))
    ? `unknown method ${name} for service ${service}`
    : `unknown service ${service}`;
};
