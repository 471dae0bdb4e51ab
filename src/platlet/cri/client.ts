// Calls the procedures of a container runtime. Errors have the original's messages, which events and conditions show.

import type {Clock} from '#src/base/clock.js';
import {noLog, type Log} from '#src/base/log.js';
import {onAbort} from '#src/base/signals.js';
import type {Draft} from '#src/platlet/rpc/codec.js';
import type {Procedure} from '#src/platlet/rpc/procedure.js';
import {rpcErrorText} from '#src/platlet/rpc/rpc-error.js';
import {openServerStream} from '#src/platlet/rpc/server-stream.js';
import {RuntimeError, type RuntimeErrorKind} from '#src/platlet/runtime/runtime.js';
import {DecodeError} from '#src/schema/decode/error.js';
import {GrpcChannel, GrpcError, grpcCodes} from '#src/transport/grpc/channel.js';

export interface CriClientParts {
  /** `unix:///path` of the socket. */
  readonly endpoint: string;
  readonly clock: Clock;
  readonly log?: Log | undefined;
}

/** Receives the messages of a stream. `connected` is called once the stream is open. */
export interface Follower<Response> {
  connected(): void;
  received(message: Response): void;
}

const maxMessageBytes = 16 << 20;

const kinds: Readonly<Record<number, RuntimeErrorKind>> = {
  [grpcCodes.cancelled]: 'unavailable',
  [grpcCodes.deadlineExceeded]: 'timeout',
  [grpcCodes.notFound]: 'not-found',
  [grpcCodes.unimplemented]: 'unimplemented',
  [grpcCodes.unavailable]: 'unavailable',
};

const runtimeError = (error: GrpcError, path: string, endpoint: string): RuntimeError =>
  new RuntimeError(kinds[error.code] ?? 'failed', rpcErrorText(error, path, endpoint), {cause: error});

/**
 * Calls a runtime over one connection, which is opened on demand, and again after a restart of the runtime. It is not
 * pinged: containerd closes connections that are pinged more often than every five minutes, and a process on the same
 * machine closes its sockets when it exits.
 */
export class CriClient implements AsyncDisposable {
  readonly #endpoint: string;
  readonly #channel: GrpcChannel;

  constructor({endpoint, clock, log = noLog}: CriClientParts) {
    this.#endpoint = endpoint;
    this.#channel = new GrpcChannel({servers: [endpoint], clock, log, maxMessageBytes});
  }

  /** Calls a procedure; an infinite time limit means no deadline. Throws `RuntimeError`. */
  async call<Request, Response>(
    {path, request, response}: Procedure<Request, Response>,
    message: Draft<NoInfer<Request>>,
    timeoutMs: number,
  ): Promise<Response> {
    try {
      return response.decode(await this.#channel.call(path, request.encode(message), timeoutMs === Infinity ? undefined : timeoutMs));
    } catch (error) {
      throw this.#error(error, path);
    }
  }

  /**
   * Calls a procedure that is answered with a stream. Resolves when the signal aborts; rejects when the stream has
   * ended, with a `RuntimeError`.
   */
  async follow<Request, Response>(
    procedure: Procedure<Request, Response>,
    message: Draft<NoInfer<Request>>,
    {connected, received}: Follower<Response>,
    signal: AbortSignal,
  ): Promise<void> {
    let fail: (error: unknown) => void = () => {};
    const ended = new Promise<never>((_, reject) => (fail = reject));
    ended.catch(() => {});
    try {
      using stream = await openServerStream(this.#channel, procedure, message, {
        message: received,
        ended: error => fail(error ?? new RuntimeError('unavailable', 'EOF')),
      });
      using _ = onAbort(signal, () => stream[Symbol.dispose]());
      connected();
      await ended;
    } catch (error) {
      if (!signal.aborted) throw this.#error(error, procedure.path);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#channel[Symbol.asyncDispose]();
  }

  #error(error: unknown, path: string): unknown {
    if (error instanceof GrpcError) return runtimeError(error, path, this.#endpoint);
    if (error instanceof DecodeError) return new RuntimeError('failed', `${path}: ${error.message}`, {cause: error});
    return error;
  }
}
