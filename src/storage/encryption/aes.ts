// AES in the modes in which Kubernetes encrypts stored values: CBC with PKCS #7, GCM (NIST SP 800-38D), and GCM with
// one key per value, derived from a seed (HKDF-Expand of RFC 5869 §2.3).

import {createCipheriv, createDecipheriv, createHmac, randomBytes, type CipherGCMTypes} from 'node:crypto';
import type {ValueCipher} from './cipher.js';

const blockBytes = 16;
const nonceBytes = 12;
const tagBytes = 16;
/** The length of a derived key, of the random part it is derived from, and of a seed. */
export const seedBytes = 32;

const tooShort = 'the stored data was shorter than the required size';

/**
 * AES-CBC: a random initialization vector, then the padded ciphertext. It is not authenticated. The key has 16, 24 or
 * 32 bytes.
 */
export const aesCbc = (secret: Buffer): ValueCipher => {
  const mode = `aes-${secret.length * 8}-cbc`;
  return {
    encrypt(value) {
      const vector = randomBytes(blockBytes);
      const cipher = createCipheriv(mode, secret, vector);
      return Buffer.concat([vector, cipher.update(value), cipher.final()]);
    },
    decrypt(value) {
      if (value.length < blockBytes) throw new Error(tooShort);
      if (value.length % blockBytes !== 0) throw new Error('the stored data is not a multiple of the block size');
      if (value.length === blockBytes) throw new Error('invalid PKCS7 data (empty or not padded)');
      const decipher = createDecipheriv(mode, secret, value.subarray(0, blockBytes));
      const start = decipher.update(value.subarray(blockBytes));
      let end: Buffer;
      try {
        end = decipher.final();
      } catch (error) {
        throw new Error('invalid padding on input', {cause: error});
      }
      return {value: Buffer.concat([start, end]), isStale: false};
    },
  };
};

/**
 * AES-GCM: a random nonce, the ciphertext, and the tag, which also covers the storage key. The key has 16, 24 or 32
 * bytes.
 */
export const aesGcm = (secret: Buffer): ValueCipher => {
  const mode = `aes-${secret.length * 8}-gcm` as CipherGCMTypes;
  return {
    encrypt(value, key) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv(mode, secret, nonce).setAAD(Buffer.from(key));
      return Buffer.concat([nonce, cipher.update(value), cipher.final(), cipher.getAuthTag()]);
    },
    decrypt(value, key) {
      if (value.length < nonceBytes + tagBytes) throw new Error(tooShort);
      const decipher = createDecipheriv(mode, secret, value.subarray(0, nonceBytes), {authTagLength: tagBytes});
      decipher.setAAD(Buffer.from(key)).setAuthTag(value.subarray(value.length - tagBytes));
      const text = decipher.update(value.subarray(nonceBytes, value.length - tagBytes));
      try {
        return {value: Buffer.concat([text, decipher.final()]), isStale: false};
      } catch (error) {
        throw new Error('cipher: message authentication failed', {cause: error});
      }
    },
  };
};

/** HKDF-Expand with SHA-256 for a key of one hash's length. */
const derivedKey = (seed: Buffer, info: Buffer): Buffer => createHmac('sha256', seed).update(info).update(Buffer.of(1)).digest();

/**
 * AES-GCM with a separate key for each value: random bytes, then what `aesGcm` makes with the key derived from the
 * seed and those bytes. A seed has no limit of uses. Throws for a seed below 32 bytes.
 */
export const extendedNonceGcm = (seed: Buffer): ValueCipher => {
  if (seed.length < seedBytes) throw new Error(`invalid seed length ${seed.length} used for key generation`);
  return {
    encrypt(value, key) {
      const info = randomBytes(seedBytes);
      return Buffer.concat([info, aesGcm(derivedKey(seed, info)).encrypt(value, key) as Buffer]);
    },
    decrypt(value, key) {
      if (value.length < seedBytes) throw new Error(tooShort);
      return aesGcm(derivedKey(seed, value.subarray(0, seedBytes))).decrypt(value.subarray(seedBytes), key);
    },
  };
};
