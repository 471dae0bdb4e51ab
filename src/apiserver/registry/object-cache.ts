import type {KubeObject} from '#src/api/types.js';
import {CacheBound} from '#src/base/cache-bound.js';
import {Lru} from '#src/base/lru.js';
import {recordObject} from './record.js';

/** Freezes an object and all it holds, so that it can be shared. */
export const deepFreeze = <T>(value: T): T => {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const key in value) deepFreeze(value[key]);
  return value;
};

const bound = new CacheBound('objects', 64 << 20);

/** A parsed object takes about so many times its JSON. */
const bytesOfText = 3;

interface Known {
  readonly revision: number;
  readonly object: KubeObject;
  readonly bytes: number;
}

/** The parsed, frozen form of records, shared by everyone in the process; holds the most recent of them. */
export class ObjectCache {
  readonly #objects = new Lru<string, Known>(bound, {bytesOf: ({bytes}) => bytes, maxEntries: 4096});

  /** The object of a record, if it is remembered. */
  peek(key: string, revision: number): KubeObject | undefined {
    const known = this.#objects.get(key);
    return known?.revision === revision ? known.object : undefined;
  }

  /** The object of a record. The same record yields the same frozen value while it is remembered. */
  of(key: string, value: Buffer, revision: number): KubeObject {
    const known = this.#objects.get(key);
    if (known?.revision === revision) return known.object;
    const object = deepFreeze(recordObject(value, revision));
    if (!known || known.revision < revision) this.#objects.set(key, {revision, object, bytes: bytesOfText * value.length});
    return object;
  }
}
