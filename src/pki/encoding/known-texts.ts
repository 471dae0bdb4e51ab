import {createHash} from 'node:crypto';
import {CacheBound} from '#src/base/cache-bound.js';
import {Lru} from '#src/base/lru.js';

/** Servers of one process mostly read the same files, those that start from the state of another all of them. */
const bound = new CacheBound('key_files', 1 << 20);

/** Longer texts are read anew. */
const maxLength = 16_384;

/** A parsed certificate or key is several times the size of its text. */
const bytesOfText = 8;

interface Known<T> {
  readonly value: T;
  readonly bytes: number;
}

/**
 * Returns a function that returns what `read` has returned for the same texts, as long as that is kept, and reads
 * others. Texts are known by their hash. The values are shared, so they must never change, and must not be secrets:
 * those would stay in memory after their file is gone.
 */
export const knownTexts = <A extends readonly (Buffer | string)[], T>(read: (...texts: A) => T): ((...texts: A) => T) => {
  const known = new Lru<string, Known<T>>(bound, {bytesOf: ({bytes}) => bytes});
  return (...texts) => {
    const length = texts.reduce((sum, text) => sum + text.length, 0);
    if (length > maxLength) return read(...texts);
    const hash = createHash('sha256');
    for (const text of texts) hash.update(`${text.length} `).update(text);
    const key = hash.digest('base64');
    const found = known.get(key);
    if (found) return found.value;
    const value = read(...texts);
    known.set(key, {value, bytes: bytesOfText * length});
    return value;
  };
};
