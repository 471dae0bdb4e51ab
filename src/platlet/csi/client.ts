// Calls the node service of a CSI driver.

import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Draft} from '#src/platlet/rpc/codec.js';
import {PluginClient, PluginError} from '#src/platlet/rpc/plugin-client.js';
import type {Procedure} from '#src/platlet/rpc/procedure.js';
import {grpcCodes} from '#src/transport/grpc/channel.js';
import type {StorageMetrics} from './metrics.js';
import {procedures, type Capability} from './procedures.js';

/** The error of a call. */
export class CsiError extends Error {
  override readonly name = 'CsiError';
  readonly code: number;

  constructor(code: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /** Whether the operation has certainly ended, without effect; otherwise it may still be in progress. */
  get isFinal(): boolean {
    return !uncertain.has(this.code);
  }

  /** Whether the operation can never succeed with these arguments. */
  get isInfeasible(): boolean {
    return infeasible.has(this.code);
  }

  /** Whether the volume is in a state in which the operation is not possible, such as in use. */
  get isPrecondition(): boolean {
    return this.code === grpcCodes.failedPrecondition;
  }
}

const uncertain: ReadonlySet<number> = new Set([
  grpcCodes.cancelled,
  grpcCodes.deadlineExceeded,
  grpcCodes.unavailable,
  grpcCodes.resourceExhausted,
  grpcCodes.aborted,
]);
const infeasible: ReadonlySet<number> = new Set([grpcCodes.invalidArgument, grpcCodes.outOfRange, grpcCodes.notFound]);

export interface CsiClientParts {
  readonly driver: string;
  /** The path of its socket. */
  readonly socket: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: StorageMetrics;
}

const timeoutMs = 120_000;

/** Calls a driver over one connection, which is opened on demand, and again after a restart of the driver. */
export class CsiClient implements AsyncDisposable {
  readonly #client: PluginClient;

  constructor({driver, socket: endpoint, clock, log, metrics}: CsiClientParts) {
    this.#client = new PluginClient({endpoint, clock, log, called: (path, code, ms) => metrics.called(driver, path, code, ms)});
  }

  /** Calls a procedure. Throws `CsiError`. */
  async call<Request, Response>(procedure: Procedure<Request, Response>, message: Draft<NoInfer<Request>>): Promise<Response> {
    try {
      return await this.#client.call(procedure, message, timeoutMs);
    } catch (error) {
      throw error instanceof PluginError ? new CsiError(error.code, error.message, {cause: error}) : error;
    }
  }

  /** Returns what the driver can do on this node. */
  async capabilities(): Promise<ReadonlySet<Capability>> {
    const {capabilities} = await this.call(procedures.capabilities, {});
    return new Set(capabilities.flatMap(({rpc}) => (rpc ? [rpc.type] : [])));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client[Symbol.asyncDispose]();
  }
}
