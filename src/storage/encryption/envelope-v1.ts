import {randomBytes} from 'node:crypto';
import {Lru} from '#src/base/lru.js';
import {aesCbc, aesGcm} from './aes.js';
import type {Decrypted, ValueCipher} from './cipher.js';
import {decryptedKeys} from './key-cache.js';
import {noKmsObserver, type KmsObserver} from './kms-observer.js';
import type {KmsV1Service} from './kms-service.js';

const keyBytes = 32;
const lengthBytes = 2;

/** Reads what either mode wrote, and writes with AES-GCM. Values of AES-CBC are stale. */
const dataCipher = (key: Buffer): ValueCipher => {
  const [gcm, cbc] = [aesGcm(key), aesCbc(key)];
  return {
    encrypt: (value, at) => gcm.encrypt(value, at),
    decrypt(value, at) {
      try {
        return gcm.decrypt(value, at);
      } catch (error) {
        try {
          return {...(cbc.decrypt(value, at) as Decrypted), isStale: true};
        } catch {
          throw error;
        }
      }
    },
  };
};

export interface EnvelopeV1Settings {
  readonly service: Pick<KmsV1Service, 'encrypt' | 'decrypt'>;
  /** The number of decrypted keys that are kept; none if negative. */
  readonly cacheSize: number;
  readonly observer?: KmsObserver;
}

/**
 * Encrypts each value with a new key, which the key management service encrypts (KMS v1): the length of the encrypted
 * key in two bytes, the key, and what AES-GCM made of the value.
 */
export const envelopeV1 = ({service, cacheSize, observer = noKmsObserver}: EnvelopeV1Settings): ValueCipher => {
  const ciphers = cacheSize > 0 ? new Lru<string, ValueCipher>(decryptedKeys, {maxEntries: cacheSize, bytesOf: () => 256}) : undefined;
  const remember = (encryptedKey: Buffer, key: Buffer): ValueCipher => {
    const cipher = dataCipher(key);
    ciphers?.set(encryptedKey.toString('base64'), cipher);
    if (ciphers) observer.kept(ciphers.size, ciphers.size / cacheSize);
    return cipher;
  };
  return {
    async encrypt(value, at) {
      observer.arrived('to_storage');
      const key = randomBytes(keyBytes);
      const encryptedKey = await service.encrypt(key);
      if (encryptedKey.length > 0xffff)
        throw new Error(`the encrypted key has ${encryptedKey.length} bytes, more than the format can hold`);
      const length = Buffer.alloc(lengthBytes);
      length.writeUInt16BE(encryptedKey.length);
      return Buffer.concat([length, encryptedKey, await remember(encryptedKey, key).encrypt(value, at)]);
    },
    decrypt(value, at) {
      observer.arrived('from_storage');
      const end = lengthBytes + (value.length < lengthBytes ? 0 : value.readUInt16BE(0));
      if (value.length < lengthBytes || end > value.length)
        throw new Error('invalid data encountered by envelope transformer: its encrypted key is cut off');
      const encryptedKey = value.subarray(lengthBytes, end);
      const data = value.subarray(end);
      const known = ciphers?.get(encryptedKey.toString('base64'));
      if (known) return known.decrypt(data, at);
      return service.decrypt(encryptedKey).then(
        key => remember(encryptedKey, key).decrypt(data, at),
        (error: unknown) => {
          throw new Error(`failed to decrypt DEK, error: ${error instanceof Error ? error.message : String(error)}`, {cause: error});
        },
      );
    },
  };
};
