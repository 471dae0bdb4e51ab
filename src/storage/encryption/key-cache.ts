import {CacheBound} from '#src/base/cache-bound.js';

/** Bounds the decrypted keys of key management services. */
export const decryptedKeys = new CacheBound('decrypted_encryption_keys', 4 << 20);
