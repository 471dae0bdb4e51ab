// The gRPC service `v1.ExternalJWTSigner` at a unix socket, which signs service account tokens and
// publishes its keys.

import {messageOf} from '#src/base/message.js';
import {sleep, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {codeName, GrpcChannel, grpcCodes, GrpcError} from '#src/transport/grpc/channel.js';
import {MessageWriter, readMessage} from '#src/transport/grpc/message.js';
import type {SignerMetrics} from './metrics.js';

export interface SignerParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: SignerMetrics;
}

/** A public key as the signer publishes it. */
export interface PublishedKey {
  readonly id: string;
  /** SubjectPublicKeyInfo, in DER. */
  readonly der: Buffer;
  readonly isUndiscoverable: boolean;
}

export interface PublishedKeys {
  readonly keys: readonly PublishedKey[];
  /** When they were read from their source, in s since the epoch; undefined if the signer does not say. */
  readonly dataAtSeconds: number | undefined;
  readonly refreshSeconds: number;
}

/** The longest answer of the signer, as gRPC libraries limit it. */
const maxMessageBytes = 4 << 20;
const retryMs = 500;

/** Whether the signed 64-bit integer of a message is positive, read as an unsigned one. */
const positive = (value: number): number => (value >= 2 ** 63 ? value - 2 ** 64 : value);

/** An error of the service, worded as Go's gRPC library does. */
const rpcError = (error: unknown): Error =>
  error instanceof GrpcError
    ? new Error(`rpc error: code = ${codeName(error.code)} desc = ${error.message}`, {cause: error})
    : new Error(messageOf(error), {cause: error});

/** The client of the service. Its calls wait for the signer to listen, until their time is over. */
export class SignerService implements AsyncDisposable {
  readonly #channel: GrpcChannel;
  readonly #parts: SignerParts;

  /** `socket` is the path of a unix socket, or `@` and the name of an abstract one. */
  constructor(socket: string, parts: SignerParts) {
    const {clock, log} = parts;
    this.#parts = parts;
    this.#channel = new GrpcChannel({servers: [`unix://${encodeURI(socket.replace(/^(?=@)/, '/'))}`], clock, log, maxMessageBytes});
  }

  /** Returns header and signature of the token with these claims. Both, as the claims, are in base64url. */
  async sign(claims: string, timeoutMs: number): Promise<{readonly header: string; readonly signature: string}> {
    let [header, signature] = ['', ''];
    readMessage(await this.#call('Sign', new MessageWriter().bytes(1, claims), timeoutMs), {
      1: ({text}) => (header = text),
      2: ({text}) => (signature = text),
    });
    return {header, signature};
  }

  async fetchKeys(timeoutMs: number): Promise<PublishedKeys> {
    const keys: PublishedKey[] = [];
    let dataAtSeconds: number | undefined;
    let refreshSeconds = 0;
    readMessage(await this.#call('FetchKeys', new MessageWriter(), timeoutMs), {
      1: ({bytes}) => void keys.push(keyIn(bytes)),
      2: ({bytes}) => (dataAtSeconds = timestampIn(bytes)),
      3: ({int}) => (refreshSeconds = positive(int)),
    });
    return {keys, dataAtSeconds, refreshSeconds};
  }

  /** Returns the maximum lifetime (s) of the tokens that it signs. */
  async maxTokenSeconds(timeoutMs: number): Promise<number> {
    let seconds = 0;
    readMessage(await this.#call('Metadata', new MessageWriter(), timeoutMs), {1: ({int}) => (seconds = positive(int))});
    return seconds;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#channel[Symbol.asyncDispose]();
  }

  async #call(procedure: string, message: MessageWriter, timeoutMs: number): Promise<Buffer> {
    const {clock, metrics} = this.#parts;
    const method = `/v1.ExternalJWTSigner/${procedure}`;
    const start = clock.monotonic();
    const seconds = (): number => (clock.monotonic() - start) / 1000;
    try {
      const response = await this.#whenReady(method, message.finish(), start + timeoutMs);
      metrics.called(method, seconds());
      return response;
    } catch (error) {
      metrics.called(method, seconds(), error);
      throw rpcError(error);
    }
  }

  /** Calls, again and again while nothing listens at the socket. */
  async #whenReady(method: string, message: Buffer, deadline: number): Promise<Buffer> {
    const {clock} = this.#parts;
    for (;;) {
      const leftMs = deadline - clock.monotonic();
      try {
        return await this.#channel.call(method, message, leftMs);
      } catch (error) {
        if (!(error instanceof GrpcError) || !error.unsent || error.code !== grpcCodes.unavailable) throw error;
        if (leftMs <= retryMs) throw new GrpcError(grpcCodes.deadlineExceeded, `context deadline exceeded: ${error.message}`, true);
        await sleep(clock, retryMs);
      }
    }
  }
}

const keyIn = (message: Buffer): PublishedKey => {
  let id = '';
  let der: Buffer = Buffer.alloc(0);
  let isUndiscoverable = false;
  readMessage(message, {1: ({text}) => (id = text), 2: ({bytes}) => (der = bytes), 3: ({flag}) => (isUndiscoverable = flag)});
  return {id, der, isUndiscoverable};
};

/** A `google.protobuf.Timestamp`, in s. */
const timestampIn = (message: Buffer): number => {
  let [seconds, nanos] = [0, 0];
  readMessage(message, {1: ({int}) => (seconds = positive(int)), 2: ({int}) => (nanos = int)});
  return seconds + nanos / 1e9;
};
