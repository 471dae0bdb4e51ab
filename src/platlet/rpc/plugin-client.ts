// The client of a plugin: a process of the same machine with a unix socket.

import type {Clock} from '#src/base/clock.js';
import {noLog, type Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {DecodeError} from '#src/schema/decode/error.js';
import {GrpcChannel, GrpcError, grpcCodes} from '#src/transport/grpc/channel.js';
import type {Draft} from './codec.js';
import type {Procedure} from './procedure.js';
import {rpcErrorText} from './rpc-error.js';
import {openServerStream, type StreamListener} from './server-stream.js';

export interface PluginClientParts {
  /** The path of the socket, which may begin with `unix://`. */
  readonly endpoint: string;
  readonly clock: Clock;
  readonly connectTimeoutMs?: number;
  readonly log?: Log | undefined;
  /** Called when the connection has ended. */
  readonly closed?: () => void;
  /** Called after each call with its gRPC status code, 0 for success, and its duration. */
  readonly called?: (path: string, code: number, ms: number) => void;
}

/** The error of a call, as the original's clients print it. `code` is the gRPC status code. */
export class PluginError extends Error {
  override readonly name = 'PluginError';
  readonly code: number;

  constructor(code: number, message: string, options: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export type PluginListener<Response> = StreamListener<Response, PluginError>;

const maxMessageBytes = 16 << 20;

/** Calls a plugin over one connection, which is opened on demand. */
export class PluginClient implements AsyncDisposable {
  readonly #endpoint: string;
  readonly #channel: GrpcChannel;
  readonly #clock: Clock;
  readonly #called: NonNullable<PluginClientParts['called']>;

  constructor({endpoint, clock, connectTimeoutMs, log = noLog, closed, called = () => {}}: PluginClientParts) {
    this.#clock = clock;
    this.#called = called;
    this.#endpoint = endpoint.startsWith('unix:') ? endpoint : `unix://${endpoint}`;
    this.#channel = new GrpcChannel({
      servers: [this.#endpoint],
      clock,
      log,
      maxMessageBytes,
      ...(connectTimeoutMs === undefined ? {} : {connectTimeoutMs}),
      ...(closed ? {closed} : {}),
    });
  }

  /** Connects unless connected. Throws if the plugin is not reached. */
  connect(): Promise<void> {
    return this.#channel.connect();
  }

  /** Calls a procedure. Without a time limit it may take any time. Throws `PluginError`. */
  async call<Request, Response>(
    {path, request, response}: Procedure<Request, Response>,
    message: Draft<NoInfer<Request>>,
    timeoutMs?: number,
  ): Promise<Response> {
    const since = this.#clock.monotonic();
    let code = 0;
    try {
      return response.decode(await this.#channel.call(path, request.encode(message), timeoutMs));
    } catch (error) {
      const failure = this.#error(error, path);
      ({code} = failure);
      throw failure;
    } finally {
      this.#called(path, code, this.#clock.monotonic() - since);
    }
  }

  /** Calls a procedure that answers with a stream. Throws `PluginError` if the plugin is not reached. */
  async stream<Request, Response>(
    procedure: Procedure<Request, Response>,
    message: Draft<NoInfer<Request>>,
    listener: PluginListener<Response>,
  ): Promise<Disposable> {
    const {path} = procedure;
    try {
      return await openServerStream(this.#channel, procedure, message, {
        message: each => listener.message(each),
        ended: error => listener.ended(error === undefined ? undefined : this.#error(error, path)),
      });
    } catch (error) {
      throw this.#error(error, path);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#channel[Symbol.asyncDispose]();
  }

  #error(error: unknown, path: string): PluginError {
    if (error instanceof GrpcError) return new PluginError(error.code, rpcErrorText(error, path, this.#endpoint), {cause: error});
    const what = error instanceof DecodeError ? `${path}: ${error.message}` : messageOf(error);
    return new PluginError(grpcCodes.internal, what, {cause: error});
  }
}
