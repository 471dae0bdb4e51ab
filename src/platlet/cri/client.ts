// Calls the procedures of a container runtime. Errors have the original's messages, which events and conditions show.

import type {Clock} from '#src/base/clock.js';
import {noLog, type Log} from '#src/base/log.js';
import type {Draft} from '#src/platlet/rpc/codec.js';
import type {Procedure} from '#src/platlet/rpc/procedure.js';
import {rpcErrorText} from '#src/platlet/rpc/rpc-error.js';
import {RuntimeError, type RuntimeErrorKind} from '#src/platlet/runtime/runtime.js';
import {DecodeError} from '#src/schema/decode/error.js';
import {GrpcChannel, GrpcError, grpcCodes} from '#src/transport/grpc/channel.js';

export interface CriClientParts {
  /** `unix:///path` of the socket. */
  readonly endpoint: string;
  readonly clock: Clock;
  readonly log?: Log | undefined;
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
      if (error instanceof GrpcError) throw runtimeError(error, path, this.#endpoint);
      if (error instanceof DecodeError) throw new RuntimeError('failed', `${path}: ${error.message}`, {cause: error});
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#channel[Symbol.asyncDispose]();
  }
}
