// The gRPC services of key management plugins, versions v1beta1 and v2, at unix sockets. They encrypt and
// decrypt keys, never values.

import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {noKmsObserver, type KmsObserver} from './kms-observer.js';
import {GrpcChannel} from '#src/transport/grpc/channel.js';
import {MessageWriter, readMessage, type Field} from '#src/transport/grpc/message.js';

export interface KmsEndpoint {
  /** A unix socket: `unix:///path`, or `unix:///@name` for an abstract one. */
  readonly endpoint: string;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly observer?: KmsObserver;
}

export type Annotations = ReadonlyMap<string, Buffer>;

export interface EncryptedKey {
  readonly ciphertext: Buffer;
  readonly keyId: string;
  readonly annotations: Annotations;
}

export interface KmsStatus {
  readonly version: string;
  readonly healthz: string;
  readonly keyId: string;
}

/** Writes the entries of a map from texts to bytes, in the order of the keys. */
export const writeAnnotations = (writer: MessageWriter, number: number, annotations: Annotations): void => {
  for (const [name, value] of [...annotations].toSorted(([a], [b]) => (a < b ? -1 : 1)))
    writer.message(number, new MessageWriter().bytes(1, name).bytes(2, value));
};

/** Returns the reader of an entry of a map from texts to bytes. */
export const annotationReader =
  (into: Map<string, Buffer>) =>
  (field: Field): void => {
    let name = '';
    let value: Buffer = Buffer.alloc(0);
    readMessage(field.bytes, {1: ({text}) => (name = text), 2: ({bytes}) => (value = Buffer.from(bytes))});
    into.set(name, value);
  };

abstract class KmsService implements AsyncDisposable {
  readonly #channel: GrpcChannel;
  readonly #timeoutMs: number;
  readonly #service: string;
  readonly #clock: Clock;
  readonly #observer: KmsObserver;

  constructor(service: string, {endpoint, timeoutMs, clock, log, observer = noKmsObserver}: KmsEndpoint) {
    this.#clock = clock;
    this.#observer = observer;
    this.#service = service;
    this.#timeoutMs = timeoutMs;
    this.#channel = new GrpcChannel({servers: [endpoint], clock, log, connectTimeoutMs: timeoutMs});
  }

  protected async call(procedure: string, request: MessageWriter): Promise<Buffer> {
    const method = `/${this.#service}/${procedure}`;
    const start = this.#clock.monotonic();
    try {
      const response = await this.#channel.call(method, request.finish(), this.#timeoutMs);
      this.#observer.called(method, this.#clock.monotonic() - start);
      return response;
    } catch (error) {
      this.#observer.called(method, this.#clock.monotonic() - start, error);
      throw error;
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#channel[Symbol.asyncDispose]();
  }
}

const v1Version = 'v1beta1';

/** The service `v1beta1.KeyManagementService`. */
export class KmsV1Service extends KmsService {
  constructor(endpoint: KmsEndpoint) {
    super('v1beta1.KeyManagementService', endpoint);
  }

  async encrypt(key: Buffer): Promise<Buffer> {
    return bytesAt(1, await this.call('Encrypt', new MessageWriter().bytes(1, v1Version).bytes(2, key)));
  }

  async decrypt(ciphertext: Buffer): Promise<Buffer> {
    return bytesAt(1, await this.call('Decrypt', new MessageWriter().bytes(1, v1Version).bytes(2, ciphertext)));
  }
}

/** The service `v2.KeyManagementService`. */
export class KmsV2Service extends KmsService {
  constructor(endpoint: KmsEndpoint) {
    super('v2.KeyManagementService', endpoint);
  }

  async status(): Promise<KmsStatus> {
    let [version, healthz, keyId] = ['', '', ''];
    readMessage(await this.call('Status', new MessageWriter()), {
      1: ({text}) => (version = text),
      2: ({text}) => (healthz = text),
      3: ({text}) => (keyId = text),
    });
    return {version, healthz, keyId};
  }

  /** `uid` identifies the call in the plugin's log. */
  async encrypt(key: Buffer, uid: string): Promise<EncryptedKey> {
    let ciphertext: Buffer = Buffer.alloc(0);
    let keyId = '';
    const annotations = new Map<string, Buffer>();
    readMessage(await this.call('Encrypt', new MessageWriter().bytes(1, key).bytes(2, uid)), {
      1: ({bytes}) => (ciphertext = bytes),
      2: ({text}) => (keyId = text),
      3: annotationReader(annotations),
    });
    return {ciphertext, keyId, annotations};
  }

  async decrypt({ciphertext, keyId, annotations}: EncryptedKey, uid: string): Promise<Buffer> {
    const request = new MessageWriter().bytes(1, ciphertext).bytes(2, uid).bytes(3, keyId);
    writeAnnotations(request, 4, annotations);
    return bytesAt(1, await this.call('Decrypt', request));
  }
}

const bytesAt = (number: number, message: Buffer): Buffer => {
  let value: Buffer = Buffer.alloc(0);
  readMessage(message, {[number]: ({bytes}) => (value = bytes)});
  return value;
};
