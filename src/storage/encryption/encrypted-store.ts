import type {Eventually} from '#src/base/eventually.js';
import {messageOf} from '#src/base/message.js';
import {ValueUnreadable} from '#src/storage/errors.js';
import type {RecordEncoding} from '#src/storage/etcd/encoding.js';
import {translatedStore, type Translation} from '#src/storage/translated-store.js';
import type {Store, StoredRecord} from '#src/storage/store.js';
import type {Decrypted, ValueCipher} from './cipher.js';

export interface EncryptedStoreParts {
  /** The prefix of encrypted values. */
  readonly prefix: string;
  /**
   * Returns the cipher of the resource that is stored under a key; undefined if it is never encrypted. Called for each
   * value.
   */
  cipherOf(key: string): ValueCipher | undefined;
  /** The encoding of records below the encryption. A store that encodes by itself must use `withEncrypted` of it. */
  readonly encoding: RecordEncoding;
}

const beginsWith = (value: Buffer, prefix: Buffer): boolean =>
  value.length >= prefix.length && prefix.compare(value, 0, prefix.length) === 0;

/** Returns an encoding that leaves encrypted values as they are: the store above encodes and encrypts them. */
export const withEncrypted = (encoding: RecordEncoding, encryptedPrefix: string): RecordEncoding => {
  const prefix = Buffer.from(encryptedPrefix);
  return {
    decode: (key, bytes) => (beginsWith(bytes, prefix) ? bytes : encoding.decode(key, bytes)),
    encode: (key, record) => (beginsWith(record, prefix) ? record : encoding.encode(key, record)),
  };
};

/**
 * A view of a store whose values are encrypted by resource (KEP-2579 and the `EncryptionConfiguration` API). Values are
 * encrypted after they were encoded, so that another implementation with the same keys reads them. A value that cannot
 * be decrypted fails its read with `ValueUnreadable`. Keys and revisions are not hidden.
 */
export const encryptedStore = (store: Store, {prefix: text, cipherOf, encoding}: EncryptedStoreParts, signal: AbortSignal): Store => {
  const prefix = Buffer.from(text);
  const isEncrypted = (value: Buffer): boolean => beginsWith(value, prefix);

  const unreadable = (key: string, error: unknown, revision?: number): ValueUnreadable =>
    new ValueUnreadable(`unable to transform key ${JSON.stringify(key)}: ${messageOf(error)}`, {
      cause: error,
      key,
      ...(revision === undefined ? {} : {revision}),
    });

  const opened = (record: StoredRecord): Eventually<StoredRecord> => {
    const cipher = cipherOf(record.key);
    const wasEncrypted = isEncrypted(record.value);
    if (!cipher && !wasEncrypted) return record;
    const finish = ({value, isStale}: Decrypted): StoredRecord => {
      const plain = wasEncrypted ? encoding.decode(record.key, value) : value;
      return {...record, value: plain, ...(isStale || record.isStale ? {isStale: true} : {})};
    };
    const fail = (error: unknown): never => {
      throw unreadable(record.key, error, record.revision);
    };
    try {
      if (!cipher) throw new Error('no matching prefix found');
      const decrypted = cipher.decrypt(record.value, record.key);
      return decrypted instanceof Promise ? decrypted.then(finish).catch(fail) : finish(decrypted);
    } catch (error) {
      return fail(error);
    }
  };

  const translation: Translation = {
    isCurrent: ({key, value}) => !isEncrypted(value) && !cipherOf(key),
    fromStored(records) {
      const result = records.map(record => opened(record));
      return result.some(record => record instanceof Promise) ? Promise.all(result) : (result as StoredRecord[]);
    },
    toStored: (value, {key, encoded}) => {
      const cipher = cipherOf(key);
      if (!cipher) return undefined;
      const plain = encoded ?? encoding.encode(key, value);
      try {
        const encrypted = cipher.encrypt(plain, key);
        const chosen = (bytes: Buffer): Buffer | undefined => (bytes === plain ? undefined : bytes);
        return encrypted instanceof Promise
          ? encrypted.then(chosen, (error: unknown) => {
              throw unreadable(key, error);
            })
          : chosen(encrypted);
      } catch (error) {
        throw unreadable(key, error);
      }
    },
    wouldReadBack: value => value,
  };
  return translatedStore(store, translation, signal);
};
