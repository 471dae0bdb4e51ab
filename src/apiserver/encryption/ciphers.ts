import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {Undo} from '#src/base/undo.js';
import {aesCbc, aesGcm} from '#src/storage/encryption/aes.js';
import {
  identityCipher,
  PrefixedCiphers,
  type PrefixedCipher,
  type TransformationObserver,
  type ValueCipher,
} from '#src/storage/encryption/cipher.js';
import {envelopeV1} from '#src/storage/encryption/envelope-v1.js';
import {EnvelopeV2} from '#src/storage/encryption/envelope-v2.js';
import type {KmsObserver} from '#src/storage/encryption/kms-observer.js';
import {KmsV1Service, KmsV2Service} from '#src/storage/encryption/kms-service.js';
import {secretbox} from '#src/storage/encryption/secretbox.js';
import {groupResourceOf, type EncryptionEntry, type EncryptionProvider, type KeyedProvider, type KmsProvider} from './configuration.js';
import {kmsProbe, type KmsProbe} from './kms-probe.js';
import type {GroupResource} from './stored-resources.js';

/** The ciphers of one configuration, by resource. */
export class ResourceCiphers implements AsyncDisposable {
  /** The key management providers, in the order of the file. */
  readonly probes: readonly KmsProbe[];
  readonly #byName: ReadonlyMap<string, ValueCipher>;
  readonly #undo: Undo;

  constructor(byName: ReadonlyMap<string, ValueCipher>, probes: readonly KmsProbe[], undo: Undo) {
    this.#byName = byName;
    this.probes = probes;
    this.#undo = undo;
  }

  /** The cipher of a resource; undefined if the configuration does not name it. */
  of({group, resource}: GroupResource): ValueCipher | undefined {
    return this.#byName.get(`${resource}.${group}`) ?? this.#byName.get(`*.${group}`) ?? this.#byName.get('*.*');
  }

  /** Closes the connections to key management services. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#undo[Symbol.asyncDispose]();
  }
}

export interface CipherParts {
  /** What encrypted values begin with, for example `k8s:enc:`. */
  readonly prefix: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly observe: TransformationObserver;
  /** Returns the observer of a key management service. */
  kmsObserver(name: string): KmsObserver;
}

const keyedCiphers: Record<KeyedProvider, (secret: Buffer) => ValueCipher> = {aescbc: aesCbc, aesgcm: aesGcm, secretbox};

/** Makes the ciphers of a configuration. Does not wait for key management services. */
export const ciphersOf = (entries: readonly EncryptionEntry[], parts: CipherParts): ResourceCiphers => {
  const undo = new Undo();
  const probes: KmsProbe[] = [];
  const ciphersByName = new Map<string, PrefixedCipher[]>();
  for (const {resources, providers} of entries) {
    const ciphers = providers.map(provider => {
      if (provider.kind !== 'kms') return plainCipher(provider, parts);
      const {cipher, probe} = kmsCipher(provider, parts, undo);
      probes.push(probe);
      return cipher;
    });
    for (const name of resources) {
      const {group, resource} = groupResourceOf(name);
      // A wildcard of an earlier entry decides for the resource.
      if (ciphersByName.has('*.*') || (resource !== '*' && ciphersByName.has(`*.${group}`))) continue;
      const id = `${resource}.${group}`;
      ciphersByName.set(id, [...(ciphersByName.get(id) ?? []), ...ciphers]);
    }
  }
  const byName = new Map(
    [...ciphersByName].map(([name, ciphers]) => [name, new PrefixedCiphers(ciphers, 'no matching prefix found', parts.observe)]),
  );
  return new ResourceCiphers(byName, probes, undo);
};

const plainCipher = (provider: Exclude<EncryptionProvider, KmsProvider>, {prefix}: CipherParts): PrefixedCipher => {
  if (provider.kind === 'identity') return {prefix: '', cipher: identityCipher(prefix)};
  const {kind, keys} = provider;
  const ciphers = keys.map(({name, secret}) => ({prefix: `${name}:`, cipher: keyedCiphers[kind](secret)}));
  const missing = `no matching key was found for the provided ${kind === 'secretbox' ? 'Secretbox' : 'AES'} transformer`;
  return {prefix: `${prefix}${kind}:v1:`, cipher: new PrefixedCiphers(ciphers, missing)};
};

const kmsCipher = (
  {name, version, endpoint, timeoutMs, cacheSize}: KmsProvider,
  {prefix, clock, log, kmsObserver}: CipherParts,
  undo: Undo,
): {readonly cipher: PrefixedCipher; readonly probe: KmsProbe} => {
  const observer = kmsObserver(name);
  const target = {endpoint, timeoutMs, clock, log, observer};
  if (version === 'v1') {
    const service = new KmsV1Service(target);
    undo.defer(() => service[Symbol.asyncDispose]());
    return {
      cipher: {prefix: `${prefix}kms:v1:${name}:`, cipher: envelopeV1({service, cacheSize, observer})},
      probe: kmsProbe({clock, version, check: () => pingV1(name, service)}),
    };
  }
  const service = new KmsV2Service(target);
  undo.defer(() => service[Symbol.asyncDispose]());
  const envelope = new EnvelopeV2({name, service, clock, observer});
  return {
    cipher: {prefix: `${prefix}kms:v2:${name}:`, cipher: envelope},
    probe: kmsProbe({clock, version, check: () => envelope.refresh()}),
  };
};

/** Encrypts and decrypts a text by the service. */
const pingV1 = async (name: string, service: KmsV1Service): Promise<void> => {
  const failed = (section: string) => (error: Error) => {
    throw new Error(`failed to perform ${section} section of the healthz check for KMS Provider ${name}, error: ${error.message}`, {
      cause: error,
    });
  };
  const encrypted = await service.encrypt(Buffer.from('ping')).catch(failed('encrypt'));
  await service.decrypt(encrypted).catch(failed('decrypt'));
};
