import {randomBytes} from 'node:crypto';
import {xsalsa20poly1305} from '@noble/ciphers/salsa.js';
import type {ValueCipher} from './cipher.js';

const nonceBytes = 24;
const tagBytes = 16;

const view = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** NaCl's secretbox (XSalsa20 and Poly1305): a random nonce, then the box. The key has 32 bytes. */
export const secretbox = (secret: Buffer): ValueCipher => ({
  encrypt(value) {
    const nonce = randomBytes(nonceBytes);
    return Buffer.concat([nonce, xsalsa20poly1305(secret, nonce).encrypt(value)]);
  },
  decrypt(value) {
    if (value.length < nonceBytes + tagBytes) throw new Error('the stored data was shorter than the required size');
    try {
      return {value: view(xsalsa20poly1305(secret, value.subarray(0, nonceBytes)).decrypt(value.subarray(nonceBytes))), isStale: false};
    } catch (error) {
      throw new Error('the stored data was not encrypted with the secretbox key', {cause: error});
    }
  },
});
