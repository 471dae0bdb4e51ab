// Encryption with a seed that a key management service encrypts (KEP-3299, KMS v2). The seed is used for all values
// until the service's key changes; the service is asked for its state regularly, and called for seeds of other servers
// or earlier runs.

import {createHash, randomBytes, randomUUID} from 'node:crypto';
import type {Clock} from '#src/base/clock.js';
import {Lru} from '#src/base/lru.js';
import {messageOf} from '#src/base/message.js';
import {labelHash} from '#src/observe/label-hash.js';
import {MessageWriter, readMessage} from '#src/transport/grpc/message.js';
import {aesGcm, extendedNonceGcm, seedBytes} from './aes.js';
import type {Decrypted, ValueCipher} from './cipher.js';
import {decryptedKeys} from './key-cache.js';
import {noKmsObserver, type KmsObserver} from './kms-observer.js';
import {annotationReader, writeAnnotations, type EncryptedKey, type KmsStatus, type KmsV2Service} from './kms-service.js';

/** The kinds of an encrypted key: an AES-GCM key, or the seed of such keys. */
const keySource = 0;
const seedSource = 1;

const maxKeyIdBytes = 1024;
const maxSourceBytes = 1024;
const maxAnnotationBytes = 32 * 1024;

/** How long a seed may be used for writes after the service last confirmed its key, in ms. */
const seedLifetimeMs = 3 * 60_000;

interface Envelope extends EncryptedKey {
  readonly data: Buffer;
  readonly source: number;
}

const encode = ({data, keyId, ciphertext, annotations, source}: Envelope): Buffer => {
  const writer = new MessageWriter().bytes(1, data).bytes(2, keyId).bytes(3, ciphertext);
  writeAnnotations(writer, 4, annotations);
  return writer.int(5, source).finish();
};

const decode = (value: Buffer): Envelope => {
  let data: Buffer = Buffer.alloc(0);
  let ciphertext: Buffer = data;
  let keyId = '';
  let source = 0;
  const annotations = new Map<string, Buffer>();
  readMessage(value, {
    1: ({bytes}) => (data = bytes),
    2: ({text}) => (keyId = text),
    3: ({bytes}) => (ciphertext = bytes),
    4: annotationReader(annotations),
    5: ({int}) => (source = int),
  });
  if (source !== keySource && source !== seedSource) throw new Error(`unknown encryptedDEKSourceType: ${source}`);
  if (data.length === 0) throw new Error('encrypted data is empty');
  check({ciphertext, keyId, annotations});
  return {data, ciphertext, keyId, annotations, source};
};

const check = ({ciphertext, keyId, annotations}: EncryptedKey): void => {
  const source = 'failed to validate encrypted DEK source: encrypted DEK source is';
  if (ciphertext.length === 0) throw new Error(`${source} empty`);
  if (ciphertext.length > maxSourceBytes)
    throw new Error(`${source} ${ciphertext.length} bytes, which exceeds the max size of ${maxSourceBytes}`);
  const problem = keyIdProblem(keyId);
  if (problem) throw new Error(`failed to validate key id: ${problem}`);
  let bytes = 0;
  for (const [name, {length}] of annotations) {
    bytes += Buffer.byteLength(name) + length;
    if (!fullyQualified.test(name))
      throw new Error(
        `failed to validate annotations: annotations: Invalid value: ${JSON.stringify(name)}: should be a domain with at least two segments separated by dots`,
      );
  }
  if (bytes > maxAnnotationBytes)
    throw new Error(
      `failed to validate annotations: total size of annotations is ${bytes}, which exceeds the max size of ${maxAnnotationBytes}`,
    );
};

const fullyQualified = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$/;

const keyIdProblem = (keyId: string): string | undefined => {
  const length = Buffer.byteLength(keyId);
  if (length === 0) return 'keyID is empty';
  return length > maxKeyIdBytes ? `keyID is ${length} bytes, which exceeds the max size of ${maxKeyIdBytes}` : undefined;
};

/** The name under which a decrypted key is kept. */
const cacheKey = ({ciphertext, keyId, annotations}: EncryptedKey, source: number): string => {
  const hash = createHash('sha256')
    .update(`${source}:${Buffer.byteLength(keyId)}:${keyId}:${ciphertext.length}:`)
    .update(ciphertext);
  for (const [name, value] of [...annotations].toSorted(([a], [b]) => (a < b ? -1 : 1)))
    hash.update(`:${Buffer.byteLength(name)}:${name}:${value.length}:`).update(value);
  return hash.digest('base64');
};

const timeText = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;

/** Returns what is wrong with the state that a service reports; undefined if it is healthy. */
export const statusProblem = ({version, healthz, keyId}: KmsStatus): string | undefined => {
  const problems = [];
  if (healthz !== 'ok') problems.push(`got unexpected healthz status: ${healthz}`);
  if (version !== 'v2' && version !== 'v2beta1') problems.push(`expected KMSv2 API version v2, got ${version}`);
  const idProblem = keyIdProblem(keyId);
  if (idProblem) problems.push(`expected KMSv2 KeyID to be set, got ${JSON.stringify(keyId)}: ${idProblem}`);
  return problems.length > 1 ? `[${problems.join(', ')}]` : problems[0];
};

/** A seed in use. */
interface State extends EncryptedKey {
  readonly cipher: ValueCipher;
  readonly expiresAt: number;
}

export interface EnvelopeV2Settings {
  readonly name: string;
  readonly service: Pick<KmsV2Service, 'status' | 'encrypt' | 'decrypt'>;
  readonly clock: Clock;
  readonly observer?: KmsObserver;
}

/**
 * The cipher of a key management service. `refresh` must succeed before anything is read or written, and within every
 * three minutes.
 */
export class EnvelopeV2 implements ValueCipher {
  readonly #settings: EnvelopeV2Settings;
  readonly #observer: KmsObserver;
  readonly #ciphers: Lru<string, ValueCipher>;
  readonly #decrypting = new Map<string, Promise<ValueCipher>>();
  #state: State | undefined;

  constructor(settings: EnvelopeV2Settings) {
    this.#settings = settings;
    this.#observer = settings.observer ?? noKmsObserver;
    this.#ciphers = new Lru(decryptedKeys, {bytesOf: () => 512});
  }

  /** Asks the service for its state, and makes a new seed if its key has changed. Rejects if it is not healthy. */
  async refresh(): Promise<void> {
    const {name, service, clock} = this.#settings;
    let status: KmsStatus;
    try {
      status = await service.status();
    } catch (error) {
      throw new Error(`failed to perform status section of the healthz check for KMS Provider ${name}, error: ${messageOf(error)}`, {
        cause: error,
      });
    }
    const length = Buffer.byteLength(status.keyId);
    if (keyIdProblem(status.keyId)) this.#observer.refused(length === 0 ? 'empty' : 'too_long');
    else this.#observer.reported(status.keyId);
    const problem = statusProblem(status);
    if (problem) throw new Error(`kmsv2 Provider ${name} is not healthy, error: ${problem}`);
    const expiresAt = clock.now() + seedLifetimeMs;
    if (this.#state?.keyId === status.keyId) {
      this.#state = {...this.#state, expiresAt};
      return;
    }
    const seed = randomBytes(seedBytes);
    const encrypted = await service.encrypt(seed, randomUUID()).catch((error: unknown) => {
      throw new Error(`failed to encrypt DEK, error: ${messageOf(error)}`, {cause: error});
    });
    check(encrypted);
    if (encrypted.keyId !== status.keyId && this.#state)
      throw new Error(
        `kmsv2 Provider ${name} is not healthy, error: keyID hash ${JSON.stringify(labelHash(encrypted.keyId))} of Encrypt is not that of Status`,
      );
    const cipher = extendedNonceGcm(seed);
    this.#keep(cacheKey(encrypted, seedSource), cipher);
    this.#state = {...encrypted, cipher, expiresAt};
  }

  encrypt(value: Buffer, key: string): Buffer {
    this.#observer.arrived('to_storage');
    const {cipher, expiresAt, ...encrypted} = this.#current();
    const now = this.#settings.clock.now();
    if (now > expiresAt)
      throw new Error(
        `encryptedDEKSource with keyID hash ${JSON.stringify(labelHash(encrypted.keyId))} expired at ${timeText(expiresAt)} (current time is ${timeText(now)})`,
      );
    const written = encode({...encrypted, data: cipher.encrypt(value, key) as Buffer, source: seedSource});
    this.#observer.used('to_storage', encrypted.keyId);
    return written;
  }

  decrypt(value: Buffer, key: string): Decrypted | Promise<Decrypted> {
    this.#observer.arrived('from_storage');
    const envelope = decode(value);
    const state = this.#current();
    const isStale = envelope.keyId !== state.keyId || envelope.source !== seedSource;
    const open = (cipher: ValueCipher): Decrypted => {
      const opened = (cipher.decrypt(envelope.data, key) as Decrypted).value;
      this.#observer.used('from_storage', envelope.keyId);
      return {value: opened, isStale};
    };
    const id = cacheKey(envelope, envelope.source);
    const known = this.#ciphers.get(id);
    return known ? open(known) : this.#decryptedKey(id, envelope).then(open);
  }

  #keep(id: string, cipher: ValueCipher): void {
    this.#ciphers.set(id, cipher);
    this.#observer.kept(this.#ciphers.size);
  }

  #current(): State {
    if (!this.#state) throw new Error(`got unexpected nil transformer: KMS Provider ${this.#settings.name} has not been reached yet`);
    return this.#state;
  }

  /** Decrypts a key by the service, once for all concurrent callers. */
  #decryptedKey(id: string, envelope: Envelope): Promise<ValueCipher> {
    const running = this.#decrypting.get(id);
    if (running) return running;
    const fetched = this.#settings.service
      .decrypt(envelope, randomUUID())
      .then(
        key => {
          const cipher = envelope.source === seedSource ? extendedNonceGcm(key) : aesGcm(key);
          this.#keep(id, cipher);
          return cipher;
        },
        (error: unknown) => {
          throw new Error(`failed to decrypt DEK, error: ${messageOf(error)}`, {cause: error});
        },
      )
      .finally(() => this.#decrypting.delete(id));
    this.#decrypting.set(id, fetched);
    return fetched;
  }
}
