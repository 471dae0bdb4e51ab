// The encryption of stored values. A `ValueCipher` transforms one value; `PrefixedCiphers` chooses among several by
// what a value begins with, which is how keys and providers are rotated: the first one writes, all of them read.

import type {Eventually} from '#src/base/eventually.js';

/**
 * A decrypted value. `isStale` if a write should encrypt it again, since its key or provider is not the one that
 * writes.
 */
export interface Decrypted {
  readonly value: Buffer;
  readonly isStale: boolean;
}

/**
 * A reversible transformation of stored values. Authenticated modes bind a value to the storage `key` it is written
 * under. Both directions throw or reject.
 */
export interface ValueCipher {
  encrypt(value: Buffer, key: string): Eventually<Buffer>;
  decrypt(value: Buffer, key: string): Eventually<Decrypted>;
}

/** A cipher whose values begin with a prefix. */
export interface PrefixedCipher {
  readonly prefix: string;
  readonly cipher: ValueCipher;
}

/** Observes each choice of a cipher, for metrics. */
export type TransformationObserver = (type: 'from_storage' | 'to_storage', prefix: string, error: unknown) => void;

const startsWith = (value: Buffer, prefix: Buffer): boolean =>
  value.length >= prefix.length && prefix.compare(value, 0, prefix.length) === 0;

/**
 * Writes with the first of several ciphers and reads with all that have the value's prefix: two providers may share
 * one, so a failure of the first does not end the search. `missing` is the text of the error if none fits. An empty
 * prefix stands for values that are not encrypted.
 */
export class PrefixedCiphers implements ValueCipher {
  readonly #ciphers: readonly {readonly prefix: Buffer; readonly name: string; readonly cipher: ValueCipher}[];
  readonly #missing: string;
  readonly #observe: TransformationObserver | undefined;

  constructor(ciphers: readonly PrefixedCipher[], missing: string, observe?: TransformationObserver) {
    this.#ciphers = ciphers.map(({prefix, cipher}) => ({prefix: Buffer.from(prefix), name: prefix, cipher}));
    this.#missing = missing;
    this.#observe = observe;
  }

  encrypt(value: Buffer, key: string): Eventually<Buffer> {
    const {prefix, name, cipher} = this.#ciphers[0]!;
    const finish = (encrypted: Buffer): Buffer => {
      this.#observe?.('to_storage', name, undefined);
      return prefix.length === 0 ? encrypted : Buffer.concat([prefix, encrypted]);
    };
    const fail = (error: unknown): never => {
      this.#observe?.('to_storage', name, error);
      throw error;
    };
    try {
      const encrypted = cipher.encrypt(value, key);
      return encrypted instanceof Promise ? encrypted.then(finish, fail) : finish(encrypted);
    } catch (error) {
      return fail(error);
    }
  }

  decrypt(value: Buffer, key: string): Eventually<Decrypted> {
    return this.#from(0, value, key, []);
  }

  /** Tries the ciphers from an index on. Throws the errors of those tried, or that none fits. */
  #from(start: number, value: Buffer, key: string, errors: readonly unknown[]): Eventually<Decrypted> {
    for (let index = start; index < this.#ciphers.length; index++) {
      const {prefix, name, cipher} = this.#ciphers[index]!;
      if (!startsWith(value, prefix)) continue;
      const finish = (decrypted: Decrypted): Decrypted => {
        this.#observe?.('from_storage', name || 'identity', undefined);
        return index === 0 ? decrypted : {...decrypted, isStale: true};
      };
      const next = (error: unknown): Eventually<Decrypted> => {
        // Identity refuses encrypted values, which later ciphers may read.
        if (prefix.length === 0) return this.#from(index + 1, value, key, errors);
        this.#observe?.('from_storage', name, error);
        return this.#from(index + 1, value, key, [...errors, error]);
      };
      try {
        const decrypted = cipher.decrypt(value.subarray(prefix.length), key);
        return decrypted instanceof Promise ? decrypted.then(finish, next) : finish(decrypted);
      } catch (error) {
        return next(error);
      }
    }
    if (errors.length > 0) throw merged(errors);
    this.#observe?.('from_storage', 'unknown', this.#missing);
    throw new Error(this.#missing);
  }
}

const merged = (errors: readonly unknown[]): unknown => {
  if (errors.length === 1) return errors[0];
  const texts = new Set(errors.map(error => (error instanceof Error ? error.message : String(error))));
  return new Error(texts.size === 1 ? [...texts][0] : `[${[...texts].join(', ')}]`, {cause: errors[0]});
};

/**
 * Leaves values as they are. Refuses values that begin with `encryptedPrefix`: they were encrypted by another provider.
 */
export const identityCipher = (encryptedPrefix: string): ValueCipher => {
  const prefix = Buffer.from(encryptedPrefix);
  return {
    encrypt: value => value,
    decrypt(value) {
      if (startsWith(value, prefix)) throw new Error('identity transformer tried to read encrypted data');
      return {value, isStale: false};
    },
  };
};
